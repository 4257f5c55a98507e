"""Tables of a masked-zone sweep, and which of its arms to show as "after"."""

from __future__ import annotations

from untrue.errors import DataError
from untrue.report.document.tables import Column, Table, middle
from untrue.report.runs.arms import Arm, Arms
from untrue.report.runs.rows import Collected
from untrue.report.sweep.published import published_value

# What an alpha may cost in total error, in percentage points, to be shown as "after".
TOLERANCE = 1.0


def within_tolerance(arms: Arms, arm: Arm) -> bool:
    """Whether its total error is at most `TOLERANCE` above the baseline's."""
    return _added(arms, arm, "total_error_pct") <= TOLERANCE


def _added(arms: Arms, arm: Arm, measure: str) -> float:
    """The paired difference: each repetition has a zone of its own, and an arm may lack some."""
    found = arms.change(arm, measure)
    return 0.0 if found is None else found.value


def best(arms: Arms, size: int, loss: str | None = None) -> Arm | None:
    """The arm with the fewest errors in the zone that costs at most a point of accuracy.

    Where none costs so little, the one with the least total error.
    """
    treated = [
        arm
        for arm in arms.select(zone_size=size, decision="argmax")
        if not arm.is_baseline and loss in (None, arm.loss)
    ]
    good = [arm for arm in treated if within_tolerance(arms, arm)]
    if not good:
        return min(treated, key=lambda a: _added(arms, a, "total_error_pct"), default=None)
    return min(good, key=lambda a: _added(arms, a, "zone_errors"))


def shown_size(arms: Arms) -> int:
    """The zone size to show: the middle one of those furthest along."""
    sizes = [int(size) for size in arms.values("zone_size")]
    if not sizes:
        raise DataError("The sweep should be about zones, but none of its runs has one.")
    trained = {size: len(arms.select(zone_size=size, decision="argmax")) for size in sizes}
    full = [size for size in sizes if trained[size] == max(trained.values())]
    return full[len(full) // 2]


def table(collected: Collected, arms: Arms, size: int) -> Table:
    """Every arm of one zone size."""
    free = arms.least_cost(zone_size=size)
    costs = f" The least-cost decision is made with costs {free.costs}." if free else ""
    theirs = published_value(
        f"masked_zone_{collected.sweep.data}", "total_error_pct", loss="", alpha=0.0
    )
    note = f" Published: a baseline of about {theirs:g} % total error." if theirs else ""
    return Table.of(
        f"Zone of {size} cells, {collected.sweep.data}",
        "Means with 95 % intervals; differences are to the baseline of the same repetition."
        f"{costs}{note}",
        arms.select(zone_size=size),
        {
            Column("loss"): lambda arm: arm.trained_by,
            Column("alpha", "g"): lambda arm: arm.alpha,
            Column("decision"): lambda arm: arm.decided,
            Column("errors in the zone", ".1f"): lambda arm: arms.mean(arm, "zone_errors"),
            Column("difference", "+.1f"): lambda arm: arms.change(arm, "zone_errors"),
            Column("total error (%)", ".2f"): lambda arm: arms.mean(arm, "total_error_pct"),
            Column("difference (points)", "+.2f"): lambda arm: arms.change(arm, "total_error_pct"),
            Column("zone's share of the errors (%)", ".1f"): lambda arm: arms.mean(
                arm, "zone_share_pct"
            ),
            Column("repetitions"): arms.repetitions,
        },
        strong=lambda arm: arm.is_baseline,
    )


def short(arms: Arms, sizes: list[int]) -> Table:
    """Before and after in a few lines."""
    after: list[Arm] = []
    for size in sizes:
        treated = arms.select(zone_size=size, decision="argmax")
        free = arms.least_cost(zone_size=size)
        after += [*(arm for arm in treated if not arm.is_baseline), *([free] if free else [])]

    def called(arm: Arm) -> str:
        return "least-cost decision only" if arm.is_baseline else arm.name

    return Table.of(
        "Errors in the zone and accuracy, before and after (means)",
        "Before is the baseline, plain cross-entropy, of the same repetitions.",
        after,
        {
            Column("zone (cells)"): lambda arm: arm.zone_size,
            Column("model after"): called,
            Column("errors in zone before", ".1f"): lambda a: middle(arms.before(a, "zone_errors")),
            Column("errors in zone after", ".1f"): lambda a: middle(arms.mean(a, "zone_errors")),
            Column("accuracy before (%)", ".2f"): lambda a: middle(arms.before(a, "accuracy_pct")),
            Column("accuracy after (%)", ".2f"): lambda a: middle(arms.mean(a, "accuracy_pct")),
        },
    )
