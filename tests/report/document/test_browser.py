"""The page in a real browser, opened from disk: drawn, safe, no wider than a phone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from untrue.report.document.figures import (
    Axis,
    Change,
    ChangeRow,
    Confusion,
    Curves,
    Panel,
    Point,
    Series,
)
from untrue.report.document.page import Page, Section, render
from untrue.report.document.tables import Column, Table

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")

NASTY = "<img src=x onerror=alert(1)>"
LONG = "a class with a name that goes on and on and on"
CLASSES = ("cat", NASTY, LONG)
PAGE = Page(
    "A page",
    "A lead.",
    (
        Section(
            "Figures",
            (
                Curves(
                    "curves",
                    "see",
                    Axis("n"),
                    Axis("y", from_zero=True),
                    tuple(
                        Series(f"alpha 0.{i} {LONG}", (Point(1.0, 2.0), Point(2.0, 3.0)), i)
                        for i in range(6)
                    ),
                ),
                Change("change", "see", Axis("x"), tuple(ChangeRow(c, 2.0, 1.0) for c in CLASSES)),
                Confusion(
                    "confusion",
                    "see",
                    CLASSES,
                    (Panel("before", np.full((3, 3), 7.0)), Panel("after", np.eye(3))),
                    ~np.eye(3, dtype=bool),
                ),
                Table("wide", "", tuple(Column(f"column {i}") for i in range(30)), ((1.5,) * 30,)),
            ),
        ),
    ),
)
# Hovers over a cell that holds errors and tells what the browser made of the page.
PROBE = """
<script>
window.alerted = false;
window.alert = () => { window.alerted = true; };
window.addEventListener("load", () => setTimeout(() => {
  const plots = [...document.querySelectorAll(".plot")];
  Plotly.Fx.hover(plots[2], {xval: 1, yval: 0});
  setTimeout(() => parent.postMessage(JSON.stringify({
    drawn: plots.map(plot => plot.querySelectorAll("svg").length > 0),
    hover: plots[2].querySelector(".hoverlayer").textContent,
    images: document.querySelectorAll("img").length,
    alerted: window.alerted,
    width: document.documentElement.scrollWidth,
    window: window.innerWidth,
    outside: plots.filter(plot => plot.getBoundingClientRect().right > window.innerWidth).length,
    ink: getComputedStyle(document.body).color,
    paper: getComputedStyle(document.body).backgroundColor,
    label: plots[0].querySelector(".xtick text").style.fill,
  }), "*"), 500);
}, 500));
</script>
"""
FRAME = """<!doctype html><body style="margin:0">
<iframe src="page.html" width="390" height="3000" style="border:0;color-scheme:{scheme}"></iframe>
<pre></pre>
<script>onmessage = e => document.querySelector("pre").textContent = e.data</script>
"""


def looked_at(folder: Path, scheme: str) -> dict[str, object]:
    """What the page says of itself in a frame as wide as a phone."""
    page = render(PAGE).replace("</body>", f"{PROBE}</body>")
    (folder / "page.html").write_text(page, encoding="utf-8")
    (folder / "frame.html").write_text(FRAME.format(scheme=scheme), encoding="utf-8")
    assert BROWSER is not None
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --dump-dom"
    flags += " --disable-background-networking --disable-component-update --disable-sync"
    place = [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000"]
    command = [BROWSER, *flags.split(), *place, (folder / "frame.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    found = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert found, done.stderr
    text = found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    found: dict[str, object] = json.loads(text)
    return found


def luminance(colour: str) -> float:
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_whole_page(scheme: str, tmp_path: Path) -> None:
    seen = looked_at(tmp_path, scheme)
    assert seen["drawn"] == [True] * 4
    assert seen["hover"] == f"truth: catpredicted: {NASTY}7 images (in the zone)"
    assert (seen["images"], seen["alerted"]) == (0, False)
    assert (seen["window"], seen["width"], seen["outside"]) == (390, 390, 0)
    dark = scheme == "dark"
    assert (luminance(str(seen["paper"])) < 60) == dark
    for ink in ("ink", "label"):
        assert (luminance(str(seen[ink])) > 180) == dark, ink
