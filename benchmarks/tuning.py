"""How often `untrue tune` holds its word on examples it never saw: scikit-learn's digits.

For each seed: does the plain model keep "*->8 <= 1%" by its bound on the examples tuned on, and
does the tuned one keep the rate and the accuracy it was allowed to lose on the held-out part.
Run: `python -m benchmarks.tuning`.
"""

from __future__ import annotations

from sklearn.datasets import load_digits

from benchmarks import record
from untrue.tools.tuning.tune import tune

BUDGET, LIMIT = "*->8 <= 1%", 0.01
# Confidence, accuracy drop allowed in points, seeds.
CASES = ((0.95, 2.0, 40), (0.99, 4.0, 20))


def main() -> None:
    images, digits = load_digits(return_X_y=True)
    rows: list[dict[str, object]] = []
    for confidence, allowed, seeds in CASES:
        plain, rate, both, decision = 0, 0, 0, 0
        for seed in range(seeds):
            found = tune(
                images,
                digits,
                budgets=BUDGET,
                model="linear",
                epochs=12,
                learning_rate=5e-3,
                repetitions=3,
                confidence=confidence,
                max_accuracy_drop=allowed,
                seed=seed,
            )
            within = found.verdicts[0].held_out.rate <= LIMIT
            plain += found.trials[0].kept[0]
            rate += within
            both += within and found.drop <= allowed
            decision += found.trained == 0 and found.trial.setting.base != "argmax"
        rows.append(
            {
                "confidence": confidence,
                "drop_allowed_points": allowed,
                "seeds": seeds,
                "plain_keeps_it": plain,
                "rate_within": rate,
                "drop_within_too": both,
                "by_decision_alone": decision,
            }
        )
        print(rows[-1], flush=True)
    print(record.write("tuning", rows))


if __name__ == "__main__":
    main()
