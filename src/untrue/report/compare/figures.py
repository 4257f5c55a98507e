"""Figures of a comparison: who beats the free rule, the frontier, and one method at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable

from untrue.losses.registry import style_of
from untrue.metrics import Interval
from untrue.report.compare.settings import CE, COST, TOTAL, Comparison, method, named, strength
from untrue.report.compare.tables import picks
from untrue.report.document.figures import (
    Axis,
    Curves,
    Difference,
    Differences,
    Facets,
    Point,
    Series,
)
from untrue.report.runs.arms import Arm
from untrue.report.runs.chapters import plain

# A setting this many times as bad as both decisions of cross-entropy is not in the picture: one
# collapsed model would press all others into a corner. Costlier than doing nothing is far already.
FAR_IN_ERROR, FAR_IN_COST = 2.0, 1.25
# How many settings outside the frame are named.
NAMED = 4


def differences(comparison: Comparison) -> Differences | None:
    """Each method's paired difference in expected cost to `ce+cost`, the cheapest first."""
    reference = comparison.reference
    if reference is None:
        return None
    rows = []
    plain_ce = comparison.plain
    if plain_ce is not None:
        change = comparison.arms.change(plain_ce, COST, to=reference)
        rows += [Difference("ce (most probable)", change, 0)] if change is not None else []
    for loss in comparison.methods:
        picked = comparison.pick(loss)
        change = comparison.picked_change(picked, COST)
        if change is not None:
            rows.append(Difference(method(loss), change, style_of(loss), picks(picked)))
    if not rows:
        return None
    rows.sort(key=lambda row: row.change.value)
    few = len(comparison.seeds) == 1
    return Differences(
        title="Does training by the costs beat the free decision rule?",
        see="Left of the line a method costs less than ce+cost: cross-entropy decided by least "
        "expected cost, which needs no training by costs. "
        + (
            "One repetition, so no intervals."
            if few
            else "A bar is a 95 % interval of the paired difference; where it crosses the line, "
            "the difference may be chance."
        ),
        x=Axis("expected cost: difference to ce+cost"),
        rows=tuple(rows),
    )


def overview(comparison: Comparison, measure: str) -> Curves:
    """Total error against a measure, one filled and one hollow curve per method."""
    drawn = _drawn(comparison)
    near = _near(comparison, drawn, measure)
    frames = [_frame(comparison, near, name) for name in (TOTAL, measure)]
    outside = [arm for arm in drawn if arm not in near]
    points = {arm: _point(comparison, arm, measure) for arm in drawn}
    stairs = [
        Point.at(comparison.value(arm, TOTAL), comparison.value(arm, measure))
        for arm in comparison.frontier(measure)
    ]
    series = [Series("frontier, by the means", tuple(stairs), style=0, stairs=True)]
    # What is drawn last lies on top: the reference must be seen.
    for loss in [*comparison.methods, CE]:
        series += _curves(loss, [arm for arm in drawn if arm.loss == loss], points)
    return Curves(
        title=f"Total error against {_name(comparison, measure)}",
        see=" ".join(filter(None, (_legend(comparison, measure), _outside(outside)))),
        x=Axis("total error (%)", frame=frames[0]),
        y=Axis(
            "expected cost of an answer" if measure == COST else comparison.costly.label,
            frame=frames[1],
        ),
        series=plain(series),
        crowded=True,
    )


def facets(comparison: Comparison, measure: str) -> Facets | None:
    """Each method alone, as paired differences to `ce+cost`, which is the cross in the middle."""
    reference = comparison.reference
    if reference is None or not comparison.methods:
        return None
    drawn = [arm for arm in _drawn(comparison) if arm != reference]
    changes = {
        arm: tuple(comparison.arms.change(arm, name, to=reference) for name in (TOTAL, measure))
        for arm in drawn
    }
    points = {
        arm: Point.at(x, y, label=_number(arm))
        for arm, (x, y) in changes.items()
        if x is not None and y is not None
    }
    frames = []
    near = _near(comparison, drawn, measure)
    for side, name in enumerate((TOTAL, measure)):
        at = comparison.value(reference, name)
        low, high = _frame(comparison, near, name)
        reach = [abs(found[side].value) for found in changes.values() if found[side] is not None]  # type: ignore[union-attr]
        frames.append((max(low - at, -1.15 * max(reach, default=1.0)), high - at))
    plain_ce = [arm for arm in drawn if arm.loss == CE]
    panels = []
    for loss in comparison.methods:
        own = [arm for arm in drawn if arm.loss == loss]
        series = [*_curves(loss, own, points), *_curves(CE, plain_ce, points)]
        panels.append(
            Curves(
                title=_titled(own),
                see="Differences to ce+cost.",
                x=Axis("total error: difference (points)", frame=frames[0]),
                y=Axis(f"{_name(comparison, measure)}: difference", frame=frames[1]),
                series=plain(series),
                cross=(0.0, 0.0),
            )
        )
    bars = (
        "One repetition, so no intervals."
        if len(comparison.seeds) == 1
        else "Bars are 95 % intervals of the paired differences: where one crosses a grey line, "
        "that difference may be chance."
    )
    return Facets(
        title=f"Beside ce+cost: total error and {_name(comparison, measure)}",
        see="The crossing of the grey lines is ce+cost: what lies below it costs less, what lies "
        "left of it has fewer errors. Filled: the most probable label; hollow: least expected cost"
        f"{_calibrated(comparison)}; circles: plain cross-entropy. {bars}",
        panels=tuple(panels),
    )


