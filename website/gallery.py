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
    for uri, (caption, source) in captions.items():
        if "/" not in uri:
            parts.append(f"## {_head(docs / source)}\n\nFrom [{source}]({source}).")
            parts.append(f"![{caption}]({uri})<br>{caption}")
    for folder in sorted({path.parent for path in docs.glob("*/*/*.png")}):
        place = folder.relative_to(docs)
        source = f"{place.parts[0]}.md"
        title = f"{place.parts[0]}, {_words(folder)}".capitalize()
        parts.append(
            f"## {title}\n\nFrom [{_head(docs / source)}]({source}); [the record]({place})."
        )
        parts.append('<div class="gallery" markdown>')
        for figure in sorted(folder.glob("*.png")):
            uri = figure.relative_to(docs).as_posix()
            caption, _ = captions.get(uri, (_words(figure), source))
            parts.append(f"[![{caption}]({uri})]({uri})<br>{caption}")
        parts.append("</div>")
    return "\n\n".join(parts) + "\n"


def _captions(docs: Path) -> dict[str, tuple[str, str]]:
    """{figure: what the page that shows it says of it, that page}."""
    return {
        uri: (caption, path.name)
        for path in sorted(docs.glob("*.md"))
        for caption, uri in IMAGE.findall(path.read_text())
    }


def _head(page: Path) -> str:
    return page.read_text().splitlines()[0].removeprefix("# ")


def _words(path: Path) -> str:
    return path.stem.replace("-", " ")
