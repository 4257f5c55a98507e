"""Figures as files: whole, readable, the same each time, whatever names and styles are about."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from PIL import Image

from untrue.report.document import matplotlib_figures, plotly_figures
from untrue.report.document.confusion_figure import ConfusionFigure, Panel
from untrue.report.document.figures import Axis, Change, ChangeRow, Curves, Figure, Point, Series
from untrue.report.document.styles import INK

NAMES = ("$5 & <b>", "鳥 \N{PILE OF POO}", "c^2_x")
FIGURES: dict[str, Figure] = {
    "curves": Curves(
        "Title $a$",
        "see",
        Axis("n (cells)", ticks=(10.0, 20.0)),
        Axis("errors (images)", from_zero=True),
        tuple(
            Series(n, (Point(10.0, 2.0, 1.0, 4.0, label="0.9", marked=True), Point(20.0, 3.0)), i)
            for i, n in enumerate(NAMES)
        ),
        dodge=True,
    ),
    "change": Change(
        "Title $a$",
        "see",
        Axis("cost", from_zero=True),
        tuple(ChangeRow(name, 3.0, 1.0) for name in NAMES),
    ),
    "confusion": ConfusionFigure(
        "Title $a$",
        "see",
        NAMES,
        (Panel("before", np.full((3, 3), 4.0)), Panel("after", np.eye(3))),
        np.array([[False, True, True], [False, False, False], [True, False, False]]),
    ),
}


def texts(svg: Path) -> set[str]:
    return {"".join(e.itertext()).strip() for e in ElementTree.parse(svg).iter() if "text" in e.tag}


@pytest.mark.parametrize("name", FIGURES)
def test_both_files_are_there_and_names_are_drawn_as_they_are(name: str, tmp_path: Path) -> None:
    svg, png = matplotlib_figures.save(FIGURES[name], tmp_path / "new" / "v1.2")
    assert (svg.name, png.name) == ("v1.2.svg", "v1.2.png")
    assert {*NAMES, "Title $a$"} <= texts(svg)
    with Image.open(png) as image:
        assert image.width >= 1000
        assert len(image.convert("RGB").getcolors(1 << 24) or []) > 20
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["v1.2.png", "v1.2.svg"]


@pytest.mark.parametrize("k", [3, 12, 60])
def test_nothing_is_cut_at_the_edges(k: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = tuple(f"a long name of a class {i}"[-(i + 5) :] for i in range(k))
    panels = tuple(Panel(name, rng.poisson(3, (k, k)).astype(float)) for name in ("one", "two"))
    figure = ConfusionFigure("Title", "see", names, panels, rng.random((k, k)) < 0.2)
    points = (Point(1.0, 2.0, 1.0, 3.0), Point(2.0, 3.0))
    many = tuple(Series(f"{name} and more, published", points, i) for i, name in enumerate(names))
    curves = Curves("Title", "see", Axis("n"), Axis("errors"), many[:7])
    for drawn in (figure, curves):
        _, png = matplotlib_figures.save(drawn, tmp_path / "figure")
        with Image.open(png) as image:
            pixels = np.asarray(image.convert("RGB"))
        edges = (pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:])
        assert all((edge == 255).all() for edge in edges), type(drawn).__name__


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    one = [
        path.read_bytes() for path in matplotlib_figures.save(FIGURES["curves"], tmp_path / "one")
    ]
    two = [
        path.read_bytes() for path in matplotlib_figures.save(FIGURES["curves"], tmp_path / "two")
    ]
    assert one == two


def test_the_users_style_neither_changes_the_figure_nor_is_changed(tmp_path: Path) -> None:
    plain = matplotlib_figures.save(FIGURES["curves"], tmp_path / "plain")[1].read_bytes()
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "pink"}):
        styled = matplotlib_figures.save(FIGURES["curves"], tmp_path / "styled")[1].read_bytes()
        assert matplotlib.rcParams["font.size"] == 30
    assert plain == styled


def test_page_and_file_draw_the_same_colours(tmp_path: Path) -> None:
    svg, _ = matplotlib_figures.save(FIGURES["curves"], tmp_path / "curves")
    drawn = svg.read_text()
    (drawing,) = plotly_figures.draw(FIGURES["curves"])
    colours = {trace["line"]["color"] for trace in drawing["data"][:3]}
    assert len(colours) == 3
    assert INK in colours
    assert all(colour.lower() in drawn.lower() for colour in colours)


def test_a_folder_that_cannot_be_made_is_an_ordinary_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        matplotlib_figures.save(FIGURES["change"], tmp_path / "file" / "figure")
