"""What a page is made of, as frozen data, and how it is drawn: HTML, plotly, matplotlib."""
