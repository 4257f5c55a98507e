"""The tables of docs/guarantees.md, made from benchmarks/results/control.csv."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.pages import DOCS, Page, Row, Source, in_markdown
from benchmarks.record import RESULTS


def promise(rows: Sequence[Row]) -> str:
    """How often a true rate is above its limit, by pool, size and number of budgets."""
    most = max(int(row["draws"]) for row in rows)
    counted = [row for row in rows if row["method"] == "untrue" and int(row["draws"]) == most]
    found = {
        (row["pool"], int(row["examples"]), row["budgets"].count(";") + 1): row for row in counted
    }
    numbers = sorted({n for _, _, n in found})
    names = {1: "one budget", 2: "two", 4: "four"}
    lines = [["pool", "examples", *(f"{names[n]}: over (%), with a rule (%)" for n in numbers)]]
    for pool, size in dict.fromkeys((pool, size) for pool, size, _ in found):
        shown = (found.get((pool, size, n)) for n in numbers)
        cells = (
            f"{100 * float(row['over']):.1f}, {100 * float(row['with_rule']):.0f}" if row else ""
            for row in shown
        )
        lines.append([pool, f"{size:,}", *cells])
    return f"{in_markdown(lines)}\n{most:,} draws each.\n"


def rivals(rows: Sequence[Row]) -> str:
    """Each method over all rows, and over those in which it and ours have rules."""
    lines = [
        [
            "method",
            "rows",
            "draws with a rule (%)",
            "over a limit, worst row (%)",
            "rows that hold",
            "right answers against ours (points)",
            "no answer (%)",
        ]
    ]
    ours = _ours(rows)
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        both = [(row, mine) for row in own if row["right"] and (mine := ours[_case(row)])["right"]]
        if not both:
            continue
        given = 100 * np.mean([float(row["with_rule"]) for row in own])
        worst = 100 * max(float(row["over"]) for row in own)
        held = sum(row["holds"] == "True" for row in own)
        change = 100 * np.mean([float(row["right"]) - float(mine["right"]) for row, mine in both])
        silent = 100 * np.mean([float(row["no_answer"]) for row, _ in both])
        counts = [str(len(own)), f"{given:.0f}", f"{worst:.1f}", str(held)]
        lines.append([method, *counts, f"{change:+.1f}", f"{silent:.1f}"])
    return in_markdown(lines)


def behind(rows: Sequence[Row]) -> str:
    """Where a method with a guarantee finds a rule in more draws, by two points or more."""
    head = ["with a rule (%)", "ours (%)", "right answers (%)", "ours (%)"]
    lines = [["pool", "examples", "budgets", "method", *head]]
    ours = _ours(rows)
    for row in rows:
        mine = ours[_case(row)]
        more = float(row["with_rule"]) - float(mine["with_rule"])
        if row["method"] in ("untrue", "naive") or more < 0.02:
            continue
        shares = (f"{100 * float(each['with_rule']):.0f}" for each in (row, mine))
        right = (f"{100 * float(each['right']):.1f}" for each in (row, mine))
        case = (row["pool"], f"{int(row['examples']):,}", row["budgets"], row["method"])
        lines.append([*case, *shares, *right])
    return in_markdown(lines)


def _case(row: Row) -> tuple[str, ...]:
    return row["pool"], row["examples"], row["budgets"]


def _ours(rows: Sequence[Row]) -> dict[tuple[str, ...], Row]:
    return {_case(row): row for row in rows if row["method"] == "untrue"}


PAGE = Page(
    DOCS / "guarantees.md",
    {
        name: Source(RESULTS / "control.csv", shown)
        for name, shown in {"promise": promise, "rivals": rivals, "behind": behind}.items()
    },
)


if __name__ == "__main__":
    print(PAGE.update())
