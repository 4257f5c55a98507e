"""One self-contained page to find costs in: it computes in the browser, from disk, with no network.

The JSON in the page cannot end its script element, names go into the document as text only, and a
policy in its head forbids the browser to fetch anything.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import numpy as np

import untrue
from untrue.optional import need
from untrue.report.document.page import base_style, in_script
from untrue.tools.exploring.explore import Exploration

# In the order in which they use each other.
SCRIPTS = (
    "model.js",
    "budget.js",
    "grid.js",
    "frontier.js",
    "export.js",
    "budget_box.js",
    "page.js",
)


def explore_page(found: Exploration, options: Mapping[str, str | None]) -> str:
    """The page as HTML.

    options: those that the file was read with, which the page repeats in its command lines
    """
    jinja2 = need("jinja2", "The page")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    text: str = environment.from_string(_resource("explore.html")).render(
        title=f"Find the costs: {Path(found.source).name}",
        carried=carried(found),
        facts=facts(found),
        css=base_style() + _resource("explore.css"),
        data=in_script(content(found, options)),
        scripts=[_resource(name) for name in SCRIPTS],
    )
    return text


def content(found: Exploration, options: Mapping[str, str | None]) -> dict[str, Any]:
    """What the scripts compute with; bytes are in base 64."""
    given = [Path(found.source).name]
    for name, value in options.items():
        given += [] if value is None else [f"--{name}", value]
    return {
        "classes": list(found.classes),
        "codes": _base64(found.codes),
        "truth": _base64(found.true.astype(np.uint8)),
        "rows": None if found.names is not None else found.rows.tolist(),
        "names": None if found.names is None else list(found.names),
        "counts": found.counts.tolist(),
        "costs": found.costs.tolist(),
        "groups": [{"name": g.name, "members": list(g.members)} for g in found.groups],
        "given": shlex.join(given),
    }


def carried(found: Exploration) -> str:
    """How much of the file stands in the page, in a sentence."""
    n, total = len(found.true), int(found.counts.sum())
    examples = f"{n:,} of {total:,} examples" if n < total else f"all {n:,} examples"
    text = f"The page holds {examples} of {Path(found.source).name}, {len(found.classes)} classes"
    if n < total:
        text += (
            ", drawn by class: all of a rare class, some of a common one. Counts and shares are "
            "scaled to the whole file"
        )
    return (
        f"{text}. Probabilities are rounded to a byte each, which changes {found.altered:,} of "
        f"{n:,} answers."
    )


def facts(found: Exploration) -> tuple[tuple[str, str], ...]:
    """Where the numbers come from, for the foot of the page."""
    span = found.columns[0]
    span += f" to {found.columns[-1]}" if len(found.columns) > 1 else ""
    return (
        ("file", Path(found.source).name),
        ("truth", found.truth),
        ("probabilities", span),
        *(("note", note) for note in found.notes),
        *((("seed of the draw", str(found.seed)),) if len(found.true) < found.counts.sum() else ()),
        ("made by", f"untrue {untrue.__version__}"),
    )


def _base64(values: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def _resource(name: str) -> str:
    return resources("untrue.report.own.explore").joinpath(name).read_text(encoding="utf-8")
