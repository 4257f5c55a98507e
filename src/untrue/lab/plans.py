"""From an experiment's axes to its runs, repetition by repetition.

A sweep stopped anywhere then already holds paired results. Zones are drawn per repetition from
its seed and are the same for every alpha and both losses. A repetition has one baseline, which
is scored on all of its zones and serves both losses.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from untrue.errors import ArgumentError
from untrue.lab.experiments import Axes, Experiment
from untrue.lab.records import DatasetInfo, PenaltySpec, RunConfig
from untrue.penalty import Penalty

# The least-expected-cost decision of a masked zone: every mistake costs 1, those in the zone 10.
ZONE_COST = 10.0
# The paper's costs in a hierarchy.
WITHIN, ACROSS = 1.0, 5.0


def plan(
    experiment: Experiment,
    chosen: Axes,
    info: DatasetInfo,
    *,
    small_classes: tuple[int, ...] | None = None,
) -> tuple[RunConfig, ...]:
    """The runs of an experiment in their order.

    A small-sample experiment is planned twice: without `small_classes` it is its baselines, from
    which the classes are chosen (`untrue.lab.scoring.typical_classes`); with them it is whole.
    """
    seeds = range(chosen.seed, chosen.seed + chosen.repetitions)
    if experiment.kind == "zone":
        return tuple(c for seed in seeds for c in _zone_runs(chosen, info, seed))
    if not info.groups:
        raise ArgumentError(
            f"Experiment {experiment.name!r} needs a data set with super-classes (cifar100); "
            f"{info.name!r} has none."
        )
    if experiment.kind == "hierarchy":
        return tuple(c for seed in seeds for c in _hierarchy_runs(chosen, seed))
    baselines = tuple(_baseline(chosen, seed, (_decision_costs("groups"),)) for seed in seeds)
    if small_classes is None:
        return baselines
    runs = (c for seed in seeds for c in _small_runs(chosen, seed, small_classes))
    return (*baselines, *runs)


def expected(experiment: Experiment, chosen: Axes) -> int:
    """How many models `plan` comes to when it is whole."""
    treated = len([alpha for alpha in chosen.alpha if alpha > 0]) * len(chosen.loss)
    if experiment.kind == "zone":
        each = 1 + treated * len(chosen.zone_size)
    elif experiment.kind == "hierarchy":
        each = 1 + treated
    else:
        each = 1 + (1 + treated) * len(chosen.small_count)
    return each * chosen.repetitions


def zone(info: DatasetInfo, size: int, seed: int, normalization: str) -> PenaltySpec:
    """The zone of `size` cells that belongs to a repetition's seed."""
    # Sizes get draws of their own: the zone of 10 is no part of the zone of 20.
    drawn = Penalty.random_zone(len(info.classes), size, seed=seed * 10_000 + size).matrix()
    cells = tuple(
        (int(true), int(predicted)) for true, predicted in zip(*drawn.nonzero(), strict=True)
    )
    return PenaltySpec("zone", 1.0, 0.0, cells, normalization)  # type: ignore[arg-type]


def _zone_runs(chosen: Axes, info: DatasetInfo, seed: int) -> list[RunConfig]:
    zones = [zone(info, size, seed, chosen.normalization) for size in chosen.zone_size]
    costs = [_decision_costs("zone", spec.cells) for spec in zones]
    runs = [_baseline(chosen, seed, tuple(costs))]
    for spec, cost in zip(zones, costs, strict=True):
        runs += _treated(chosen, runs[0], spec, cost)
    return runs


def _hierarchy_runs(chosen: Axes, seed: int) -> list[RunConfig]:
    cost = _decision_costs("groups")
    baseline = _baseline(chosen, seed, (cost,))
    return [baseline, *_treated(chosen, baseline, _group_penalty(chosen), cost)]


def _small_runs(chosen: Axes, seed: int, small_classes: tuple[int, ...]) -> list[RunConfig]:
    cost = _decision_costs("groups")
    runs = []
    for count in chosen.small_count:
        baseline = dataclasses.replace(
            _baseline(chosen, seed, (cost,)), small_classes=small_classes, small_count=count
        )
        runs += [baseline, *_treated(chosen, baseline, _group_penalty(chosen), cost)]
    return runs


def _baseline(chosen: Axes, seed: int, score_on: tuple[PenaltySpec, ...]) -> RunConfig:
    shared = {field.name for field in dataclasses.fields(RunConfig)} - {
        *("seed", "loss", "alpha", "penalty", "small_classes", "small_count", "score_on"),
        *("strength", "calibrate"),
    }
    values = {name: getattr(chosen, name) for name in shared}
    return RunConfig(**values, seed=seed, score_on=score_on)


def _treated(
    chosen: Axes, baseline: RunConfig, spec: PenaltySpec, cost: PenaltySpec
) -> list[RunConfig]:
    return [
        dataclasses.replace(
            baseline,
            loss=loss,
            alpha=alpha,
            penalty=spec,
            score_on=(cost,),
        )
        for alpha in chosen.alpha
        if alpha > 0
        for loss in chosen.loss
    ]


def _group_penalty(chosen: Axes) -> PenaltySpec:
    return PenaltySpec("groups", WITHIN, ACROSS, (), chosen.normalization)  # type: ignore[arg-type]


def _decision_costs(
    kind: Literal["zone", "groups"], cells: tuple[tuple[int, int], ...] = ()
) -> PenaltySpec:
    if kind == "zone":
        return PenaltySpec("zone", ZONE_COST, 1.0, cells)
    return PenaltySpec("groups", WITHIN, ACROSS)
