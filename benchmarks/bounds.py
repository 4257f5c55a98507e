"""How often three upper bounds of 95 % on the expected cost lie above its true value.

Simulated data sets of three classes: an answer is wrong at a given rate, each of the six mistakes
is as likely, one costs 20 and the others 1. Student's bound, the percentile bootstrap and
the bound that budgets use. Run: `python -m benchmarks.bounds`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from benchmarks import record
from untrue import Budget, Penalty

CASES = ((0.002, 1_000), (0.02, 200), (0.02, 1_000))
SETS, RESAMPLES, CONFIDENCE, DEAR = 4_000, 500, 0.95, 20.0


def main() -> None:
    budget = Budget.parse("expected cost <= 1").resolve(
        Penalty.from_rules(["a", "b", "c"], {("a", "b"): DEAR}, default=1.0)
    )
    costs, rng = np.array([0.0, 1.0, DEAR]), np.random.default_rng(0)
    rows: list[dict[str, object]] = []
    for rate, n in CASES:
        chances = np.array([1 - rate, rate * 5 / 6, rate / 6])
        truth = chances @ costs
        held = np.zeros(3)
        for right, cheap, costly in rng.multinomial(n, chances, size=SETS):
            seen = np.array([right, cheap, costly])
            mean = seen @ costs / n
            spread = math.sqrt(seen @ (costs - mean) ** 2 / (n - 1) / n)
            student = mean + stats.t.ppf(CONFIDENCE, n - 1) * spread
            again = rng.multinomial(n, seen / n, size=RESAMPLES) @ costs / n
            # Only how many of each cost counts: all cheap mistakes may stand in one cell.
            confusion = np.array([[right, costly, cheap], [0, 0, 0], [0, 0, 0]])
            bounds = (
                student,
                np.quantile(again, CONFIDENCE),
                budget.upper(confusion, confidence=CONFIDENCE),
            )
            held += np.array(bounds) >= truth
        shares = (held / SETS).round(3).tolist()
        rows.append(
            {"errors": rate, "examples": n, "data_sets": SETS}
            | dict(zip(("student", "bootstrap", "gamma"), shares, strict=True))
        )
        print(rows[-1], flush=True)
    print(record.write("bounds", rows))


if __name__ == "__main__":
    main()
