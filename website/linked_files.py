"""Links of the pages that lead out of docs/, or to a folder: the site has a page or copy for each.

A page of docs/ keeps its place in the site; any other file of the project stands under `project/`.
`<!-- README.md: install -->` in a page stands for what README has from `<!-- install -->` to
`<!-- end of install -->`, so that it is written once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

PLACE = "project/"
COPIED = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CITATION.cff",
    "LICENSE",
    "benchmarks/results/*.csv",
    "benchmarks/results/*.json",
)
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(#[^)\s]*)?(?=\))")
# Code stays as it is: what looks like a link there is none.
INCLUDED = re.compile(r"<!-- (\S+\.md): (\w+) -->")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def copies(root: Path) -> dict[str, Path]:
    """{place in the site: file of the project} of files outside docs/."""
    found = [path for pattern in COPIED for path in sorted(root.glob(pattern))]
    return {PLACE + path.relative_to(root).as_posix(): path for path in found}


def records(docs: Path) -> dict[str, str]:
    """A page for each folder of records: its tables, figures and rows."""
    folders = [path.parent for path in sorted(docs.glob("*/*/rows.csv"))]
    pages = {
        f"{folder.relative_to(docs).as_posix()}/index.md": _record(folder) for folder in folders
    }
    results = sorted((docs.parent / "benchmarks" / "results").iterdir())
    listed = "\n".join(f"- [{path.name}]({path.name})" for path in results)
    pages[f"{PLACE}benchmarks/results/index.md"] = f"# What was measured\n\n{listed}\n"
    return pages


def completed(markdown: str, page: str, root: Path) -> str:
    """The Markdown of a page of the site with what it includes, and links to what the site has."""
    home = page.removeprefix(PLACE) if page.startswith(PLACE) else f"docs/{page}"
    text = _relinked(markdown, PurePosixPath(home).parent, page, root)

    def section(match: re.Match[str]) -> str:
        whole = (root / match[1]).read_text()
        inside = whole.split(f"<!-- {match[2]} -->")[1].split(f"<!-- end of {match[2]} -->")[0]
        return _relinked(inside, PurePosixPath(match[1]).parent, page, root)

    return INCLUDED.sub(section, text)


def _relinked(markdown: str, home: PurePosixPath, page: str, root: Path) -> str:
    """Text whose links start from the folder `home`, with links that start from a page."""
    here = PurePosixPath(page).parent

    def led(match: re.Match[str]) -> str:
        link, anchor = match[1], match[2] or ""
        target = PurePosixPath(os.path.normpath(home / link))
        if (root / target).is_dir():
            target = target / "index.md"
        elif target.name == "README.md":
            target = PurePosixPath("docs/index.md")
        inside = target.parts[0] == "docs"
        place = target.relative_to("docs") if inside else PurePosixPath(PLACE) / target
        return os.path.relpath(place, here).replace(os.sep, "/") + anchor

    # Text and code by turns: the code stands at the odd positions.
    parts = re.split(f"({CODE.pattern})", markdown, flags=CODE.flags)
    return "".join(part if i % 2 else LINK.sub(led, part) for i, part in enumerate(parts))


def _record(folder: Path) -> str:
    lines = [f"# {folder.name}", "", "As written by `untrue report`: [rows.csv](rows.csv).", ""]
    for table in sorted(folder.glob("*.md")):
        lines += [f"## {_title(table)}", "", table.read_text(), ""]
    for figure in sorted(folder.glob("*.png")):
        lines += [f"## {_title(figure)}", "", f"![{_title(figure)}]({figure.name})", ""]
    return "\n".join(lines)


def _title(path: Path) -> str:
    return path.stem.replace("-", " ")
