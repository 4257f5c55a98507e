"""How sure the errors are, and whether they were made in training already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from untrue.report.document.tables import Cell, Column, Table
from untrue.report.runs.arms import Arm, Arms

CONFIDENCE = (
    ("zone_error_confidence_pct", "confidence of costly errors (%)", ".1f"),
    ("confident_zone_errors", "costly errors above 90 %", ".1f"),
    ("error_confidence_pct", "confidence of all errors (%)", ".1f"),
    ("confident_errors", "errors above 90 %", ".1f"),
)
ZONE = (
    ("train_error_pct", "training error (%)", ".2f"),
    ("total_error_pct", "test error (%)", ".2f"),
    ("train_zone_errors", "errors in the zone, training", ".1f"),
    ("zone_errors", "errors in the zone, test", ".1f"),
    ("train_zone_share_pct", "zone's share of the training errors (%)", ".1f"),
    ("zone_share_pct", "zone's share of the test errors (%)", ".1f"),
)
GROUPS = (
    ("train_error_pct", "training error (%)", ".2f"),
    ("total_error_pct", "test error (%)", ".2f"),
    ("train_coarse_error_pct", "coarse error, training (%)", ".2f"),
    ("coarse_error_pct", "coarse error, test (%)", ".2f"),
    ("train_errors_in_superclass_pct", "inside the super-class, training (%)", ".2f"),
    ("errors_in_superclass_pct", "inside the super-class, test (%)", ".2f"),
)


WHICH: dict[Column, Callable[[Arm], Cell]] = {
    Column("loss"): lambda arm: arm.trained_by,
    Column("alpha", "g"): lambda arm: arm.alpha,
}


def confidence_table(arms: Arms, chosen: Sequence[Arm], costly: str) -> Table | None:
    """How sure wrong answers are, by loss and alpha; None where that was not recorded.

    costly: what the costly errors are.
    """
    judged = [arm for arm in chosen if arms.mean(arm, "error_confidence_pct") is not None]
    if not judged:
        return None
    difference = partial(arms.change, measure=CONFIDENCE[0][0])
    return Table.of(
        f"How sure the errors are, {costly}",
        "Confidence: the probability a model gives to its own answer, the mean over its wrong "
        f"answers. Costly errors: {costly}. Differences are to the baseline of the same "
        "repetition. Means with 95 % intervals.",
        judged,
        {
            **WHICH,
            **_means(arms, CONFIDENCE[:1]),
            Column("difference (points)", "+.1f"): difference,
            **_means(arms, CONFIDENCE[1:]),
            Column("repetitions"): arms.repetitions,
        },
    )


def training_table(arms: Arms, chosen: Sequence[Arm], what: str, *, groups: bool) -> Table | None:
    """The confusion at training time beside that at test time; None where it was not recorded."""
    judged = [arm for arm in chosen if arms.mean(arm, "train_error_pct") is not None]
    if not judged:
        return None
    return Table.of(
        f"At training time and at test time, {what}",
        "Training images are answered as they are, by the trained network, as many as there "
        "are test images, or all if there are fewer. Means with 95 % intervals.",
        judged,
        {**WHICH, **_means(arms, GROUPS if groups else ZONE)},
    )


def _means(
    arms: Arms, measures: Sequence[tuple[str, str, str]]
) -> dict[Column, Callable[[Arm], Cell]]:
    return {Column(name, form): partial(arms.mean, measure=field) for field, name, form in measures}
