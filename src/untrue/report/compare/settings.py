"""The settings of a comparison, which of them dominate others, and the pick of a strength.

A *setting* is an `Arm`: a method, its strength and its decision rule. The reference is `ce+cost`:
plain cross-entropy decided by least expected cost, from calibrated probabilities where there are
any. It needs no other training, so whatever costs training has to beat it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from untrue.lab.records import PenaltySpec
from untrue.losses import registry
from untrue.metrics import Interval
from untrue.metrics.intervals import CONFIDENCE, mean_interval, paired_interval
from untrue.report.runs.arms import Arm, Arms
from untrue.report.runs.rows import Collected

TOTAL, COST = "total_error_pct", "expected_cost"
# Of the validation examples, by which settings are chosen.
VALIDATION_ERROR, VALIDATION_COST = "validation_error_pct", "validation_cost"
CE = registry.CROSS_ENTROPY
DECISIONS = {
    "argmax": "most probable",
    "least-cost": "least cost",
    "least-cost-calibrated": "least cost, calibrated",
    "softened-cost": "least cost, calibrated, costs at {:.0%}",
    "posterior": "least cost on the posterior",
}


@dataclass(frozen=True, slots=True)
class CostlyMeasure:
    """The mistakes the costs are about: what to call them, and which measure of `Row` counts them.

    short: the name in a column. form: how the values are printed. note: what they are, if the
    name does not say it.
    """

    measure: str
    name: str
    short: str
    unit: str
    form: str
    note: str = ""

    @property
    def label(self) -> str:
        return f"{self.name} ({self.unit})"


COSTLY = {
    "zone": CostlyMeasure(
        "zone_errors", "errors in the zone", "zone errors", "test examples", ".1f"
    ),
    "groups": CostlyMeasure(
        *("coarse_error_pct", "coarse error", "coarse error", "%", ".2f"),
        note="Coarse error: the answer is in the wrong super-class.",
    ),
    "matrix": CostlyMeasure(
        *("zone_errors", "costly errors", "costly errors", "test examples", ".1f"),
        note="Costly errors: the mistakes that cost more than the cheapest kind.",
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """A method with the setting that stands for each repetition, picked without its test examples.

    A repetition whose validation examples were not scored has none.
    """

    method: str
    by_seed: dict[int, Arm]

    @property
    def settings(self) -> Counter[Arm]:
        """How often each setting was picked."""
        return Counter(self.by_seed.values())


class Comparison:
    """A comparison's settings. Means, differences and the frontier are over `seeds`.

    seeds: the repetitions that all are judged on. With random zones every repetition has another
    zone, so means over different repetitions do not compare. Of the repetitions with the most
    finished settings first, as many are taken as make (repetitions x settings that have them all)
    largest. settings: those that have them all. behind: the others.
    """

    def __init__(self, collected: Collected) -> None:
        self.collected = collected
        self.overlap = collected.overlap
        self.all = Arms(collected.rows, overlap=self.overlap)
        by_setting = {arm: set(self.all.by_seed(arm, TOTAL)) for arm in self.all.select()}
        self.seeds = _shared(by_setting.values())
        kept = {arm for arm, seeds in by_setting.items() if seeds >= self.seeds}
        self.settings = [arm for arm in by_setting if arm in kept]
        self.behind = [arm for arm in by_setting if arm not in kept]
        judged = (row for row in collected.rows if row.seed in self.seeds)
        self.arms = Arms(judged, overlap=self.overlap)
        self._edges: dict[str, tuple[list[Arm], list[Arm]]] = {}

    @cached_property
    def costs(self) -> PenaltySpec:
        """What the settings are judged by (of the first repetition, when zones are drawn)."""
        return next(spec for config in self.collected.sweep.configs for spec in config.score_on)

    @cached_property
    def costly(self) -> CostlyMeasure:
        return COSTLY[self.costs.kind]

    @property
    def cost_form(self) -> str:
        """How expected costs are printed: three digits after the point, four where they matter."""
        plain = self.plain or self.settings[0]
        return ".3f" if self.value(plain, COST) >= 1 else ".4f"

    @property
    def measures(self) -> tuple[str, str, str]:
        """What the tables have of each setting."""
        return COST, TOTAL, self.costly.measure

    @property
    def planes(self) -> tuple[str, str]:
        """What total error is set against."""
        return (COST, self.costly.measure)

    @cached_property
    def plain(self) -> Arm | None:
        """Cross-entropy with the most probable label."""
        return self._ce("argmax")

    @cached_property
    def reference(self) -> Arm | None:
        """`ce+cost`, calibrated if there is such a decision."""
        return self._ce("least-cost-calibrated") or self._ce("least-cost")

    @cached_property
    def raw(self) -> Arm | None:
        """`ce+cost` from raw probabilities, where the reference is the calibrated one."""
        found = self._ce("least-cost")
        return None if found == self.reference else found

    @cached_property
    def methods(self) -> list[str]:
        """The losses other than cross-entropy that have a setting, in the order they were made."""
        made = dict.fromkeys(config.loss for config in self.collected.sweep.configs)
        there = {arm.loss for arm in self.settings}
        return [loss for loss in made if loss in there and loss != CE]

    @cached_property
    def absent(self) -> list[str]:
        """Losses that were asked for and have no finished model."""
        done = {row.loss for row in self.collected.rows}
        asked = dict.fromkeys(config.loss for config in self.collected.sweep.configs)
        return [loss for loss in asked if loss not in done]

    @cached_property
    def waiting(self) -> list[str]:
        """Losses with finished models, but no setting that has all of `seeds`."""
        known = {CE, *self.methods}
        return list(dict.fromkeys(arm.loss for arm in self.behind if arm.loss not in known))

    def of(self, loss: str, decision: str | None = None) -> list[Arm]:
        """The settings of a loss, by strength."""
        return [a for a in self.settings if a.loss == loss and decision in (None, a.decision)]

    def pick(self, loss: str) -> Picked:
        """Of each repetition the setting of a loss that costs least on its validation examples."""
        costs = {arm: self.arms.by_seed(arm, VALIDATION_COST) for arm in self.of(loss)}
        by_seed = {}
        for seed in sorted(self.seeds):
            known = {arm: found[seed] for arm, found in costs.items() if seed in found}
            if known:
                by_seed[seed] = min(known, key=known.__getitem__)
        return Picked(loss, by_seed)

    def picked_values(self, picked: Picked, measure: str) -> dict[int, float]:
        """A measure by repetition."""
        found = {
            seed: self.arms.by_seed(arm, measure).get(seed) for seed, arm in picked.by_seed.items()
        }
        return {seed: value for seed, value in found.items() if value is not None}

    def picked_mean(self, picked: Picked, measure: str) -> Interval | None:
        return mean_interval(self.picked_values(picked, measure).values(), overlap=self.overlap)

    def picked_change(
        self,
        picked: Picked,
        measure: str,
        *,
        to: Arm | None = None,
        confidence: float = CONFIDENCE,
    ) -> Interval | None:
        """Paired difference to `ce+cost`, or to another setting."""
        base = to or self.reference
        if base is None:
            return None
        before = self.arms.by_seed(base, measure)
        after = self.picked_values(picked, measure)
        return paired_interval(after, before, confidence, overlap=self.overlap)

    def methods_against_reference(self) -> list[tuple[Picked, Interval]]:
        """Each method's pick with its paired difference in expected cost to `ce+cost`."""
        picked = [self.pick(loss) for loss in self.methods]
        return [(p, c) for p in picked if (c := self.picked_change(p, COST)) is not None]

    def dominates(self, one: Arm, other: Arm, measure: str, *, clearly: bool = False) -> bool:
        """Whether `one` is at least as good in total error and `measure`, and better in one.

        By the means over the shared repetitions. clearly: and in at least one of the two the
        paired difference is `below` zero.
        """
        changes = [self.arms.change(one, name, to=other) for name in (TOTAL, measure)]
        found = [change for change in changes if change is not None]
        if len(found) < 2 or any(change.value > 0 for change in found):
            return False
        if clearly:
            return any(map(below, found))
        return any(change.value < 0 for change in found)

    def frontier(self, measure: str) -> list[Arm]:
        """The settings that no other dominates, by the means; from the least total error on."""
        return self._edge(measure)[0]

    def near(self, measure: str) -> list[Arm]:
        """Off the frontier by the means, yet clearly dominated by none: they may belong to it."""
        return self._edge(measure)[1]

    def _edge(self, measure: str) -> tuple[list[Arm], list[Arm]]:
        if measure not in self._edges:
            on, near = [], []
            for arm in self.settings:
                above = [o for o in self.settings if self.dominates(o, arm, measure)]
                if not above:
                    on.append(arm)
                elif not any(self.dominates(o, arm, measure, clearly=True) for o in above):
                    near.append(arm)
            on.sort(key=lambda arm: (self.value(arm, TOTAL), self.value(arm, measure)))
            self._edges[measure] = on, near
        return self._edges[measure]

    def value(self, arm: Arm, measure: str) -> float:
        return self.arms.value(arm, measure)

    def _ce(self, decision: str) -> Arm | None:
        return next(iter(self.of(CE, decision)), None)


