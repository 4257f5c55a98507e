"""Tables: the same cells as HTML, CSV, Markdown and in a terminal."""

from __future__ import annotations

import csv
import io
import math
from html.parser import HTMLParser

import pytest
from rich.console import Console

from untrue.errors import ArgumentError
from untrue.metrics import Interval
from untrue.report.document.styles import number
from untrue.report.document.tables import Column, Table

NAMES = ("<b>bold</b>", "a|b *c* _d_", "[red]x[/red]")
TABLE = Table(
    title="T & <t>",
    see="See | this.",
    columns=(Column("name"), Column("error (%)", ".1f"), Column("n")),
    rows=(
        (NAMES[0], Interval(24.04, 23.74, 24.34, 0.95), 3),
        (NAMES[1], Interval(24.0, 23.0, 26.5, 0.95), None),
        (NAMES[2], Interval(24.0, math.nan, math.nan, 0.95), 1),
    ),
    strong=frozenset({0}),
)


def test_cells_are_shown_as_people_read_them() -> None:
    assert TABLE.shown() == [
        [NAMES[0], "24.0 ± 0.3", "3"],
        [NAMES[1], "24.0 [23.0, 26.5]", "-"],
        [NAMES[2], "24.0", "1"],
    ]
    assert Column("d", "+.2f").shown(Interval(-1.0, -1.5, -0.5, 0.95)) == "-1.00 ± 0.50"
    assert Column("d", ".2f").shown(math.nan) == "-"


def test_large_numbers_have_no_exponent() -> None:
    assert [number(value) for value in (999.4, 999.7, -999.9, 1e6)] == [
        *("999", "1,000", "-1,000", "1,000,000")
    ]
    assert Column("cost", ".3g").shown(1234.56) == "1,235"
    assert Column("cost", "+.3g").shown(Interval(-1234.5, -1334.5, -1134.5, 0.95)) == "-1,234 ± 100"
    assert Column("cost", ".3g").shown(12.34) == "12.3"


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_holds_the_texts_and_nothing_in_them_becomes_a_tag() -> None:
    parser = Cells()
    parser.feed(TABLE.to_html())
    assert set(parser.tags) == {"table", "thead", "tbody", "tr", "th", "td", "button"}
    assert [text for row in TABLE.shown() for text in row] == parser.texts[3:]
    assert TABLE.to_html().count("<tr class=strong>") == 1


def test_csv_reads_back_at_full_precision_with_the_interval_in_three_columns() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.to_csv())))
    assert list(rows[0]) == ["name", "error (%)", "error (%) low", "error (%) high", "n"]
    assert [row["name"] for row in rows] == list(NAMES)
    assert float(rows[0]["error (%) high"]) == 24.34
    assert (rows[1]["n"], rows[2]["error (%) low"]) == ("", "")


def test_markdown_has_one_line_per_row_whatever_the_names_hold() -> None:
    lines = TABLE.to_markdown().splitlines()
    assert lines[0] == "**T &amp; &lt;t>**"
    assert lines[3] == "| --- | ---: | ---: |"
    assert lines[4] == "| **&lt;b>bold&lt;/b>** | **24.0 ± 0.3** | **3** |"
    assert lines[5].startswith(r"| a\|b \*c\* \_d\_ | 24.0 \[23.0, 26.5\] |")
    assert lines[8] == r"See \| this."


def test_the_terminal_shows_names_as_they_are_and_keeps_numbers_whole() -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(TABLE.to_terminal())
    shown = out.getvalue()
    assert all(name in shown for name in NAMES)
    assert "24.0 [23.0, 26.5]" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_narrow_terminal_folds_cells_and_cuts_none() -> None:
    out = io.StringIO()
    columns = tuple(
        Column(name, "g") for name in ("true", "predicted", "times", "total cost", "share")
    )
    rows = (("a long name", "another one", 1200, 93.5, 99.9),)
    Console(file=out, width=40).print(Table("t", "", columns, rows).to_terminal())
    shown = out.getvalue()
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert "93.5" in shown
    assert "99.9" in shown
    assert max(map(len, shown.splitlines())) <= 40


def test_a_row_of_the_wrong_length_is_named() -> None:
    with pytest.raises(ArgumentError, match="one cell for each of the 2 columns; row 1 of table"):
        Table("t", "", (Column("a"), Column("b")), ((1, 2), (1,)))


def test_columns_of_names_stand_left_and_of_numbers_right() -> None:
    table = Table("t", "", (Column("a"), Column("b"), Column("c")), (("x", None, 1.0),))
    assert [table.is_number(i) for i in range(3)] == [False, False, True]
