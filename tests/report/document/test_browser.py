"""The page in a real browser, opened from disk: drawn, safe, no wider than a phone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from untrue.metrics import Interval
from untrue.report.document.confusion_figure import ConfusionFigure, Panel
from untrue.report.document.figures import (
    Axis,
    Change,
    ChangeRow,
    Curves,
    Difference,
    Differences,
    Point,
    Series,
)
from untrue.report.document.page import Folded, Page, Section, render
from untrue.report.document.tables import Column, Table
from untrue.tools.auditing.examples import CellExamples

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")

NASTY = "<img src=x onerror=alert(1)>"
LONG = "a class with a name that goes on and on and on"
CLASSES = ("cat", NASTY, LONG)
WIDE = tuple(Column(f"column {i}") for i in range(30))
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
                ConfusionFigure(
                    "confusion",
                    "see",
                    CLASSES,
                    (Panel("before", np.full((3, 3), 7.0)), Panel("after", np.eye(3))),
                    ~np.eye(3, dtype=bool),
                    examples=(CellExamples(0, 1, (NASTY, "b.png")),),
                ),
                Differences(
                    "differences", "see", Axis("d"), (Difference(LONG, Interval(1, 0, 2, 0.95)),)
                ),
                Folded("more", (Table("wide", "", WIDE, ((1.5,) * 30, (0.5,) * 30, (2.5,) * 30)),)),
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
  plots[2].emit("plotly_click", {points: [{x: 1, y: 0}]});
  const table = document.querySelector("table");
  const column = () => [...table.tBodies[0].rows].map(row => row.cells[3].textContent);
  document.querySelector("details").open = true;
  const orders = [column()];
  for (let i = 0; i < 2; i++) {
    table.querySelectorAll("th button")[3].click();
    orders.push(column());
  }
  setTimeout(() => parent.postMessage(JSON.stringify({
    drawn: plots.map(plot => plot.querySelectorAll("svg").length > 0),
    hover: plots[2].querySelector(".hoverlayer").textContent,
    listed: document.querySelector(".list").textContent,
    orders: orders,
    card: getComputedStyle(table.tBodies[0].rows[0].cells[0]).display,
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
<iframe src="page.html" width="390" height="9000" style="border:0;color-scheme:{scheme}"></iframe>
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
    seen: dict[str, object] = json.loads(text)
    return seen


def luminance(colour: str) -> float:
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_whole_page(scheme: str, tmp_path: Path) -> None:
    seen = looked_at(tmp_path, scheme)
    assert seen["drawn"] == [True] * 5
    assert seen["listed"] == f"{NASTY}, b.png"
    assert seen["orders"] == [["1.5", "0.5", "2.5"], ["0.5", "1.5", "2.5"], ["2.5", "1.5", "0.5"]]
    assert seen["card"] == "flex"
    assert seen["hover"] == f"truth: catpredicted: {NASTY}7 images (in the zone)"
    assert (seen["images"], seen["alerted"]) == (0, False)
    assert (seen["window"], seen["width"], seen["outside"]) == (390, 390, 0)
    dark = scheme == "dark"
    assert (luminance(str(seen["paper"])) < 60) == dark
    for ink in ("ink", "label"):
        assert (luminance(str(seen[ink])) > 180) == dark, ink
