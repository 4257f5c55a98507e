"""What each method costs when it may lose only so much accuracy, and costs that count once."""

from __future__ import annotations

from untrue.losses import registry
from untrue.metrics.intervals import paired_interval
from untrue.report.compare.settings import (
    CE,
    COST,
    TOTAL,
    VALIDATION_COST,
    VALIDATION_ERROR,
    Comparison,
    Picked,
    below,
    method,
    named,
    strength,
)
from untrue.report.compare.tables import picks
from untrue.report.document.tables import Cell, Column, Table
from untrue.report.runs.arms import Arm

# Percentage points of accuracy that may be lost, against the most probable class of plain ce.
TOLERANCES = (0.0, 0.5, 1.0)
# Rounding of a share is no lost accuracy.
ROUNDING = 1e-9


def chosen(comparison: Comparison, loss: str, points: float) -> Picked:
    """Of each repetition the cheapest setting of a loss on validation examples, among those that
    lose at most `points` there; plain ce where none does. Empty where nothing is known."""
    plain = comparison.plain
    if plain is None:
        return Picked(loss, {})
    arms = comparison.arms
    limits = arms.by_seed(plain, VALIDATION_ERROR)
    errors = {arm: arms.by_seed(arm, VALIDATION_ERROR) for arm in (plain, *comparison.of(loss))}
    costs = {arm: arms.by_seed(arm, VALIDATION_COST) for arm in errors}
    if not any(errors[arm] for arm in comparison.of(loss)):
        return Picked(loss, {})
    found = {}
    for seed in sorted(comparison.seeds & limits.keys()):
        limit = limits[seed] + points + ROUNDING
        fits = [arm for arm, known in errors.items() if known.get(seed, limit + 1) <= limit]
        found[seed] = min(fits, key=lambda arm: costs[arm][seed])
    return Picked(loss, found)


def equal_accuracy_table(comparison: Comparison) -> Table | None:
    """The cost of each method by the accuracy it may lose; None without validation numbers."""
    rows: list[tuple[Cell, ...]] = []
    strong = set()
    for points in TOLERANCES:
        free = chosen(comparison, CE, points)
        if not free.by_seed:
            return None
        base = comparison.picked_values(free, COST)
        for loss in (CE, *comparison.methods):
            picked = chosen(comparison, loss, points)
            if not picked.by_seed:
                continue
            if loss == CE:
                strong.add(len(rows))
            costs = comparison.picked_values(picked, COST)
            less = paired_interval(costs, base, overlap=comparison.overlap)
            rows.append(
                (
                    points,
                    "ce, free rule" if loss == CE else method(loss),
                    comparison.picked_mean(picked, COST),
                    None if loss == CE else less,
                    comparison.picked_change(picked, TOTAL, to=comparison.plain),
                    picks(picked, named),
                )
            )
    form = comparison.cost_form
    return Table(
        title="Cost at equal accuracy",
        see="Each row states how many points a method may lose against the most probable class of "
        "plain cross-entropy. Its strength and decision are chosen on the validation examples of "
        "each repetition, the cheapest that keep to it there (plain ce where none does); costs and "
        "points are those of the test examples, so that a little more or less is lost there. The "
        "temperature was found on the same validation examples. The free rule has a strength too: "
        "with costs at 25 % each mistake counts as the cheapest plus a quarter of what it costs "
        "more. Differences are to the free rule at the same tolerance.",
        columns=(
            Column("may lose (points)", "g"),
            Column("method"),
            Column("expected cost", form),
            Column("difference in cost", f"+{form}"),
            Column("lost on the test examples (points)", "+.2f"),
            Column("setting"),
        ),
        rows=tuple(rows),
        strong=frozenset(strong),
    )


def equal_accuracy_sentence(comparison: Comparison) -> str:
    """Who beats the free rule at equal accuracy."""
    parts = []
    for points in TOLERANCES:
        base = comparison.picked_values(chosen(comparison, CE, points), COST)
        if not base:
            return ""
        better = []
        for loss in comparison.methods:
            costs = comparison.picked_values(chosen(comparison, loss, points), COST)
            if below(paired_interval(costs, base, overlap=comparison.overlap)):
                better.append(method(loss))
        parts.append(f"{', '.join(better) or 'none'} at {points:g} points")
    if len(comparison.seeds) == 1:
        return ""
    return (
        "Where a method may lose only so much accuracy, chosen on validation examples, these cost "
        f"less than the free rule beyond their interval: {'; '.join(parts)}."
    )


def once_table(comparison: Comparison) -> Table | None:
    """Losses by costs decided by cost on what they say, and on the posterior behind it."""
    arms, form = comparison.arms, comparison.cost_form
    pairs: list[tuple[Arm, Arm]] = []
    for loss in registry.MIXED:
        raw = {arm.alpha: arm for arm in comparison.of(loss, "least-cost-calibrated")}
        found = comparison.of(loss, "posterior")
        pairs += [(arm, raw[arm.alpha]) for arm in found if arm.alpha in raw]
    if not pairs:
        return None
    return Table.of(
        "Counting the costs once",
        "A loss by costs moves the probabilities away from costly classes; deciding by cost on "
        "them counts the costs again. The posterior is what the probabilities stand for. Both are "
        "calibrated. No posterior: test examples whose probabilities stand for none, and are taken "
        "as they are.",
        pairs,
        {
            Column("method"): lambda p: method(p[0].loss),
            Column("strength"): lambda p: strength(p[0]),
            Column("cost, decided on its probabilities", form): lambda p: arms.mean(p[1], COST),
            Column("cost, decided on the posterior", form): lambda p: arms.mean(p[0], COST),
            Column("difference in cost", f"+{form}"): lambda p: arms.change(p[0], COST, to=p[1]),
            Column("difference in error (points)", "+.2f"): lambda p: arms.change(
                p[0], TOTAL, to=p[1]
            ),
            Column("no posterior (%)", ".1f"): lambda p: arms.mean(p[0], "clipped_pct"),
        },
    )
