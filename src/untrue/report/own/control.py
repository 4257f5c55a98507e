"""The page and the tables of `untrue control`."""

from __future__ import annotations

import shlex
from pathlib import Path

from untrue.budgets import DecisionRule, Guarantee, TestedRule
from untrue.report.document.figures import Axis, Curves, Point, Series
from untrue.report.document.page import Folded, Page, Part, Section
from untrue.report.document.tables import Cell, Column, Table
from untrue.report.own.measures import column_range, reading_section
from untrue.tools.deciding.controlled import ControlledFile


def budgets_table(rule: DecisionRule) -> Table:
    """Each budget with what was seen and its bound, next to the most probable class."""
    found = rule.guarantee
    return Table.of(
        f"Budgets on the {found.test_examples:,} examples of the test part",
        f"The upper bounds are of {100 * found.confidence:g} % each. What was tested is that all "
        "budgets hold together. Without the rule the most probable class is answered.",
        list(zip(found.verdicts, found.plain.rates, strict=True)),
        {
            Column("budget"): lambda row: str(row[0].budget),
            Column("errors", ",d"): lambda row: row[0].errors,
            Column("of", ",d"): lambda row: row[0].of,
            Column("rate"): lambda row: row[0].shown(row[0].rate),
            Column("upper bound"): lambda row: row[0].shown(row[0].upper),
            Column("rate without the rule"): lambda row: row[0].shown(row[1]),
        },
    )


def price_table(rule: DecisionRule) -> Table:
    """The rule and the most probable class, side by side."""
    chosen, plain = rule.guarantee.rule, rule.guarantee.plain
    rows: list[tuple[Cell, ...]] = [
        ("right answers (%)", 100 * plain.accuracy, 100 * chosen.accuracy),
        ("no answer (%)", 100 * plain.abstained, 100 * chosen.abstained),
    ]
    if by_cost(rule):
        rows.append(("cost of an example", plain.cost, chosen.cost))
    return Table(
        "The price",
        "Examples without an answer count as not right and cost nothing here.",
        (Column("what"), Column("without the rule", ".2f"), Column("with the rule", ".2f")),
        tuple(rows),
    )


def by_cost(rule: DecisionRule) -> bool:
    """Whether mistakes cost anything but the same."""
    return rule.penalty.cheapest != rule.penalty.greatest


def multipliers_table(rule: DecisionRule) -> Table:
    """How the rule decides: what each budget's mistakes count for."""
    return Table(
        "How the rule decides",
        "Least expected cost, from probabilities at a temperature of "
        f"{rule.temperature:.3g}, with the mistakes of each budget made costlier by the factors "
        "below.",
        (Column("budget"), Column("times as costly", ".3g")),
        tuple(
            (str(budget), multiplier)
            for budget, multiplier in zip(rule.budgets, rule.multipliers, strict=True)
        ),
    )


def path_figure(found: Guarantee, b: int) -> Curves:
    """The rate of one budget along the path of the chosen rule, in the order of the tests."""
    verdict = found.verdicts[b]
    cost = verdict.budget.kind == "cost"
    unit = 1.0 if cost else 100.0
    path = _path(found)
    chosen = found.rule
    points = [
        (each, Point(step, unit * each.rates[b], marked=each is chosen))
        for step, each in enumerate(path, start=1)
    ]
    series = [
        Series("passed", tuple(p for each, p in points if each.passed), style=3, joined=False),
        Series(
            "not reached or not passed",
            tuple(p for each, p in points if not each.passed),
            style=2,
            joined=False,
            hollow=True,
        ),
        Series(
            "limit",
            (Point(1, unit * verdict.limit), Point(len(path), unit * verdict.limit)),
            style=4,
            dashed=True,
        ),
    ]
    return Curves(
        f"{verdict.budget}",
        "Rules in the order in which they were tested, from the safest on. The first that did not "
        "pass ended it; the ringed one was taken.",
        Axis("rule, in the order of the tests"),
        Axis("cost of an example" if cost else "rate on the test part (%)", from_zero=True),
        tuple(each for each in series if each.points),
    )


