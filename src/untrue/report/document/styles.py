"""How figures look, on the page and in files: colours, markers, names and numbers as text."""

from __future__ import annotations

import math

from untrue.errors import ArgumentError

# Okabe and Ito's colours, which stay apart for colour-blind eyes. The first is for the reference
# (a baseline): the page swaps it for a light grey on a dark background. Their yellow is left out:
# it vanishes on white. The next four are Paul Tol's, for the rare figure with so many curves; the
# last are there so that a new loss finds a colour.
INK = "#222222"
PALETTE = (
    *(INK, "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#AA3377", "#999933", "#44AA99", "#7A68D0"),
    *("#8B5A2B", "#5F6B7A", "#117733"),
)
# Of the least-cost decision, in every figure of every report; losses have theirs by the registry.
LEAST_COST_STYLE = 3
ZONE_COLOUR = "#D55E00"
# (plotly, matplotlib) by style: no figure relies on colour alone.
MARKERS = (
    ("circle", "o"),
    ("square", "s"),
    ("diamond", "D"),
    ("triangle-up", "^"),
    ("triangle-down", "v"),
    ("cross", "P"),
    ("star", "*"),
    ("pentagon", "p"),
    ("triangle-left", "<"),
    ("triangle-right", ">"),
    ("hexagon", "h"),
    ("x", "X"),
    ("diamond-tall", "d"),
    ("hexagon2", "H"),
)
# Beyond this many classes the cells are too small to print their counts in.
NUMBERS_UP_TO = 16
NAMES_UP_TO = 40
# Signs of a name in a legend; hovering shows it whole.
LEGEND_UP_TO = 40
# Kept in step with the dark ones in page.js, which swaps them.
GRID = "#d9d9d9"
SCALE = [[0.0, "#ffffff"], [0.15, "#d6e6f4"], [0.5, "#6aaed6"], [1.0, "#08306b"]]
DIAGONAL = "#e4e4e4"
# Lines behind the data; dark enough on white and light enough on black.
CROSS = "#8a8a8a"
STAIRS = "#8a8a8a66"


def shortened(name: str, length: int = 16) -> str:
    """The name on one line, cut with an ellipsis when it is long.

    >>> shortened("a name that goes on and on")
    'a name that goe…'
    """
    name = " ".join(name.split())
    return name if len(name) <= length else name[: length - 1] + "…"


def number(value: float) -> str:
    """A count or a measure for reading: '12', '1,234', '0.83', '12.4'.

    >>> [number(v) for v in (12.0, 1234.5, 0.8333, 12.41, 0.00012, float("nan"))]
    ['12', '1,234', '0.833', '12.4', '0.00012', '-']
    """
    return written(value, ".3g") if math.isfinite(value) else "-"


def written(value: float, form: str) -> str:
    """As `format`, but large numbers have all their digits and no exponent.

    >>> written(1234.5, ".3g"), written(-1234.5, "+.3g"), written(0.5, "+.3g")
    ('1,234', '-1,234', '+0.5')
    """
    text = format(value, form)
    return format(value, "+,.0f" if form.startswith("+") else ",.0f") if "e+" in text else text


def check_see(title: str, see: str) -> None:
    """Every figure says what to look at."""
    if not see.strip():
        raise ArgumentError(f"`see` must say what to look at in figure {title!r}; it is empty.")
