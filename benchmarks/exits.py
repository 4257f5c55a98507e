"""The tables of docs/exits.md, made from the rows that lie beside it.

`python -m benchmarks.exits STORE` draws the report of an `untrue run exits`, keeps its rows, tables
and figures in docs/exits and writes the page's tables again. Without an argument it only writes the
tables. The store is read, never written. A test holds page and rows together.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pages import DOCS, Page, Row, Source, in_markdown
from benchmarks.record import RESULTS
from benchmarks.reproduction import keep, trained
from untrue.metrics.intervals import Interval, mean_interval, paired_interval
from untrue.report.runs.chapters import as_text
from untrue.report.sweep.exits import MEASURES, NAMES, ONE, PLAIN

FOLDER = DOCS / "exits"
ROWS = FOLDER / "rows.csv"
# Of the table of early stopping.
THRESHOLDS = (0.0, 0.4, 0.8, 1.6, 2.4, 3.2, 5.0)
# The exit of a network that has one.
ONLY = "only"
# An answer may cost so much more, in percent, when the page says how much can be saved.
COSTLIER = 1.0


@dataclass(frozen=True, slots=True)
class Variant:
    """How the exits were trained."""

    name: str
    loss: str
    exits: str
    exit_costs: str

    def rows(self, rows: Iterable[Row], **wanted: str) -> list[Row]:
        own = {"loss": self.loss, "exits": self.exits, "exit_costs": self.exit_costs, **wanted}
        return [row for row in rows if all(row[name] == value for name, value in own.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, nargs="?")
    options = parser.parse_args()
    if options.store:
        keep(options.store, FOLDER)
    print(PAGE.update())


def variants(rows: Sequence[Row]) -> list[Variant]:
    """One exit, then several from the plainest on, as in the report."""
    found = {(row["loss"], row["exits"], row["exit_costs"]) for row in rows}
    named = [Variant(_name(*each), *each) for each in found]
    order = [ONE, PLAIN, *NAMES.values()]
    return sorted(named, key=lambda each: (order.index(each.name), each.loss))


def _name(loss: str, exits: str, exit_costs: str) -> str:
    if loss == "cross-entropy":
        return ONE if exits == "1" else PLAIN
    return NAMES["soft" if loss == "soft-labels" else exit_costs]


def by_exit(rows: Sequence[Row]) -> str:
    """The three measures of each variant at each exit, means with 95 % intervals."""
    lines = [["trained by", "exit", "multiplications (millions)", *_heads(" (%)")]]
    for name, number, here in _each_exit(rows):
        work = mean_interval(_by_seed(here, "work").values())
        shown = "" if work is None else f"{work.value / 1e6:.1f}"
        means = [mean_interval(_by_seed(here, measure).values()) for measure, _, _ in MEASURES]
        lines.append([name, number, shown, *(as_text(mean, ".2f") for mean in means)])
    return f"{in_markdown(lines)}\n{trained(rows)}"


def differences(rows: Sequence[Row]) -> str:
    """One variant less another at the same exit of the same repetition, in points."""
    at = {(name, number): here for name, number, here in _each_exit(rows)}
    places = sorted({number for name, number in at if name == PLAIN})
    growing, final = NAMES["text"], NAMES["same"]
    pairs = [(each.name, PLAIN) for each in variants(rows) if each.name not in (ONE, PLAIN)]
    compared = [(one, other, n, n) for one, other in [*pairs, (growing, final)] for n in places]
    compared += [(PLAIN, ONE, n, ONLY) for n in places[-1:]]
    lines = [["trained by", "compared with", "exit", *_heads("")]]
    for one, other, own, others in compared:
        after, before = at.get((one, own), []), at.get((other, others), [])
        cells = [_judged_change(after, before, measure) for measure, _, _ in MEASURES]
        if after and before:
            lines.append([one, other, own, *cells])
    return in_markdown(lines)


def _judged_change(after: Sequence[Row], before: Sequence[Row], measure: str) -> str:
    """The difference with its interval, and whether it is more than chance."""
    change = _change(after, before, measure)
    shown = as_text(change, "+.2f")
    if change is None or math.isnan(change.low):
        return shown
    # More errors inside the super-class are good, as a share of the errors; else less is.
    gain = change.value if measure == "errors_in_superclass_pct" else -change.value
    if change.low <= 0 <= change.high:
        return f"{shown}, may be chance"
    return f"{shown}, {'better' if gain > 0 else 'worse'}"


def stopping(rows: Sequence[Row]) -> str:
    """What stopping early saves and costs, by the threshold."""
    lines = [
        [
            "trained by",
            "threshold",
            "multiplications saved (%)",
            "cost of an answer",
            "total error (%)",
            "coarse error (%)",
        ]
    ]
    columns = (
        ("saved_pct", ".1f"),
        ("expected_cost", ".3f"),
        ("total_error_pct", ".2f"),
        ("coarse_error_pct", ".2f"),
    )
    for each in variants(rows):
        stops = [("", each.rows(rows, decision="least-cost"))]
        if each.name != ONE:
            stops = [(f"{at:g}", _stop(each, rows, at)) for at in THRESHOLDS]
        for shown, here in stops:
            cells = [
                as_text(mean_interval(_by_seed(here, measure).values()), form)
                for measure, form in columns
            ]
            if here:
                lines.append([each.name, shown, *cells])
    return in_markdown(lines)


def saving(rows: Sequence[Row]) -> str:
    """How much each variant saves before an answer costs 1 % more than by its last exit alone."""
    lines = [["trained by", "threshold", "multiplications saved (%)", "cost of an answer"]]
    for each in variants(rows):
        if each.name == ONE:
            continue
        whole = mean_interval(_by_seed(_stop(each, rows, 0.0), "expected_cost").values())
        most: list[str] = []
        for threshold in sorted({float(r["threshold"]) for r in rows if r["threshold"]}):
            here = _stop(each, rows, threshold)
            cost = mean_interval(_by_seed(here, "expected_cost").values())
            if whole and cost and cost.value <= (1 + COSTLIER / 100) * whole.value:
                saved = mean_interval(_by_seed(here, "saved_pct").values())
                most = [f"{threshold:g}", as_text(saved, ".1f"), f"{cost.value:.3f}"]
        if whole and most:
            most[-1] += f", at the last exit {whole.value:.3f}"
            lines.append([each.name, *most])
    return in_markdown(lines)


def seconds(rows: Sequence[Row]) -> str:
    """Seconds beside multiplications, of candidates that took turns."""
    columns = {
        "what": "",
        "stop_at_1_pct": "stop at exit 1 (%)",
        "stop_at_2_pct": "stop at exit 2 (%)",
        "saved_pct": "multiplications saved (%)",
        "times_last": "seconds, by those of all to the last exit",
        "times_one": "seconds, by those of the network with one exit",
    }
    table = in_markdown(
        [list(columns.values()), *([row[name] for name in columns] for row in rows)]
    )
    return (
        table
        if not rows
        else f"{table}\n{int(rows[0]['images']):,} images, {rows[0]['hardware']}.\n"
    )


def _each_exit(rows: Sequence[Row]) -> Iterator[tuple[str, str, list[Row]]]:
    """Each variant at each exit, by the most probable label."""
    for each in variants(rows):
        if each.name == ONE:
            yield each.name, ONLY, each.rows(rows, decision="argmax")
            continue
        for number in range(1, int(each.exits) + 1):
            here = each.rows(rows, decision="argmax", exit=str(number))
            yield each.name, str(number), here


def _heads(after: str) -> list[str]:
    return [f"{called}{after}" for _, called, _ in MEASURES]


def _stop(each: Variant, rows: Sequence[Row], threshold: float) -> list[Row]:
    return each.rows(rows, decision="early-exit", threshold=str(threshold))


def _by_seed(rows: Iterable[Row], measure: str) -> dict[int, float]:
    found = {int(row["seed"]): float(row[measure] or math.nan) for row in rows}
    return {seed: value for seed, value in found.items() if not math.isnan(value)}


def _change(after: Sequence[Row], before: Sequence[Row], measure: str) -> Interval | None:
    return paired_interval(_by_seed(after, measure), _by_seed(before, measure))


PAGE = Page(
    DOCS / "exits.md",
    {
        "by-exit": Source(ROWS, by_exit),
        "differences": Source(ROWS, differences),
        "stopping": Source(ROWS, stopping),
        "saving": Source(ROWS, saving),
        "seconds": Source(RESULTS / "exit_seconds.csv", seconds),
    },
)


if __name__ == "__main__":
    main()
