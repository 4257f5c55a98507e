"""One self-contained HTML page: it opens from disk, with no network, on a phone too.

    page = Page("Audit of predictions.csv", "Most of the cost is one confusion.", (
        Section("Where the errors are", (figure, table, "A paragraph of text.")),
    ))
    write(page, "audit/page.html")

Everything is escaped, the smallest bundle of plotly.js that draws our figures (cartesian) stands in
the page once, and a policy in its head forbids the browser to fetch anything.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, TypeAlias

import untrue
from untrue.atomic_files import place_text
from untrue.optional import need
from untrue.report.document import plotly_figures
from untrue.report.document.confusion_figure import ConfusionFigure
from untrue.report.document.figures import Figure
from untrue.report.document.plotly_layout import Drawing
from untrue.report.document.prose import prose
from untrue.report.document.steps import ConfusionSteps
from untrue.report.document.tables import Table


@dataclass(frozen=True, slots=True)
class Folded:
    """Parts behind a heading that opens by a click."""

    title: str
    parts: tuple[Figure | Table | str, ...]


Part: TypeAlias = Figure | Table | str | Folded | ConfusionSteps
PLOTLY = "plotly/plotly-cartesian.min.js"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading over figures, tables and paragraphs."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """lead: the finding, in a sentence. facts: (name, value) pairs at the foot: where from."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    facts: tuple[tuple[str, str], ...] = ()


def render(page: Page) -> str:
    """The page as HTML."""
    jinja2 = need("jinja2", "The page")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["prose"] = lambda text: jinja2.utils.markupsafe.Markup(prose(text))
    template = environment.from_string(_resource("page.html"))
    sections = [
        {"title": section.title, "parts": [_described(part) for part in section.parts]}
        for section in page.sections
    ]
    flat = [p for s in page.sections for p in s.parts]
    flat += [inner for p in flat if isinstance(p, Folded) for inner in p.parts]
    drawn = any(not isinstance(p, Table | str | Folded) for p in flat)
    text: str = template.render(
        page=page,
        facts=(*page.facts, ("made by", f"untrue {untrue.__version__}")),
        sections=sections,
        css=base_style(),
        js=_resource("page.js"),
        plotly=_resource(PLOTLY) if drawn else "",
    )
    return text


def write(page: Page, path: str | Path) -> Path:
    """Write the page; its folder is made when absent. A reader never sees half a page."""
    return write_text(path, render(page))


def write_text(path: str | Path, text: str) -> Path:
    """Write a file whole or not at all: under another name first, then moved into place."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return place_text(path, text)


def _described(part: Part) -> dict[str, Any]:
    if isinstance(part, Table):
        return {"kind": "table", "title": part.title, "see": part.see, "html": part.to_html()}
    if isinstance(part, Folded):
        return {
            "kind": "folded",
            "title": part.title,
            "parts": [_described(inner) for inner in part.parts],
        }
    if isinstance(part, str):
        return {"kind": "text", "text": part}
    if isinstance(part, ConfusionSteps):
        return _steps(part)
    cells = part.examples if isinstance(part, ConfusionFigure) else ()
    examples = {f"{cell.true},{cell.predicted}": list(cell.names) for cell in cells}
    return {
        "kind": "figure",
        "title": part.title,
        "see": part.see,
        "panels": [_panel(drawing, drawing) for drawing in plotly_figures.draw(part)],
        "examples": in_script(examples) if examples else "",
    }


def _steps(part: ConfusionSteps) -> dict[str, Any]:
    """A panel for each place in a step; its drawings are those of all steps."""
    drawings = plotly_figures.draw(part.figure)
    together = len(drawings) // len(part.steps)
    places = [drawings[place::together] for place in range(together)]
    return {
        "kind": "steps",
        "title": part.figure.title,
        "see": part.figure.see,
        "label": part.label,
        "first": part.first,
        "last": len(part.steps) - 1,
        "step": part.steps[part.first],
        "steps": in_script([{"name": step.name, "sentence": step.sentence} for step in part.steps]),
        "panels": [_panel(place[0], place) for place in places],
    }


def _panel(first: Drawing, content: Drawing | tuple[Drawing, ...]) -> dict[str, Any]:
    """Where a drawing goes, or several in turns, of which the first gives title and size."""
    return {
        "title": first["title"],
        "height": first["layout"]["height"],
        "width": first.get("width"),
        "json": in_script(content),
    }


def base_style() -> str:
    """The style sheet that every page begins with."""
    return _resource("page.css")


def in_script(drawing: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(drawing, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(name: str) -> str:
    return resources("untrue.report.document").joinpath(name).read_text(encoding="utf-8")
