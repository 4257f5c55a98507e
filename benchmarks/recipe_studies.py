"""What `untrue compare` found of each recipe, a comparison at a time.

A recipe is a loss, its strength and a decision. It is set against the free rule: cross-entropy,
calibrated, decided by least expected cost. Rows are those committed as
docs/comparison/NAME/rows.csv: a folder more is a comparison more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.pages import DOCS, Row, read
from untrue.losses.registry import CROSS_ENTROPY, label_of
from untrue.metrics.intervals import Interval, paired_interval
from untrue.report.compare.settings import above, below

COMPARED = DOCS / "comparison"
# Fewer repetitions have intervals that hold everything: such a comparison is shown, not counted.
LEAST_REPETITIONS = 3
LEAST_COMPARISONS = 3
# Test over training examples where each repetition draws another test part (`mean_interval`).
OVERLAP = {"german": 200 / 800, "german-network": 200 / 800}
# What `untrue compare` calls a decision, and the words here. All by cost are calibrated.
DECISIONS = {
    "argmax": "most probable",
    "least-cost-calibrated": "least cost",
    "posterior": "posterior",
}
ARGMAX, LEAST_COST, POSTERIOR = DECISIONS.values()


@dataclass(frozen=True, slots=True)
class Recipe:
    """strength: of the loss, as text; empty for cross-entropy."""

    loss: str
    strength: str
    decision: str

    def __str__(self) -> str:
        return f"{label_of(self.loss)} {self.strength}".strip() + f", {self.decision}"


PLAIN, FREE = (Recipe(CROSS_ENTROPY, "", decision) for decision in (ARGMAX, LEAST_COST))


@dataclass(frozen=True, slots=True)
class Study:
    """A comparison: each recipe's cost beside the free rule's, in percent of it.

    best: recipes that no other beats there beyond its interval
    """

    name: str
    repetitions: int
    changes: Mapping[Recipe, Interval]
    best: frozenset[Recipe] = frozenset()

    @property
    def counted(self) -> bool:
        return self.repetitions >= LEAST_REPETITIONS


def studies() -> list[Study]:
    """The comparisons whose rows are there."""
    found = (compared(path.parent.name, read(path)) for path in sorted(COMPARED.glob("*/rows.csv")))
    return [study for study in found if study is not None]


def compared(name: str, rows: Iterable[Row]) -> Study | None:
    """A comparison by its rows; None where the free rule is not among them."""
    costs: dict[Recipe, dict[str, float]] = {}
    for row in rows:
        if row["decision"] in DECISIONS and row["expected_cost"]:
            recipe = _recipe(row)
            costs.setdefault(recipe, {})[row["seed"]] = float(row["expected_cost"])
    free = costs.get(FREE)
    if free is None:
        return None
    whole = {recipe: by_seed for recipe, by_seed in costs.items() if by_seed.keys() == free.keys()}
    overlap = OVERLAP.get(name, 0.0)
    least = min(whole.values(), key=lambda by_seed: sum(by_seed.values()))
    return Study(
        name,
        len(free),
        {recipe: _relative(by_seed, free, overlap) for recipe, by_seed in whole.items()},
        frozenset(r for r, by in whole.items() if not above(_relative(by, least, overlap))),
    )


def recommended(found: Sequence[Study]) -> Recipe | None:
    """The recipe that `untrue fit` should use without being asked; None where too little is known.

    Of those that were tried in most of the counted comparisons, at least three, and are best or
    tied in most of these: one that costs less than the free rule, beyond its interval, in at least
    two and more in none; of several the one that costs least in the mean. Where there is none, the
    free rule: it needs no training. (Not in every comparison: trees have few losses, and the first
    rows were made before there was a posterior.)
    """
    counted = [study for study in found if study.counted]
    if len(counted) < LEAST_COMPARISONS:
        return None
    tried = Counter(recipe for study in counted for recipe in study.changes)
    able = [
        recipe
        for recipe, times in tried.items()
        if times >= LEAST_COMPARISONS
        and 2 * times > len(counted)
        and 2 * sum(recipe in study.best for study in counted) > times
        and len(where(recipe, counted, below)) >= 2
        and not where(recipe, counted, above)
    ]
    return min(able, key=lambda recipe: mean_change(recipe, counted), default=FREE)


def _recipe(row: Row) -> Recipe:
    strength = row["strength"] or (row["alpha"] if float(row["alpha"]) else "")
    shown = f"{float(strength):g}" if strength else ""
    return Recipe(row["loss"], shown, DECISIONS[row["decision"]])


def _relative(costs: Mapping[str, float], base: Mapping[str, float], overlap: float) -> Interval:
    """The paired difference in percent of the mean of `base`."""
    change = paired_interval(costs, base, overlap=overlap)
    assert change is not None
    share = 100 * len(base) / sum(base.values())
    low, high = share * change.low, share * change.high
    return Interval(share * change.value, low, high, change.confidence)


def where(recipe: Recipe, found: Sequence[Study], side: Callable[[Interval], bool]) -> list[Study]:
    """The comparisons in which a recipe's change lies on one side of 0."""
    return [s for s in found if recipe in s.changes and side(s.changes[recipe])]


def mean_change(recipe: Recipe, found: Sequence[Study]) -> float:
    """Over the comparisons that a recipe was tried in, in percent."""
    known = [study.changes[recipe].value for study in found if recipe in study.changes]
    return sum(known) / len(known) if known else math.inf


def plain(change: Interval) -> str:
    """In percent, with the interval: "-2.8 ± 2.6"."""
    if math.isnan(change.low):
        return f"{change.value:+.1f}"
    if math.isclose(change.high - change.value, change.value - change.low, rel_tol=1e-6):
        return f"{change.value:+.1f} ± {change.high - change.value:.1f}"
    return f"{change.value:+.1f} ({change.low:+.1f} to {change.high:+.1f})"


def cell(change: Interval | None) -> str:
    """The same for a table, in bold where it is beyond its interval."""
    if change is None:
        return ""
    return f"**{plain(change)}**" if below(change) or above(change) else plain(change)