# Of the decisions by least expected cost the one that is drawn: the last that there is.
DRAWN = ("least-cost", "least-cost-calibrated", "posterior")


def _drawn(comparison: Comparison) -> list[Arm]:
    """Every setting, but of its decisions by least cost only the one that counts costs once."""
    best: dict[tuple[str, float, float | None], int] = {}
    for arm in comparison.settings:
        if arm.decision in DRAWN:
            place, key = DRAWN.index(arm.decision), (arm.loss, arm.alpha, arm.strength)
            best[key] = max(place, best.get(key, 0))
    return [
        arm
        for arm in comparison.settings
        if arm.decision not in DRAWN
        or DRAWN.index(arm.decision) == best[arm.loss, arm.alpha, arm.strength]
    ]


def _curves(loss: str, arms: Iterable[Arm], points: dict[Arm, Point]) -> list[Series]:
    filled = [arm for arm in arms if arm.decision == "argmax" and arm in points]
    hollow = [arm for arm in arms if arm.decision != "argmax" and arm in points]
    hollow.sort(key=lambda arm: arm.cost_share or 1.0)
    # The hollow ce is in the legend too: it says what hollow means where no sentence stands below.
    free = "ce+cost (hollow: least-cost decision)" if loss == CE else method(loss)
    return [
        Series(
            name,
            tuple(points[arm] for arm in chosen),
            style=style_of(loss),
            dashed=chosen is hollow,
            hollow=chosen is hollow,
            listed=chosen is filled or loss == CE or not filled,
        )
        for name, chosen in ((method(loss), filled), (free, hollow))
    ]


def _point(comparison: Comparison, arm: Arm, measure: str) -> Point:
    x, y = (comparison.arms.mean(arm, name) for name in (TOTAL, measure))
    nothing = Interval(math.nan, math.nan, math.nan, 0.95)
    return Point.at(x or nothing, y or nothing, label=_number(arm))


def _number(arm: Arm) -> str:
    if arm.cost_share is not None:
        return f"{arm.cost_share:.0%}"
    value = arm.alpha or arm.strength
    return f"{value:g}" if value else ""


def _titled(arms: list[Arm]) -> str:
    """'bilinear (alpha)': the method, and what the numbers at its points are."""
    knob = next((strength(arm).split()[0] for arm in arms if strength(arm)), "")
    name = method(arms[0].loss)
    return f"{name} (numbers: {knob})" if knob else name


def _near(comparison: Comparison, drawn: list[Arm], measure: str) -> list[Arm]:
    """Settings that are not far off, in errors or in the other measure."""
    known = [a for a in (comparison.plain, comparison.reference) if a is not None]
    limits = {
        name: far * max((comparison.value(arm, name) for arm in known), default=math.inf)
        for name, far in ((TOTAL, FAR_IN_ERROR), (measure, FAR_IN_COST))
    }
    return [
        arm
        for arm in drawn
        if all(comparison.value(arm, name) <= limit for name, limit in limits.items())
    ]


def _frame(comparison: Comparison, near: list[Arm], measure: str) -> tuple[float, float]:
    """Where an axis starts and ends: around these points."""
    values = [comparison.value(arm, measure) for arm in near] or [0.0, 1.0]
    low, high = min(values), max(values)
    room = 0.09 * (high - low) or 0.1 * abs(high) or 1.0
    return max(0.0, low - room) if low >= 0 else low - room, high + room


def _name(comparison: Comparison, measure: str) -> str:
    return "expected cost" if measure == COST else comparison.costly.name


def _calibrated(comparison: Comparison) -> str:
    there = any(arm.decision == "least-cost-calibrated" for arm in comparison.settings)
    behind = any(arm.decision == "posterior" for arm in comparison.settings)
    if not there:
        return ""
    more = " (of bilinear losses: of the posterior behind them)" if behind else ""
    return f", from calibrated probabilities{more}"


def _legend(comparison: Comparison, measure: str) -> str:
    if measure != COST:
        return (
            f"The lower left is best: a low {_name(comparison, measure)} at a low total error. "
            if comparison.costly.unit == "%"
            else f"The lower left is best: few {_name(comparison, measure)} at a low total error. "
        ) + " ".join(filter(None, ("Signs and numbers as above.", comparison.costly.note)))
    return (
        "The lower left is best; the grey steps join the settings that no other beats in both. "
        f"Filled: most probable label; hollow: least expected cost{_calibrated(comparison)}; "
        f"numbers: the method's strength, of ce+cost how far its costs go from equal ones to those "
        f"given; {_spread(comparison)}"
    )


def _spread(comparison: Comparison) -> str:
    n = len(comparison.seeds)
    if n == 1:
        return "one repetition, so no intervals."
    return f"means over {n} repetitions, with 95 % intervals on hover and in the table."


def _outside(arms: list[Arm]) -> str:
    if not arms:
        return ""
    if len(arms) > NAMED:
        return f"{len(arms)} settings are far worse and outside the frame; the table has them."
    return f"Far worse and outside the frame: {', '.join(map(named, arms))}."
