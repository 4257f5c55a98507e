"""The documentation site builds strictly and offline, and its search works without a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with every warning an error and no way out of the machine."""
    place = tmp_path_factory.mktemp("site")
    nowhere = "http://127.0.0.1:9"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "http_proxy": nowhere, "https_proxy": nowhere},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return place


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    fetched = re.compile(r'<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?//[^"]*"')
    styles = re.compile(r'<link[^>]*\shref="(?:https?:)?//[^"]*"|@import[^;]*//|url\(["\']?http')
    for page in pages:
        text = page.read_text()
        assert fetched.findall(text) + styles.findall(text) == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r'@import|url\(["\']?(?:https?:)?//', sheet.read_text()), sheet


def test_the_reference_has_what_the_package_has(site: Path) -> None:
    import untrue

    text = "\n".join(path.read_text() for path in (site / "reference").glob("*.html"))
    found = {name.split(".")[-1] for name in re.findall(r'id="(untrue[\w.]+)"', text)}
    assert set(untrue._HOME) <= found
    # Columns of a docstring are definitions, not one paragraph.
    control = (site / "reference" / "budgets.html").read_text()
    assert re.search(r"<dt><code>confidence</code></dt>\s*<dd>", control)


def test_a_page_that_the_nav_does_not_name_is_in_the_site(site: Path) -> None:
    built = {path.stem for path in site.glob("*.html")}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= built
    home = (site / "index.html").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert f'href="{path.stem}.html"' in home, path


def test_the_graph_of_the_packages_is_drawn(site: Path) -> None:
    page = (site / "architecture.html").read_text()
    assert '<svg class="packages"' in page
    assert "graph TD" not in page


def test_search_knows_the_pages(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    titles = {entry["title"] for entry in index["docs"]}
    assert {"I have a table", "Why it is true"} <= titles


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser")
def test_search_answers_in_a_page_that_is_opened_as_a_file(site: Path, tmp_path: Path) -> None:
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=15000"]
    page = f"file://{site}/index.html?q=tumour"
    done = subprocess.run(
        ["chromium", *flags, f"--user-data-dir={tmp_path}", "--dump-dom", page],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert re.search(r"\d+ matching documents", done.stdout)