def price_figure(found: Guarantee) -> Curves:
    """Right answers along the path."""
    path = _path(found)
    points = tuple(
        Point(step, 100 * each.accuracy, marked=each is found.rule)
        for step, each in enumerate(path, start=1)
    )
    plain = 100 * found.plain.accuracy
    return Curves(
        "Right answers along the path",
        "What the safer rules would have cost.",
        Axis("rule, in the order of the tests"),
        Axis("right answers (%)"),
        (
            Series("rules", points, style=1, joined=False),
            Series("most probable class", (Point(1, plain), Point(len(path), plain)), 0),
        ),
    )


def tested_table(found: Guarantee) -> Table:
    """Every rule that was counted, path by path."""
    several = any(each.path for each in found.tested)
    rows: list[tuple[Cell, ...]] = []
    for t, each in enumerate(found.tested):
        step = 1 + t - next(i for i, other in enumerate(found.tested) if other.path == each.path)
        rates = ", ".join(
            verdict.shown(rate) for rate, verdict in zip(each.rates, found.verdicts, strict=True)
        )
        rows.append(
            (
                f"{each.path + 1}.{step}" if several else f"{step}",
                ", ".join(f"{m:.3g}" for m in each.multipliers),
                rates,
                each.p_value,
                "yes" if each.passed else "no",
                100 * each.accuracy,
                100 * each.abstained,
            )
        )
    return Table(
        "Every rule of the paths",
        f"A rule passes if its p-value is at most {1 - found.confidence:.3g}"
        + (" over the number of paths" if several else "")
        + " and all before it on its path passed.",
        (
            Column("rule"),
            Column("times as costly"),
            Column("rates"),
            Column("p-value", ".2g"),
            Column("passed"),
            Column("right answers (%)", ".2f"),
            Column("no answer (%)", ".2f"),
        ),
        tuple(rows),
        strong=frozenset({found.chosen}),
    )


def tested_path(found: Guarantee) -> tuple[Part, ...]:
    """Each budget and the right answers along the path, and every rule in numbers."""
    paths = 1 + max(each.path for each in found.tested)
    parts: list[Part] = [path_figure(found, b) for b in range(len(found.verdicts))]
    if paths > 1:
        parts.insert(
            0,
            f"{paths} paths were tested, each at its share of alpha; this is the one of the "
            "rule that was taken.",
        )
    return (*parts, price_figure(found), Folded("Every rule in numbers", (tested_table(found),)))


def control_page(found: ControlledFile, file: Path) -> Page:
    """Budgets, price and path as a page; file: where the rule is."""
    rule = found.rule
    guarantee = rule.guarantee
    listed = " and ".join(f"`{budget}`" for budget in guarantee.budgets)
    held = "holds" if len(rule.budgets) == 1 else "hold, all together,"
    sections = [
        Section("What is guaranteed", (_promise(rule, file), budgets_table(rule))),
        Section("What it costs", (price_table(rule), multipliers_table(rule))),
        Section("The path that was tested", tested_path(guarantee)),
    ]
    if found.notes:
        sections.append(reading_section(found.notes))
    return Page(
        f"Decision rule from {found.source}",
        f"With {100 * guarantee.confidence:g} % confidence {listed} {held} for new cases like "
        f"these. {guarantee.price}",
        tuple(sections),
        (
            ("data", found.source),
            ("truth", found.truth),
            ("probabilities", column_range(found.columns)),
            (
                "examples",
                f"{guarantee.examples:,}: {guarantee.path_examples:,} chose the rules to test, "
                f"{guarantee.test_examples:,} tested them",
            ),
            ("seed of the split", str(guarantee.seed)),
            ("confidence", f"{100 * guarantee.confidence:g} %"),
            ("penalty", repr(rule.penalty)),
        ),
    )


def _promise(rule: DecisionRule, file: Path) -> str:
    sure = 100 * rule.guarantee.confidence
    return (
        "The true rate of every budget, on all cases like these and not only on those that were "
        f"seen, is within its limit; the procedure is wrong in at most {100 - sure:.3g} of 100 "
        "such files. New cases must come from where these came from. Check it on new cases with "
        f"their truth with `untrue audit decided.csv --rule {shlex.quote(str(file))}`."
    )


def _path(found: Guarantee) -> list[TestedRule]:
    """The rules of the path that the chosen one is on."""
    return [each for each in found.tested if each.path == found.rule.path]
