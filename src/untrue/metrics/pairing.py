"""Two sets of answers to the same questions: what changed, with paired bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.metrics.intervals import CONFIDENCE, Interval, percentile_interval
from untrue.metrics.resampling import draw_counts
from untrue.penalty import ExamplePenalty, Penalty

STEPS = 1024


@dataclass(frozen=True, slots=True)
class PairedChange:
    """After minus before, over the `n` examples that both answer.

    changed         how many answers differ
    accuracy        difference of the shares that are right
    expected_cost   difference of the mean costs
    zone_errors     difference of the errors that cost more than `above`
    """

    n: int
    changed: int
    accuracy: Interval
    expected_cost: Interval
    zone_errors: Interval

    def as_dict(self) -> dict[str, dict[str, float]]:
        """The three differences, for JSON."""
        parts = ("accuracy", "expected_cost", "zone_errors")
        return {name: getattr(self, name).as_dict() for name in parts}


def paired_change(
    true: IntArray,
    before: IntArray,
    after: IntArray,
    penalty: Penalty | ExamplePenalty,
    *,
    above: float,
    resamples: int = 1000,
    seed: int = 0,
) -> PairedChange:
    """Compare answers (N,) by class position; -1 abstains.

    Under costs of each example, what is in the zone goes by the means of the true classes.

    Examples are drawn again with both their answers. Examples that change alike are drawn as
    one: a resample is one multinomial draw.
    """
    both = (before >= 0) & (after >= 0)
    n, k = int(both.sum()), penalty.n_classes
    rows = np.flatnonzero(both & (before != after))
    if isinstance(penalty, ExamplePenalty):
        own, by_class = penalty.take(rows), penalty.mean(true)
        answers = (true[rows].astype(np.int64), before[rows], after[rows])
        change = own.costs(answers[0], answers[2]) - own.costs(answers[0], answers[1])
        counts = np.ones(len(rows), dtype=np.int64)
    else:
        code = (true[rows].astype(np.int64) * k + before[rows]) * k + after[rows]
        code, counts = np.unique(code, return_counts=True)
        answers, by_class = (code // (k * k), code // k % k, code % k), penalty
        change = penalty.cost(answers[0], answers[2]) - penalty.cost(answers[0], answers[1])
    table, counts = _kinds(*answers, counts, np.asarray(change, np.float64), by_class, above)
    # The examples whose answer stays are one more kind, without a difference.
    table = np.vstack([table, np.zeros((1, 3))])
    counts = np.append(counts, n - len(rows)).astype(np.int64)
    rng = np.random.default_rng(seed)
    drawn = np.concatenate(
        [np.empty((0, 3)), *(block @ table for block in draw_counts(counts, resamples, rng))]
    )
    scale = np.array([1 / n, 1 / n, 1.0] if n else [np.nan] * 3)
    values = counts @ table * scale
    found = [
        percentile_interval(float(values[m]), drawn[:, m] * scale[m], CONFIDENCE) for m in range(3)
    ]
    return PairedChange(n, len(rows), *found)


def _kinds(
    true: IntArray,
    before: IntArray,
    after: IntArray,
    counts: IntArray,
    change: FloatArray,
    penalty: Penalty,
    above: float,
) -> tuple[FloatArray, IntArray]:
    """The differences (m, 3) that occur in right answers, cost and costly errors; how often.

    change: what the answer after costs more than that before
    """
    right = (after == true).astype(np.int64) - (before == true)
    costly = (penalty.cost(true, after) > above).astype(np.int64)
    costly -= penalty.cost(true, before) > above
    step = np.unique(change, return_inverse=True)[1]
    if step.size and step.max() >= STEPS:
        # Real-valued costs make every change its own kind: those that are all but equal are drawn
        # as one, with their mean.
        low, high = change.min(), change.max()
        step = np.minimum((change - low) / (high - low) * STEPS, STEPS - 1).astype(np.int64)
    kind = (step * 3 + right + 1) * 3 + costly + 1
    _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
    times = np.bincount(kind, counts, len(first))
    mean = np.bincount(kind, counts * change, len(first)) / times
    table = np.stack([right[first], mean, costly[first]], axis=1)
    return np.asarray(table, dtype=np.float64), times.astype(np.int64)
