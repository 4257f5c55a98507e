"""MkDocs' hooks: what is made on the way from docs/ to the site.

Pages that the nav does not name are put at its end, so that a new page is never lost. The reference
is made from the docstrings, the notebook becomes a page, and links that leave docs/ (records,
licence, changelog) lead to copies in the site.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from website import gallery, linked_files, notebook, package_graph, reference

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def on_config(config: Any) -> Any:
    """Add the reference, and pages that the nav does not name, to the nav."""
    sections = {title: pages for item in config.nav for title, pages in item.items()}
    sections["Reference"] += [{name: uri} for name, uri in reference.pages().items()]
    named = set(_pages(config.nav))
    # The page of the notebook is made below.
    found = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.glob("*.md"))]
    sections["Explanation"] += [uri for uri in found if uri not in named]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what is generated to the files of docs/."""
    made: dict[str, str | bytes] = {}
    for name, uri in reference.pages().items():
        made[uri] = reference.page(name)
    made |= notebook.files(DOCS / "notebook.ipynb")
    made |= linked_files.records(DOCS)
    made["gallery.md"] = gallery.page(DOCS)
    for uri, content in made.items():
        files.append(File.generated(config, uri, content=content))
    for uri, path in linked_files.copies(ROOT).items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to what the site has, and draw the graph of the packages."""
    return package_graph.drawn(linked_files.completed(markdown, page.file.src_uri, ROOT))


def _pages(nav: Any) -> list[str]:
    """Every page that a nav names."""
    if isinstance(nav, str):
        return [nav]
    values = nav.values() if isinstance(nav, dict) else nav
    return [uri for value in values for uri in _pages(value)]
