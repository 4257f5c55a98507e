"""What estimators that are trained by costs share: how their answers are chosen."""

from __future__ import annotations

from untrue.array_types import FloatArray, IntArray
from untrue.checks import check_choice, check_number
from untrue.decision import decide, posterior
from untrue.errors import ArgumentError
from untrue.losses.registry import MixedName
from untrue.penalty import ExamplePenalty, Penalty


def check_decision(decision: str, alpha: float) -> None:
    """`decision` and `alpha` of an estimator that is trained by costs."""
    check_choice("decision", decision, ("argmax", "cost"))
    check_number("alpha", alpha, 0.0, 1.0)
    if decision == "cost" and alpha == 1:
        raise ArgumentError(
            '`alpha` must be below 1 with `decision="cost"`: at 1 the model no longer knows how '
            "probable the classes are."
        )


def least_cost(
    probs: FloatArray,
    costs: Penalty | ExamplePenalty,
    *,
    trained_by: Penalty | ExamplePenalty,
    alpha: float,
    loss: MixedName,
) -> IntArray:
    """The answers of least expected cost of a model trained by costs, which count once."""
    behind = posterior(probs, trained_by, alpha, loss) if alpha else probs
    return decide(behind, costs)
