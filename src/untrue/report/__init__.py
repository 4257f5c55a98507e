"""Rows and matrices turned into tables, figures and one self-contained page.

    figures   what a figure shows, as frozen data: Curves, Change, Confusion
    tables    Table and Column: HTML, CSV, Markdown, terminal
    page      Page and Section; write(page, path)
    files     save(figure, stem): the figure as SVG and PNG

Nothing here imports torch or trains.
"""
