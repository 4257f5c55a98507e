"""Sentences and tables for people: as wide as the terminal, or as wide as they need elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console

from untrue.input_files import visible

if TYPE_CHECKING:
    from untrue.report.assemble import Report
    from untrue.report.document.tables import Table

# What a file or a pipe gets: no line of a table is cut there.
WIDE = 240


def console() -> Console:
    """Where a command prints; plain and wide when that is no terminal."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=WIDE)


def say(where: Console, text: str) -> None:
    """A sentence or a path, as it is: no markup, and no line break inside a path.

    Control characters, as names of classes may hold, are shown escaped.
    """
    where.print(visible(text), markup=False, soft_wrap=True)


def say_notes(where: Console, notes: Iterable[str]) -> None:
    """What the reader should know, each as a sentence."""
    for note in notes:
        say(where, f"Note: {note}.")


def show(where: Console, table: Table) -> None:
    """A table with the sentence that says what to see."""
    drawn = table.to_terminal()
    drawn.title = None  # rich would break a title as wide as its table
    say(where, table.title)
    where.print(drawn)
    if table.see:
        say(where, table.see)
    say(where, "")


def show_report(where: Console, made: Report) -> None:
    """What a report of a sweep found and what is missing, ending with the path of its page."""
    for table in made.short:
        where.print(table.to_terminal())
    for text in (*made.findings, *made.notes, str(made.page)):
        say(where, text)
