"""The page: one file, nothing fetched, everything escaped, never half written."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from untrue.report.document.figures import Axis, Change, ChangeRow
from untrue.report.document.page import Page, Section, render, write, write_text
from untrue.report.document.tables import Column, Table

NASTY = "</script><img src=x onerror=alert(1)>"
FIGURE = Change(NASTY, f"See {NASTY}", Axis("cost"), (ChangeRow(NASTY, 2.0, 1.0),))
TABLE = Table(NASTY, NASTY, (Column(NASTY),), ((NASTY,),))
PAGE = Page(
    NASTY, f"Lead {NASTY}", (Section(NASTY, (FIGURE, FIGURE, TABLE, NASTY)),), ((NASTY, NASTY),)
)


class Elements(HTMLParser):
    """Tags with their attributes, and the text of each script."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def parsed(page: Page) -> Elements:
    elements = Elements()
    elements.feed(render(page))
    return elements


def test_no_text_becomes_a_tag_and_all_text_is_there() -> None:
    elements = parsed(PAGE)
    names = [tag for tag, _ in elements.tags]
    assert "img" not in names
    # Two figures' data, plotly once, and the page's own.
    assert names.count("script") == 4
    # Title (twice), lead, section, two figures' titles and sentences, table (title, sentence,
    # heading, cell), paragraph, fact.
    assert elements.text.count(NASTY) == 15


def test_plotly_stands_in_it_once_and_not_at_all_without_figures() -> None:
    assert sum("plotly.js (cartesian" in script for script in parsed(PAGE).scripts) == 1
    assert len(render(PAGE)) < 1_700_000
    assert len(render(Page("t", "l", (Section("s", (TABLE,)),)))) < 20_000


def test_figure_data_is_json_that_reads_back() -> None:
    elements = parsed(PAGE)
    made_json = [json.loads(script) for script in elements.scripts[:2]]
    assert made_json[0] == made_json[1]
    assert "&lt;img src=x" in json.dumps(made_json[0])


def test_nothing_is_fetched() -> None:
    elements = parsed(PAGE)
    for tag, attributes in elements.tags:
        assert "src" not in attributes, tag
        assert "href" not in attributes, tag
    policy = next(a["content"] for t, a in elements.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    css = re.search(r"<style>(.*?)</style>", render(PAGE), re.DOTALL)
    assert css is not None
    assert "url(" not in css[1]


def test_it_is_laid_out_for_a_phone() -> None:
    elements = parsed(PAGE)
    views = [a["content"] for t, a in elements.tags if a.get("name") == "viewport"]
    assert views == ["width=device-width, initial-scale=1"]
    assert ("div", "scroll") in [(t, a.get("class")) for t, a in elements.tags]


def test_writing_makes_the_folder_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = write(PAGE, tmp_path / "deep" / "page.html")
    assert path.read_text(encoding="utf-8") == render(PAGE)
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]


def test_others_may_read_it_as_the_umask_allows(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        path = write_text(tmp_path / "page.html", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = write_text(tmp_path / "page.html", "old")
    blocked = tmp_path / "folder"
    blocked.mkdir()
    with pytest.raises(OSError, match="folder"):
        write_text(blocked, "a file cannot take a folder's place")
    assert path.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "page.html"]
    assert write_text(path, "half \ud800").read_text() == "half \\ud800"


@pytest.mark.parametrize(
    ("missing", "call", "expected"),
    [
        (
            "jinja2",
            "from untrue.report.document.page import *; render(Page('', '', ()))",
            "The page needs jinja2",
        ),
        (
            "matplotlib",
            "from untrue.report.document.figures import *; "
            "from untrue.report.document.matplotlib_figures import save; "
            "save(Curves('t', 's', Axis(''), Axis(''), ()), 'x')",
            "Drawing figures as files needs matplotlib",
        ),
        (
            "scipy",
            "from untrue.metrics.intervals import mean_interval; mean_interval([1.0, 2.0])",
            "The interval of a mean needs scipy",
        ),
    ],
)
def test_a_missing_package_is_named_with_its_install_line(
    missing: str, call: str, expected: str
) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None\n{call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f'{expected}, which is missing: pip install "untrue[lab]".' in done.stderr
