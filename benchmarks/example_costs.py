"""Costs that vary by example: German credit, where a bad applicant costs by the credit's amount.

    python -m benchmarks.example_costs [--data-dir DIR] [--repetitions 10]

The table is real, its costs are built. In both designs a bad applicant who is accepted costs 75 %
of the credit (column attribute_5, in marks; 250 to 18,424). They differ in the other mistake, a
good applicant who is refused:

both grow   the interest, 8 % a year over the credit's duration (attribute_2, in months). Both costs
            grow with the amount, so that it cancels in the decision. The two shares make the ratio
            of the mean costs about that of the official ones, 5 to 1.
one fixed   200 marks, whatever the amount: the work and the business lost. Here the amount says how
            probable a bad applicant may be, from one half to nearly nothing.

The numbers were set before either design was run, and not tried out. Costs by class are the means
of the true class among the rows trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import cost_tables
from benchmarks.credit import Method, Table, Training, parsed, repeated, rows_of
from benchmarks.record import write
from untrue.lab.data.tables import TableData, load_table
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty

Cell = tuple[str | int, str | int]
BAD: Cell = ("bad", "good")
GOOD: Cell = ("good", "bad")
LOST, RATE, REFUSED = 0.75, 0.08, 200.0


@dataclass(frozen=True, slots=True)
class Design:
    """What mistakes cost: formulas of columns, and by class what has none."""

    name: str
    formulas: Mapping[Cell, str]
    fixed: Mapping[Cell, float]

    def each(self, data: TableData) -> ExamplePenalty:
        """The costs of each applicant."""
        columns = dict(zip(data.train.schema.numbers, data.train.numbers.T, strict=True))
        base = Penalty.from_rules(list(data.penalty.classes), dict(self.fixed))
        return FormulaPenalty(base, dict(self.formulas)).per_example(columns)


DESIGNS = (
    Design(
        "both grow",
        {BAD: f"{LOST} * attribute_5", GOOD: f"{RATE} * attribute_5 * attribute_2 / 12"},
        {},
    ),
    Design("one fixed", {BAD: f"{LOST} * attribute_5"}, {GOOD: REFUSED}),
)
STRENGTHS = (0.01, 0.1, 1.0)
ALPHAS = (0.2, 0.4, 0.6)
LOGISTIC = Training("logistic regression", settings=STRENGTHS)
TREES = Training("LightGBM")
WEIGHTED = {of: Training("LightGBM", "weighted", of) for of in ("class", "row")}
BILINEAR = {of: Training("LightGBM", "bilinear", of, ALPHAS) for of in ("class", "row")}
REFERENCE = "LightGBM, least cost by class"

METHODS = (
    Method("logistic regression, argmax", LOGISTIC, "argmax"),
    Method("logistic regression, least cost by class", LOGISTIC, "least cost", "class"),
    Method("logistic regression, least cost by row", LOGISTIC, "least cost", "row"),
    Method("LightGBM, argmax", TREES, "argmax"),
    Method(REFERENCE, TREES, "least cost", "class"),
    Method("LightGBM, least cost by row", TREES, "least cost", "row"),
    Method("LightGBM, examples weighted by class, argmax", WEIGHTED["class"], "argmax"),
    Method("LightGBM, examples weighted by row, argmax", WEIGHTED["row"], "argmax"),
    Method("LightGBM, bilinear by class, argmax", BILINEAR["class"], "argmax"),
    Method("LightGBM, bilinear by class, posterior, by class", BILINEAR["class"], "posterior"),
    Method("LightGBM, bilinear by class, posterior, by row", BILINEAR["class"], "posterior", "row"),
    Method("LightGBM, bilinear by row, argmax", BILINEAR["row"], "argmax"),
    Method("LightGBM, bilinear by row, posterior, by row", BILINEAR["row"], "posterior", "row"),
)
# By row, and the same method by class: what costs of each example add.
TWINS = {
    "logistic regression, least cost by row": "logistic regression, least cost by class",
    "LightGBM, least cost by row": REFERENCE,
    "LightGBM, examples weighted by row, argmax": "LightGBM, examples weighted by class, argmax",
    "LightGBM, bilinear by class, posterior, by row": (
        "LightGBM, bilinear by class, posterior, by class"
    ),
    "LightGBM, bilinear by row, argmax": "LightGBM, bilinear by class, argmax",
    "LightGBM, bilinear by row, posterior, by row": (
        "LightGBM, bilinear by class, posterior, by class"
    ),
}


def main() -> None:
    options = parsed(__doc__)
    data = load_table("german", options.data_dir)
    rows: list[dict[str, object]] = []
    for design in DESIGNS:
        rows += run_design(design, data, options.repetitions, options.folds)
    print(write("example_costs", rows))
    print(cost_tables.update())


def run_design(
    design: Design, data: TableData, repetitions: int, folds: int
) -> list[dict[str, object]]:
    """A row a method: its mean cost, and what it costs less or more than others."""
    each = design.each(data)
    means = each.mean(data.labels)
    shown = [round(float(means.cost(*cell)), 1) for cell in (BAD, GOOD)]
    print(f"{design.name}: mean costs {shown[0]:.0f} and {shown[1]:.0f}", flush=True)
    costs = repeated(Table(data, each), METHODS, repetitions, folds)
    more = {"folds": folds, "design": design.name, "accepted": shown[0], "refused": shown[1]}
    rows = rows_of(METHODS, costs, REFERENCE, digits=1, more=more, twins=TWINS)
    for row in rows:
        print(
            f"{row['method']:<50} {row['mean_cost']:.0f} [{row['low']:.0f}, {row['high']:.0f}]"
            f"  {row['difference']:+.0f} [{row['difference_low']:+.0f}, "
            f"{row['difference_high']:+.0f}]"
        )
    return rows


if __name__ == "__main__":
    main()
