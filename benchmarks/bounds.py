"""How often four upper bounds of 95 % on the expected cost lie above its true value.

Simulated data sets of three classes: an answer is wrong at a given rate, each of the six mistakes
is as likely, one costs 20 and the others 1. Student's bound, the percentile bootstrap, the gamma
bound for weighted rare counts (Fay, Feuer, 1997) and the bound that budgets use, by betting.
Run: `python -m benchmarks.bounds`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from benchmarks import record
from untrue.metrics.betting import cost_bound

CASES = ((0.002, 1_000), (0.02, 200), (0.02, 1_000))
SETS, RESAMPLES, CONFIDENCE, GREATEST = 4_000, 500, 0.95, 20.0
NAMES = ("student", "bootstrap", "gamma", "betting")


def main() -> None:
    costs, rng = np.array([0.0, 1.0, GREATEST]), np.random.default_rng(0)
    rows: list[dict[str, object]] = []
    for rate, n in CASES:
        chances = np.array([1 - rate, rate * 5 / 6, rate / 6])
        truth = chances @ costs
        held, total = np.zeros(len(NAMES)), np.zeros(len(NAMES))
        for seen in rng.multinomial(n, chances, size=SETS):
            mean = seen @ costs / n
            spread = math.sqrt(seen @ (costs - mean) ** 2 / (n - 1) / n)
            student = mean + stats.t.ppf(CONFIDENCE, n - 1) * spread
            again = rng.multinomial(n, seen / n, size=RESAMPLES) @ costs / n
            bounds = np.array(
                [
                    student,
                    np.quantile(again, CONFIDENCE),
                    gamma_bound(seen[1:], costs[1:], n),
                    cost_bound(seen[1:], costs[1:], n, GREATEST, CONFIDENCE),
                ]
            )
            held += bounds >= truth
            total += bounds
        rows.append(
            {"errors": rate, "examples": n, "data_sets": SETS}
            | dict(zip(NAMES, (held / SETS).round(3).tolist(), strict=True))
            | {
                f"{name}_over_truth": round(float(mean), 2)
                for name, mean in zip(NAMES, total / SETS / truth, strict=True)
            }
        )
        print(rows[-1], flush=True)
    print(record.write("bounds", rows))


def gamma_bound(counts: npt.NDArray[np.int64], costs: npt.NDArray[np.float64], of: int) -> float:
    """As if one more mistake of the greatest cost had been seen; close, but not proven."""
    share = costs / GREATEST
    mean, variance = float(counts @ share) + 1.0, float(counts @ share**2) + 1.0
    quantile = float(special.gammaincinv(mean**2 / variance, CONFIDENCE)) * variance / mean
    return min(quantile / of, 1.0) * GREATEST


if __name__ == "__main__":
    main()
