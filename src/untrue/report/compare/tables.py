"""Tables of a comparison: each method at its best, every setting, and the seconds."""

from __future__ import annotations

from collections.abc import Callable

from untrue.metrics import Interval
from untrue.report.compare.settings import (
    CE,
    COST,
    Comparison,
    Picked,
    decided,
    method,
    strength,
    without_method,
)
from untrue.report.document.tables import Cell, Column, Table, middle
from untrue.report.runs.arms import Arm, Arms


def columns(comparison: Comparison) -> tuple[Column, ...]:
    """Expected cost, total error and costly errors, each with its paired difference."""
    costly, form = comparison.costly, comparison.cost_form
    unit, points = (" (%)", " (points)") if costly.unit == "%" else ("", "")
    found = [
        (Column("expected cost", form), Column("difference in cost", f"+{form}")),
        (Column("total error (%)", ".2f"), Column("difference in error (points)", "+.2f")),
        (
            Column(f"{costly.name}{unit}", costly.form),
            Column(f"difference in {costly.short}{points}", f"+{costly.form}"),
        ),
    ]
    return tuple(column for pair in found for column in pair)


def methods_table(comparison: Comparison) -> Table:
    """One row per method, its setting picked by the validation examples."""
    rows: list[tuple[Cell, ...]] = []
    strong = set()
    measures = comparison.measures
    for arm in (arm for arm in comparison.of(CE) if arm.cost_share is None):
        name = "ce"
        if arm == comparison.reference:
            name = "ce+cost"
            strong.add(len(rows))
        cells = _beside_reference(comparison, comparison.arms, arm)
        rows.append((name, *cells, decided(arm)))
    for loss in comparison.methods:
        picked = comparison.pick(loss)
        means = [comparison.picked_mean(picked, m) for m in measures]
        changes = [comparison.picked_change(picked, m) for m in measures]
        rows.append((method(loss), *_woven(means, changes), picks(picked)))
    how = (
        "Each method's strength and decision are the cheapest on the validation examples of each "
        "repetition; in brackets how often each was taken."
    )
    if len(comparison.seeds) > 1 and comparison.methods:
        how += (
            " Each interval is for one comparison: if no method were better than ce+cost, "
            f"at least one of {len(comparison.methods)} would still look better by chance in up to "
            f"{min(100.0, 2.5 * len(comparison.methods)):.0f} % of such studies."
        )
    return Table(
        title="Each method at its best, against ce+cost",
        see=" ".join(filter(None, (how, _intervals(comparison), comparison.costly.note))),
        columns=(Column("method"), *columns(comparison), Column("setting")),
        rows=tuple(rows),
        strong=frozenset(strong),
    )


def settings_table(comparison: Comparison) -> Table:
    """Every setting, also those that have not all repetitions yet."""
    arms, costly = comparison.all, comparison.costly
    reference = comparison.reference
    order = {loss: place for place, loss in enumerate([CE, *comparison.methods])}
    every = sorted(arms.select(), key=lambda arm: order.get(arm.loss, len(order)))
    rows: list[tuple[Cell, ...]] = [
        (
            method(arm.loss),
            strength(arm) or None,
            decided(arm),
            *_beside_reference(comparison, arms, arm),
            _place(comparison, arm, COST),
            _place(comparison, arm, costly.measure),
            arms.mean(arm, "ece_pct"),
            middle(arms.mean(arm, "seconds")),
            arms.repetitions(arm),
        )
        for arm in every
    ]
    return Table(
        title="Every setting",
        see=f"{_intervals(comparison)} Frontier: 'on' when no other setting is as good in both "
        "measures and better in one, by the means; 'perhaps' when some are, but none with a paired "
        "difference beyond its interval. Temperature does not change which label is the most "
        "probable, so that decision has no calibrated row of its own; its calibration error is "
        "that before calibration.",
        columns=(
            Column("method"),
            Column("strength"),
            Column("decision"),
            *columns(comparison),
            Column("frontier: cost"),
            Column(f"frontier: {costly.short}"),
            Column("calibration error (%)", ".2f"),
            Column("seconds per model", ",.1f"),
            Column("repetitions"),
        ),
        rows=tuple(rows),
        strong=frozenset(i for i, arm in enumerate(every) if arm == reference),
    )


def seconds_table(comparison: Comparison) -> Table:
    """What training each method took."""
    models = {row.run_id: row for row in comparison.collected.rows}
    spent: dict[str, list[float]] = {}
    for row in models.values():
        spent.setdefault(row.loss, []).append(row.seconds)
    base = _mean(spent.get(CE, []))
    return Table.of(
        "Training time",
        "Seconds of training and scoring. ce+cost uses the models of ce, so it takes no "
        "training of its own; a method with several strengths is trained once for each.",
        list(spent.items()),
        {
            Column("method"): lambda row: method(row[0]),
            Column("models"): lambda row: len(row[1]),
            Column("seconds per model", ",.1f"): lambda row: _mean(row[1]),
            Column("times ce", ".2f"): lambda row: _ratio(_mean(row[1]), base),
            Column("seconds in all", ",.0f"): lambda row: sum(row[1]),
        },
    )


def short_table(comparison: Comparison) -> Table:
    """For a terminal 80 signs wide: each method at its best, intervals of the differences alone."""
    full = methods_table(comparison)
    rows = []
    for name, cost, change, error, _, costly, _, setting in full.rows:
        rows.append((name, middle(cost), change, middle(error), middle(costly), setting))
    return Table(
        title=full.title,
        see=full.see,
        columns=(
            Column("method"),
            Column("expected cost", comparison.cost_form),
            Column("difference", f"+{comparison.cost_form}"),
            Column("total error (%)", ".2f"),
            Column(comparison.costly.name, comparison.costly.form),
            Column("setting"),
        ),
        rows=tuple(rows),
        strong=full.strong,
    )


def picks(picked: Picked, called: Callable[[Arm], str] = without_method) -> str:
    """'alpha 0.9, least cost', or with counts when the repetitions do not agree."""
    parts = [(called(arm), count) for arm, count in picked.settings.most_common()]
    if len(parts) == 1:
        return parts[0][0]
    return "; ".join(f"{name} ({count})" for name, count in parts)


def _beside_reference(comparison: Comparison, arms: Arms, arm: Arm) -> list[Cell]:
    """The means of a setting, each with its difference to ce+cost."""
    base, measures = comparison.reference, comparison.measures
    changes = [None if base is None else arms.change(arm, m, to=base) for m in measures]
    return _woven([arms.mean(arm, m) for m in measures], changes)


def _woven(means: list[Interval | None], changes: list[Interval | None]) -> list[Cell]:
    return [cell for pair in zip(means, changes, strict=True) for cell in pair]


def _place(comparison: Comparison, arm: Arm, measure: str) -> str | None:
    if arm not in comparison.settings:
        return None
    if arm in comparison.frontier(measure):
        return "on"
    return "perhaps" if arm in comparison.near(measure) else "off"


def _intervals(comparison: Comparison) -> str:
    free = (
        "Differences are to ce+cost (cross-entropy decided by least expected cost, "
        f"{'calibrated' if 'calibrated' in comparison.reference.decision else 'not calibrated'}) "
        "of the same repetition."
        if comparison.reference
        else "There is no ce+cost yet to take differences to."
    )
    if len(comparison.seeds) == 1:
        return f"One repetition, so no intervals. {free}"
    wider = ", wider because repetitions share examples" if comparison.overlap else ""
    return f"Means with 95 % intervals (Student t{wider}). {free}"


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None