def method(loss: str) -> str:
    """The name of a loss in the comparison."""
    return registry.label_of(loss)


def strength(arm: Arm) -> str:
    """'alpha 0.5', 'beta 10', or nothing for a method without such a knob."""
    if arm.alpha:
        return f"alpha {arm.alpha:g}"
    return f"{arm.knob} {arm.strength:g}" if arm.strength is not None else ""


def decided(arm: Arm) -> str:
    """How the label was chosen. Where outputs are costs, there is only the loss's own decision."""
    own = registry.find(arm.loss).outputs == "costs" and arm.decision == "argmax"
    return "its own" if own else DECISIONS[arm.decision].format(arm.cost_share)


def without_method(arm: Arm) -> str:
    """A setting where its method is known: 'alpha 0.5, least cost'."""
    return ", ".join(filter(None, (strength(arm), decided(arm))))


def named(arm: Arm) -> str:
    """A setting in a sentence: 'bilinear (alpha 0.5, least cost)'."""
    return f"{method(arm.loss)} ({without_method(arm)})"


def below(change: Interval | None) -> bool:
    """Whether a difference lies below zero with all of its 95 % interval.

    Counts of a few errors are often the same in two or three repetitions; their interval then has
    no width, which is no evidence.
    """
    return change is not None and change.low < change.high < 0


def above(change: Interval | None) -> bool:
    """As `below`, on the other side."""
    return change is not None and 0 < change.low < change.high


def _shared(found: Iterable[set[int]]) -> set[int]:
    sets = list(found)
    counts = Counter(seed for seeds in sets for seed in seeds)
    order = sorted(counts, key=lambda seed: (-counts[seed], seed))
    tried = [set(order[: n + 1]) for n in range(len(order))]
    return max(tried, key=lambda t: len(t) * sum(seeds >= t for seeds in sets), default=set())
