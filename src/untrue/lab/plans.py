"""From an experiment of the paper to its runs, repetition by repetition.

A sweep stopped anywhere then already holds paired results. Zones are drawn per repetition from
its seed and are the same for every alpha and both losses. A repetition has one baseline, which
is scored on all of its zones and serves both losses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from untrue.errors import ArgumentError
from untrue.lab import scoring
from untrue.lab.design import Design, made_from
from untrue.lab.experiments import Experiment, Grid, options
from untrue.lab.records import DatasetInfo, PenaltySpec, RunConfig, RunResult
from untrue.penalty import Penalty

# The least-expected-cost decision of a masked zone: every mistake costs 1, those in the zone 10.
ZONE_COST = 10.0
# The paper's costs in a hierarchy.
WITHIN, ACROSS = 1.0, 5.0

# Beta of the soft labels at the last exit, where they are nearly plain; a third of it at the first
# of three leaves 7 % of the weight to the other classes of a super-class of CIFAR-100.
LAST_BETA = 24.0

# The run of an id, if it has been made.
FindRun = Callable[[str], RunResult | None]


def no_runs(_run_id: str) -> None:
    """A `FindRun` where no run has been made."""


class Plan(Protocol):
    """Makes run configs from a design. name: what the store calls it."""

    @property
    def name(self) -> str: ...

    @property
    def design(self) -> Design: ...

    @property
    def expected(self) -> int:
        """How many runs it comes to when it is whole."""
        ...

    def configs(self, info: DatasetInfo, find_run: FindRun = no_runs, /) -> tuple[RunConfig, ...]:
        """The runs in their order; fewer than `expected` while some wait for results of others.

        find_run: the run of an id, if it has been made.
        """
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class PaperPlan:
    """The runs of one of the paper's experiments.

    A small-sample experiment is planned twice: first its baselines, from which the classes are
    chosen (`untrue.lab.scoring.typical_classes`), and when these are finished the whole.
    """

    experiment: Experiment
    design: Design
    grid: Grid

    def __post_init__(self) -> None:
        used = {"zone": "zone_size", "small": "small_count"}.get(self.experiment.kind)
        for name in ("zone_size", "small_count"):
            if name == used and not getattr(self.grid, name):
                raise ArgumentError(f"`{name}` needs at least one value in {self.name}.")
            if name != used and getattr(self.grid, name):
                raise ArgumentError(f"`{name}` has no meaning in {self.name}.")
        if (self.design.setup.exits > 1) != (self.experiment.kind == "exits"):
            raise ArgumentError(
                "`exits` must be 2 or more in the experiment exits, and 1 in every other; "
                f"got {self.design.setup.exits} in {self.name}."
            )

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def expected(self) -> int:
        treated = len([alpha for alpha in self.grid.alpha if alpha > 0]) * len(self.grid.loss)
        each = {
            "zone": 1 + treated * len(self.grid.zone_size),
            "hierarchy": 1 + treated,
            "small": 1 + (1 + treated) * len(self.grid.small_count),
            "exits": 2 + 2 * treated + bool(treated),
        }
        return each[self.experiment.kind] * self.design.repetitions

    def configs(self, info: DatasetInfo, find_run: FindRun = no_runs, /) -> tuple[RunConfig, ...]:
        """The runs in their order. find_run: the run of an id, if it has been made."""
        seeds = self.design.seeds
        if self.experiment.kind == "zone":
            return tuple(c for seed in seeds for c in self._zone_runs(info, seed))
        if not info.groups:
            raise ArgumentError(
                f"Experiment {self.name!r} needs a data set with super-classes (cifar100); "
                f"{info.name!r} has none."
            )
        if self.experiment.kind == "hierarchy":
            return tuple(c for seed in seeds for c in self._group_runs(self._baseline(seed)))
        if self.experiment.kind == "exits":
            return tuple(c for seed in seeds for c in self._exit_runs(seed))
        baselines = tuple(self._baseline(seed) for seed in seeds)
        found = [result for c in baselines if (result := find_run(c.run_id)) is not None]
        good = [result for result in found if result.status == "ok"]
        if not good or len(found) < len(baselines):
            return baselines
        small = scoring.typical_classes(good, info)
        return (*baselines, *(c for seed in seeds for c in self._small_runs(seed, small)))

    def _zone_runs(self, info: DatasetInfo, seed: int) -> list[RunConfig]:
        sizes, normalization = self.grid.zone_size, self.design.normalization
        zones = [zone(info, size, seed, normalization) for size in sizes]
        costs = [PenaltySpec("zone", ZONE_COST, 1.0, spec.cells) for spec in zones]
        runs = [RunConfig(self.design.setup, seed, score_on=tuple(costs))]
        for spec, cost in zip(zones, costs, strict=True):
            runs += self._treated(runs[0], spec, cost)
        return runs

    def _small_runs(self, seed: int, small_classes: tuple[int, ...]) -> list[RunConfig]:
        runs = []
        for count in self.grid.small_count:
            baseline = dataclasses.replace(
                self._baseline(seed), small_classes=small_classes, small_count=count
            )
            runs += self._group_runs(baseline)
        return runs

    def _exit_runs(self, seed: int) -> list[RunConfig]:
        """One exit; several by cross-entropy; by the final penalty at each; by A(l); and by soft
        labels that are the softer the earlier the exit."""
        several = dataclasses.replace(
            self._baseline(seed), calibrate=self.design.setup.validation > 0
        )
        one = dataclasses.replace(several, setup=dataclasses.replace(several.setup, exits=1))
        final = self._group_runs(several)
        alike = PenaltySpec("groups", 1.0, 1.0)
        growing = [dataclasses.replace(run, penalty=alike, exit_costs="text") for run in final[1:]]
        soft = dataclasses.replace(
            several,
            loss="soft-labels",
            strength=LAST_BETA,
            penalty=GROUP_COSTS,
            exit_costs="text",
        )
        return [one, *final, *growing, *([soft] if growing else [])]

    def _group_runs(self, baseline: RunConfig) -> list[RunConfig]:
        spec = dataclasses.replace(GROUP_COSTS, normalization=self.design.normalization)
        return [baseline, *self._treated(baseline, spec, GROUP_COSTS)]

    def _baseline(self, seed: int) -> RunConfig:
        return RunConfig(self.design.setup, seed, score_on=(GROUP_COSTS,))

    def _treated(
        self, baseline: RunConfig, spec: PenaltySpec, cost: PenaltySpec
    ) -> list[RunConfig]:
        return [
            dataclasses.replace(baseline, loss=loss, alpha=alpha, penalty=spec, score_on=(cost,))
            for alpha in self.grid.alpha
            if alpha > 0
            for loss in self.grid.loss
        ]


GROUP_COSTS = PenaltySpec("groups", WITHIN, ACROSS)


def paper_plan(
    experiment: Experiment,
    *,
    scale: str,
    overrides: Mapping[str, Any] | None = None,
    train_images: int | None = None,
) -> PaperPlan:
    """The plan of an experiment at a scale, with what the user overrides; see `options`."""
    chosen = options(experiment, scale=scale, overrides=overrides, train_images=train_images)
    return PaperPlan(experiment, made_from(Design, chosen), made_from(Grid, chosen))


def zone(
    info: DatasetInfo, size: int, seed: int, normalization: Literal["rows", "max", "none"]
) -> PenaltySpec:
    """The zone of `size` cells that belongs to a repetition's seed."""
    # Sizes get draws of their own: the zone of 10 is no part of the zone of 20.
    drawn = Penalty.random_zone(len(info.classes), size, seed=seed * 10_000 + size).matrix()
    cells = tuple((int(true), int(wrong)) for true, wrong in zip(*drawn.nonzero(), strict=True))
    return PenaltySpec("zone", 1.0, 0.0, cells, normalization)
