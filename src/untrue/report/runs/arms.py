"""Rows gathered into arms: one setting over all its repetitions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass

from untrue.metrics import Interval
from untrue.metrics.intervals import mean_interval, paired_interval
from untrue.report.runs.rows import Row, Rule


@dataclass(frozen=True, slots=True)
class Arm:
    """What is varied. Rows that differ only in the repetition belong to one arm."""

    loss: str
    alpha: float
    decision: Rule
    costs: str = ""
    zone_size: int | None = None
    small_count: int | None = None
    knob: str = ""
    strength: float | None = None
    exits: int = 1
    exit_costs: str = "same"
    exit: int | None = None
    threshold: float | None = None
    cost_share: float | None = None

    @property
    def is_baseline(self) -> bool:
        """Trained with plain cross-entropy (and decided either way)."""
        return self.loss == "cross-entropy"

    @property
    def trained_by(self) -> str:
        return "baseline" if self.is_baseline else self.loss

    @property
    def decided(self) -> str:
        """How its answers are chosen, in words."""
        return "least cost" if self.decision == "least-cost" else "most probable"

    @property
    def name(self) -> str:
        """'baseline', 'bilinear, alpha 0.9, least-cost decision'."""
        parts = [self.trained_by]
        if not self.is_baseline:
            parts.append(f"alpha {self.alpha:g}")
        if self.decision == "least-cost":
            parts.append("least-cost decision")
        return ", ".join(parts)


def baseline_arm(*, zone_size: int | None = None, small_count: int | None = None) -> Arm:
    """What other arms are compared with: cross-entropy, most probable label."""
    return Arm("cross-entropy", 0.0, "argmax", zone_size=zone_size, small_count=small_count)


class Arms:
    """The arms of one sweep, with means and paired differences of any measure of `Row`.

    overlap: of the repetitions, as in `mean_interval`.
    """

    def __init__(self, rows: Iterable[Row], *, overlap: float = 0.0) -> None:
        self._overlap = overlap
        self._rows: dict[Arm, dict[int, Row]] = {}
        names = [field.name for field in dataclasses.fields(Arm)]
        for row in rows:
            arm = Arm(**{name: getattr(row, name) for name in names})
            self._rows.setdefault(arm, {})[row.seed] = row

    def select(self, **wanted: object) -> list[Arm]:
        """The arms with these values, baselines first, then by loss, alpha and rule."""
        given = wanted.items()
        fitting = [a for a in self._rows if all(getattr(a, name) == v for name, v in given)]
        return sorted(fitting, key=_order)

    def values(self, name: str) -> list[float]:
        """The values of `alpha`, `zone_size` or `small_count` that occur, sorted."""
        return sorted({v for arm in self._rows if (v := getattr(arm, name)) is not None})

    def losses(self) -> list[str]:
        """The losses other than the baseline's."""
        return sorted({arm.loss for arm in self._rows if not arm.is_baseline})

    def baseline(self, arm: Arm) -> Arm:
        """What an arm is compared with: the baseline of the same zone size and small classes."""
        return baseline_arm(zone_size=arm.zone_size, small_count=arm.small_count)

    def least_cost(self, **wanted: object) -> Arm | None:
        """The baseline decided by least expected cost."""
        found = self.select(loss="cross-entropy", decision="least-cost", **wanted)
        return found[0] if found else None

    def repetitions(self, arm: Arm) -> int:
        return len(self._rows.get(arm, {}))

    def mean(self, arm: Arm, measure: str) -> Interval | None:
        """Mean and interval over the repetitions; None when there are none."""
        return mean_interval(self.by_seed(arm, measure).values(), overlap=self._overlap)

    def before(self, arm: Arm, measure: str) -> Interval | None:
        """The mean of the baseline over the repetitions that an arm has."""
        found = self.by_seed(self.baseline(arm), measure)
        kept = [value for seed, value in found.items() if seed in self._rows.get(arm, {})]
        return mean_interval(kept, overlap=self._overlap)

    def value(self, arm: Arm, measure: str, *, absent: float = math.inf) -> float:
        """The mean alone; `absent` when there are no repetitions."""
        found = self.mean(arm, measure)
        return absent if found is None else found.value

    def change(self, arm: Arm, measure: str, *, to: Arm | None = None) -> Interval | None:
        """Difference to the baseline (or to `to`) of the same repetition: mean and interval."""
        base = to or self.baseline(arm)
        if base == arm:
            return None
        after, before = (self.by_seed(each, measure) for each in (arm, base))
        return paired_interval(after, before, overlap=self._overlap)

    def by_seed(self, arm: Arm, measure: str) -> dict[int, float]:
        """The measure by repetition."""
        found = {seed: getattr(row, measure) for seed, row in self._rows.get(arm, {}).items()}
        return {seed: float(value) for seed, value in found.items() if value is not None}


def _order(arm: Arm) -> tuple[object, ...]:
    return (
        arm.zone_size or 0,
        -1 if arm.small_count is None else arm.small_count,
        not arm.is_baseline,
        arm.loss,
        arm.alpha,
        arm.strength or 0.0,
        arm.decision,
        arm.cost_share or 1.0,
        arm.costs,
        arm.exits,
        arm.exit_costs,
        arm.exit or 0,
        -1.0 if arm.threshold is None else arm.threshold,
    )
