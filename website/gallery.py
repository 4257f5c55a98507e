"""The gallery: every figure that docs/ has, by the page that explains it."""

from __future__ import annotations

import re
from pathlib import Path

IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)#\s]+)")
START = """---
hide: [navigation]
---

# Gallery

Every figure of these pages, each drawn by a command that its page names.

![A budget kept, draw after draw](pictures/budget.svg#only-light)
![A budget kept, draw after draw](pictures/budget-dark.svg#only-dark)

[The front page](index.md) says what is to be seen here."""


def page(docs: Path) -> str:
    """The Markdown: a section for each folder of figures."""
    captions = _captions(docs)
    parts = [START]
    for folder in sorted({path.parent for path in docs.glob("*/*/*.png")}):
        place = folder.relative_to(docs)
        source = f"{place.parts[0]}.md"
        head = (docs / source).read_text().splitlines()[0].removeprefix("# ")
        title = f"{place.parts[0]}, {_words(folder)}".capitalize()
        parts.append(f"## {title}\n\nFrom [{head}]({source}); [the record]({place}).")
        parts.append('<div class="gallery" markdown>')
        for figure in sorted(folder.glob("*.png")):
            uri = figure.relative_to(docs).as_posix()
            caption = captions.get(uri, _words(figure))
            parts.append(f"[![{caption}]({uri})]({uri})<br>{caption}")
        parts.append("</div>")
    return "\n\n".join(parts) + "\n"


def _captions(docs: Path) -> dict[str, str]:
    """What the pages say of the figures that they show."""
    pages = [path.read_text() for path in sorted(docs.glob("*.md"))]
    return {uri: caption for text in pages for caption, uri in IMAGE.findall(text)}


def _words(path: Path) -> str:
    return path.stem.replace("-", " ")
