"""The studies of docs/benchmarks.md in which the strength was chosen inside the training data.

Each loss and decision is set against the free rule of the same learner, in percent of its cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchmarks.pages import NOT_YET, Row, in_markdown, read
from benchmarks.recipe_studies import ARGMAX, LEAST_COST, POSTERIOR, cell
from benchmarks.record import RESULTS
from untrue.losses.registry import CROSS_ENTROPY, MIXED
from untrue.metrics.intervals import CONFIDENCE, Interval, student_quantile
from untrue.report.compare.settings import above, below

Method = tuple[str, str]


def table() -> str:
    """A row a loss and decision, a column a study."""
    columns: dict[str, dict[Method, Interval]] = {}
    for name, method, change in (*_kdd99(), *_credit()):
        columns.setdefault(name, {})[method] = change
    if not columns:
        return NOT_YET
    lines = [["loss, decision", *columns, "less, tied, more"]]
    methods = sorted({method for column in columns.values() for method in column})
    for method in methods:
        changes = [column.get(method) for column in columns.values()]
        known = [change for change in changes if change is not None]
        less, more = (sum(side(change) for change in known) for side in (below, above))
        counts = f"{less}, {len(known) - less - more}, {more}"
        lines.append([", ".join(method), *map(cell, changes), counts])
    return in_markdown(lines)


def _kdd99() -> Iterator[tuple[str, Method, Interval]]:
    """Of each loss and decision what the held-out kinds of attack chose; seeds are not paired."""
    chosen: dict[Method, Row] = {}
    for row in read(RESULTS / "kdd99.csv"):
        key = (row["loss"], row["decision"])
        if key not in chosen or float(row["held_out_cost"]) < float(chosen[key]["held_out_cost"]):
            chosen[key] = row
    free = chosen.pop((CROSS_ENTROPY, LEAST_COST), None)
    for key, row in chosen.items():
        if free is not None:
            yield "kdd99, LightGBM", _named(*key), _unpaired(row, free)


def _credit() -> Iterator[tuple[str, Method, Interval]]:
    """German credit, its own costs and those of each example, beside the same learner's free rule;
    differences are paired by applicant."""
    german = read(RESULTS / "german.csv")
    means = {row["method"]: float(row["mean_cost"]) for row in german}
    for row in german:
        if row.get("twin"):
            learner, method = _method(row["method"])
            change = _percent(row, "twin_difference", means[row["twin"]])
            yield f"german, {learner}", method, change
    for row in read(RESULTS / "example_costs.csv"):
        # By class: costs of each example are no part of a recipe.
        if "by row" in row["method"] or row["method"] == row["reference"]:
            continue
        by_class = row["method"].replace(", by class", "").replace(" by class", "")
        learner, method = _method(by_class)
        if learner in row["reference"]:
            base = float(row["mean_cost"]) - float(row["difference"])
            name = f"german, costs of each: {row['design']}"
            yield name, method, _percent(row, "difference", base)


def _method(name: str) -> tuple[str, Method]:
    """The learner, and the loss with the decision, of a method of `benchmarks.credit`.

    >>> _method("LightGBM, bilinear, posterior")
    ('LightGBM', ('bilinear', 'posterior'))
    """
    learner, *rest = name.split(", ")
    if learner == "BilinearClassifier":
        learner, rest = "linear", ["bilinear", *rest[1:]]
    if learner == "logistic regression":
        learner = "linear"
    loss: str | None = next((each for each in MIXED if each in rest), None)
    if loss is None:
        loss = "examples weighted by cost" if "weighted" in " ".join(rest) else CROSS_ENTROPY
    decision = next((each for each in (POSTERIOR, LEAST_COST) if each in rest), ARGMAX)
    return learner, (loss, decision)


def _named(loss: str, decision: str) -> Method:
    return loss, ARGMAX if decision == "argmax" else decision


def _percent(row: Row, name: str, base: float) -> Interval:
    names = (name, f"{name}_low", f"{name}_high")
    value, low, high = (float(row[each]) * 100 / base for each in names)
    return Interval(value, low, high, CONFIDENCE)


def _unpaired(row: Row, free: Row) -> Interval:
    """The difference of two means over seeds, by the fewer degrees of freedom of the two."""
    seeds, base = int(row["seeds"]), float(free["test_cost"])
    value = 100 * (float(row["test_cost"]) / base - 1)
    spread = math.hypot(float(row["test_cost_sd"]), float(free["test_cost_sd"]))
    half = 100 / base * student_quantile(seeds - 1) * spread / math.sqrt(seeds)
    return Interval(value, value - half, value + half, CONFIDENCE)
