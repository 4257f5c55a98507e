"""A table as frozen data, written as HTML, CSV, Markdown or to the terminal."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias, TypeVar

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from untrue.errors import ArgumentError
from untrue.input_files import visible
from untrue.metrics import Interval
from untrue.report.document.prose import prose
from untrue.report.document.styles import written

Cell: TypeAlias = str | int | float | Interval | None
Thing = TypeVar("Thing")
NOTHING = "-"
# A table with more columns does not fit a phone.
WIDE = 3


@dataclass(frozen=True, slots=True)
class Column:
    """name: with its unit, "total error (%)". format: for numbers, as in `format(value, ...)`."""

    name: str
    format: str = ""

    def shown(self, cell: Cell) -> str:
        """A cell as people read it: '24.0 ± 0.3', '24.0 [23.1, 25.2]', '-' for nothing.

        >>> Column("error (%)", ".1f").shown(Interval(24.0, 23.7, 24.3, 0.95))
        '24.0 ± 0.3'
        """
        if isinstance(cell, Interval):
            value = self.shown(cell.value)
            if not (math.isfinite(cell.low) and math.isfinite(cell.high)):
                return value
            below, above = cell.value - cell.low, cell.high - cell.value
            if math.isclose(below, above, rel_tol=1e-6, abs_tol=1e-12):
                return f"{value} ± {written(above, self.format.replace('+', ''))}"
            return f"{value} [{self.shown(cell.low)}, {self.shown(cell.high)}]"
        if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
            return NOTHING
        return cell if isinstance(cell, str) else written(cell, self.format)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns. see: what to look at. strong: positions of the rows to stress."""

    title: str
    see: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    strong: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        title: str,
        see: str,
        things: Iterable[Thing],
        columns: Mapping[Column, Callable[[Thing], Cell]],
        *,
        strong: Callable[[Thing], bool] = lambda _: False,
    ) -> Table:
        """A row for each thing: each column has what it shows of one beside it."""
        every = tuple(things)
        return cls(
            title,
            see,
            tuple(columns),
            tuple(tuple(cell(thing) for cell in columns.values()) for thing in every),
            frozenset(i for i, thing in enumerate(every) if strong(thing)),
        )

    def __post_init__(self) -> None:
        for position, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ArgumentError(
                    f"`rows` must have one cell for each of the {len(self.columns)} columns; "
                    f"row {position} of table {self.title!r} has {len(row)}."
                )

    def shown(self) -> list[list[str]]:
        """Every cell as text."""
        return [
            [column.shown(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def is_number(self, position: int) -> bool:
        """Whether a column holds numbers, and so stands to the right."""
        held = [row[position] for row in self.rows if row[position] is not None]
        return bool(held) and not any(isinstance(cell, str) for cell in held)

    def to_html(self) -> str:
        """A `<table>`; every text escaped. The page's script sorts it by a click on a heading.

        Each cell carries its column's name, so that a phone can show a row as a block of lines.
        """
        kinds = [' class="n"' if self.is_number(i) else "" for i in range(len(self.columns))]
        head = "".join(
            f'<th scope="col"{kind}><button type="button">{escape(column.name)}</button></th>'
            for column, kind in zip(self.columns, kinds, strict=True)
        )
        body = []
        for position, (row, values) in enumerate(zip(self.shown(), self.rows, strict=True)):
            cells = "".join(
                f'<td{kind}{_sort_key(value)} data-label="{escape(column.name)}">{prose(cell)}</td>'
                for column, cell, value, kind in zip(self.columns, row, values, kinds, strict=True)
            )
            body.append(f"<tr{' class=strong' if position in self.strong else ''}>{cells}</tr>")
        kind = ' class="wide"' if len(self.columns) > WIDE else ""
        return f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"

    def to_csv(self) -> str:
        """Full precision; an interval takes three columns: the value, `low` and `high`."""
        spans = [
            any(isinstance(row[i], Interval) for row in self.rows) for i in range(len(self.columns))
        ]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names: list[str] = []
        for column, spanned in zip(self.columns, spans, strict=True):
            names += [column.name, *([f"{column.name} low", f"{column.name} high"] * spanned)]
        writer.writerow(names)
        for row in self.rows:
            cells: list[str] = []
            for cell, spanned in zip(row, spans, strict=True):
                parts = (
                    (cell.value, cell.low, cell.high)
                    if isinstance(cell, Interval)
                    else (cell, None, None)
                )
                cells += [_plain(part) for part in parts[: 3 if spanned else 1]]
            writer.writerow(cells)
        return text.getvalue()

    def to_markdown(self) -> str:
        """A GitHub table under its title, with the sentence below it."""
        sides = ["---:" if self.is_number(i) else "---" for i in range(len(self.columns))]
        lines = [
            [_markdown(column.name) for column in self.columns],
            sides,
            *(
                [f"**{_markdown(c)}**" if i in self.strong else _markdown(c) for c in row]
                for i, row in enumerate(self.shown())
            ),
        ]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        see = f"\n\n{_markdown(self.see)}" if self.see else ""
        return f"**{_markdown(self.title)}**\n\n{table}{see}\n"

    def to_terminal(self) -> RichTable:
        """For `rich.console.Console.print`; square brackets in names stay what they are."""
        table = RichTable(
            title=Text(visible(self.title)), title_justify="left", box=box.SIMPLE_HEAD
        )
        shown = self.shown()
        for position, column in enumerate(self.columns):
            # The headings wrap, not the numbers under them: most tables then fit 80 signs.
            longest = max((len(visible(row[position])) for row in shown), default=0)
            lines = textwrap.wrap(visible(column.name), max(longest, 8), break_long_words=False)
            side: Literal["left", "right"] = "right" if self.is_number(position) else "left"
            # In a narrow terminal names fold before numbers do, and nothing is cut.
            least = longest if side == "right" else None
            heading = Text("\n".join(lines))
            table.add_column(heading, justify=side, overflow="fold", min_width=least)
        for position, row in enumerate(shown):
            style = "bold" if position in self.strong else ""
            table.add_row(*(Text(visible(cell)) for cell in row), style=style)
        return table


def middle(cell: Cell) -> str | int | float | None:
    """A cell without its interval."""
    return cell.value if isinstance(cell, Interval) else cell


def _sort_key(cell: Cell) -> str:
    """What a number is sorted by, at full precision."""
    value = middle(cell)
    if isinstance(value, str) or value is None or not math.isfinite(value):
        return ""
    return f' data-value="{value!r}"'


def _plain(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    return str(cell)


def _markdown(text: str) -> str:
    """Text that Markdown leaves alone."""
    text = " ".join(text.split())
    for sign in "\\|*_`[]":
        text = text.replace(sign, "\\" + sign)
    return text.replace("&", "&amp;").replace("<", "&lt;")
