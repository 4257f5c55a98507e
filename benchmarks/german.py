"""Statlog's German credit by its official costs: a bad applicant accepted 5, a good one refused 1.

    python -m benchmarks.german [--data-dir DIR] [--repetitions 10]

10-fold cross-validation, repeated with other folds. Every choice is made inside the training part
of a fold (`benchmarks.credit`). Published in Statlog (Michie, Spiegelhalter, Taylor 1994), by one
10-fold cross-validation: linear discriminant 0.535, logistic discriminant 0.538, CART 0.613, always
"bad" 0.700, C4.5 0.985.
"""

from __future__ import annotations

from benchmarks import cost_tables
from benchmarks.credit import Method, Table, Training, parsed, repeated, rows_of
from benchmarks.record import write
from untrue.lab.data.tables import load_table

STRENGTHS = (0.01, 0.1, 1.0)
ALPHAS = (0.2, 0.4, 0.6)
LOGISTIC = Training("logistic regression", settings=STRENGTHS)
WEIGHTED = Training("logistic regression", "weighted", settings=STRENGTHS)
LINEAR = Training("BilinearClassifier, linear", "bilinear", settings=(0.0, 0.4))
TREES = Training("LightGBM")
TREES_WEIGHTED = Training("LightGBM", "weighted")
BILINEAR = Training("LightGBM", "bilinear", settings=ALPHAS)
LOG_BILINEAR = Training("LightGBM", "log-bilinear", settings=ALPHAS)
REFERENCE = "logistic regression, least cost"
TREES_REFERENCE = "LightGBM, least cost"

METHODS = (
    Method("logistic regression, argmax", LOGISTIC, "argmax"),
    Method(REFERENCE, LOGISTIC, "least cost"),
    Method("logistic regression, weighted examples", WEIGHTED, "argmax"),
    Method("BilinearClassifier, linear, argmax", LINEAR, "argmax"),
    Method("BilinearClassifier, linear, posterior", LINEAR, "posterior"),
    Method("LightGBM, argmax", TREES, "argmax"),
    Method(TREES_REFERENCE, TREES, "least cost"),
    Method("LightGBM, weighted examples", TREES_WEIGHTED, "argmax"),
    Method("LightGBM, bilinear, argmax", BILINEAR, "argmax"),
    # With two classes least cost on the bilinear loss's own probabilities gives the same answers:
    # where both cost the same, its link moves nothing.
    Method("LightGBM, bilinear, posterior", BILINEAR, "posterior"),
    Method("LightGBM, log-bilinear, argmax", LOG_BILINEAR, "argmax"),
    Method("LightGBM, log-bilinear, least cost", LOG_BILINEAR, "least cost"),
    Method("LightGBM, log-bilinear, posterior", LOG_BILINEAR, "posterior"),
)
# Each method beside the free rule of the same learner.
TWINS = {
    method.name: TREES_REFERENCE if method.training.learner == TREES.learner else REFERENCE
    for method in METHODS
    if method.name not in (REFERENCE, TREES_REFERENCE)
}


def main() -> None:
    options = parsed(__doc__)
    table = Table(load_table("german", options.data_dir))
    costs = repeated(table, METHODS, options.repetitions, options.folds)
    more = {"folds": options.folds}
    rows = rows_of(METHODS, costs, REFERENCE, digits=4, more=more, twins=TWINS)
    for row in rows:
        print(f"{row['method']:<42} {row['mean_cost']:.3f} [{row['low']:.3f}, {row['high']:.3f}]")
    print(write("german", rows))
    print(cost_tables.update())


if __name__ == "__main__":
    main()
