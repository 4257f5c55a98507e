"""Runs that continue from the weights of a finished one, with another loss, for a few epochs.

A repetition has one start: plain cross-entropy, trained whole. Every run of the plan then continues
from its weights, cross-entropy too and for as long, so that a difference is the loss's and not the
extra epochs'. No torch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from untrue.errors import ArgumentError
from untrue.lab.comparison import ComparisonPlan
from untrue.lab.design import Design, Setup
from untrue.lab.merging import add_or_complete, check_replaceable, same_outcome
from untrue.lab.plans import FindRun, PaperPlan, Plan, no_runs
from untrue.lab.records import DatasetInfo, RunConfig, Start
from untrue.lab.store import Store
from untrue.training import Settings, continued

BASELINE = "baseline"
OPTIONS = tuple(field.name for field in dataclasses.fields(Settings))
P = TypeVar("P", PaperPlan, ComparisonPlan)


@dataclasses.dataclass(frozen=True, slots=True)
class _PlanOf:
    """A plan that changes the runs of another, and has its name and design."""

    plan: Plan

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def design(self) -> Design:
        return self.plan.design

    @property
    def expected(self) -> int:
        return self.plan.expected


@dataclasses.dataclass(frozen=True, slots=True)
class WarmPlan(_PlanOf):
    """The runs of a plan, each continuing from a start of its seed.

    plan: its setup trains for the few epochs. setup: of the starts, where they are made here.
    found: those of another directory, `place`, one for each seed; they are then not made.
    """

    setup: Setup
    found: tuple[RunConfig, ...] = ()
    place: Path | None = None

    @property
    def expected(self) -> int:
        return self.plan.expected + (0 if self.found else self.design.repetitions)

    def configs(self, info: DatasetInfo, find_run: FindRun = no_runs, /) -> tuple[RunConfig, ...]:
        """The starts, where they are made here, then all that continues from them."""
        planned = self.plan.configs(info, find_run)
        starts = {config.seed: config for config in self.found}
        if not self.found:
            starts = {
                config.seed: dataclasses.replace(config, setup=self.setup, keep_weights=True)
                for config in planned
                if config.is_baseline
            }
        continuing = (
            dataclasses.replace(config, start=_start(starts[config.seed])) for config in planned
        )
        return (*(() if self.found else starts.values()), *continuing)


@dataclasses.dataclass(frozen=True, slots=True)
class KeptPlan(_PlanOf):
    """The runs of a plan, whose weights are kept."""

    def configs(self, info: DatasetInfo, find_run: FindRun = no_runs, /) -> tuple[RunConfig, ...]:
        found = self.plan.configs(info, find_run)
        return tuple(dataclasses.replace(config, keep_weights=True) for config in found)


def warm_plan(
    plan: P,
    source: str,
    given: Mapping[str, Any],
    info: DatasetInfo | None = None,
    *,
    keep_weights: bool = False,
) -> WarmPlan:
    """The plan, continued from `source`: "baseline" (made here) or a directory of runs.

    plan: with the setup that its starts have. given: of the few epochs, by name (`Settings`).
    info: of the data, so that starts from other files are refused; None: not known yet.
    """
    if isinstance(plan, PaperPlan) and plan.experiment.kind in ("small", "exits"):
        why = {
            "small": "its runs learn from fewer images than the one they would start from",
            "exits": "its networks differ in their exits",
        }[plan.experiment.kind]
        raise ArgumentError(f"`start_from` makes no sense in {plan.name}: {why}.")
    setup = plan.design.setup
    found = () if source == BASELINE else find_starts(Path(source), plan.design, info)
    training = found[0].setup.training if found else setup.training
    short = dataclasses.replace(setup, training=continued(training, given))
    design = dataclasses.replace(plan.design, setup=short)
    continued_plan: Plan = dataclasses.replace(plan, design=design)
    if keep_weights:
        continued_plan = KeptPlan(continued_plan)
    return WarmPlan(continued_plan, setup, found, None if source == BASELINE else Path(source))


def split_options(
    values: Mapping[str, Any], source: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the whole training, and those of the few epochs: with a source to continue from,
    all that are about training are of these."""
    short = {name: value for name, value in values.items() if source and name in OPTIONS}
    return {name: value for name, value in values.items() if name not in short}, short


def with_start(
    plan: P,
    info: DatasetInfo,
    given: Mapping[str, Any],
    source: str | None,
    *,
    keep_weights: bool = False,
) -> Plan:
    """The plan as it is, or continued from `source` where there is one."""
    if source is not None:
        known = info if info.fingerprint else None
        return warm_plan(plan, source, given, known, keep_weights=keep_weights)
    return KeptPlan(plan) if keep_weights else plan


def find_starts(place: Path, design: Design, info: DatasetInfo | None) -> tuple[RunConfig, ...]:
    """Of each seed the run in a directory to start from, all trained in one way, the longest.

    Refuses where one is missing, or where it is not clear which is meant.
    """
    wanted = design.setup
    with Store.read(place) as store:
        known = store.dataset(wanted.data)
        if known is not None and info is not None and known.fingerprint != info.fingerprint:
            raise ArgumentError(
                f"`start_from` {str(place)!r} was made with other files of {wanted.data!r}, so its "
                "test images may be among those it learned from."
            )
        runs = [run for run in store.results() if _can_start(run.config)]
        good = [run.config for run in runs if run.status == "ok" and store.has_weights(run.run_id)]
    fits = {(c.seed, c.setup): c for c in good if _like(c.setup, wanted)}
    missing = set(design.seeds) - {seed for seed, _ in fits}
    if missing:
        raise ArgumentError(_no_start(place, wanted, min(missing), good))
    setups = dict.fromkeys(setup for _, setup in fits)
    whole = [s for s in setups if all((seed, s) in fits for seed in design.seeds)]
    if not whole:
        raise ArgumentError(
            f"No runs in {place} to start from were trained in the same way for all of seeds "
            f"{design.seeds[0]} to {design.seeds[-1]}."
        )
    epochs = max(setup.training.epochs for setup in whole)
    longest = [setup for setup in whole if setup.training.epochs == epochs]
    if len(longest) > 1:
        raise ArgumentError(
            f"{place} has runs of {len(longest)} ways of training with {epochs} epochs to start "
            "from; name a directory that has one."
        )
    return tuple(fits[seed, longest[0]] for seed in design.seeds)


def copy_starts(plan: WarmPlan, store: Store) -> None:
    """Take over the runs to start from, with their weights, so that a directory is complete."""
    missing = [config for config in plan.found if not store.has_weights(config.run_id)]
    if not missing or plan.place is None:
        return
    with Store.read(plan.place) as other:
        # First, so that nothing comes into a directory whose runs are of other files.
        for info in other.datasets():
            if info.name == plan.setup.data:
                store.add_dataset(info)
        for config in missing:
            result, there = other.result(config.run_id), store.result(config.run_id)
            assert result is not None
            probs, weights = other.probs(config.run_id), other.weights(config.run_id)
            if there is None or same_outcome(there, result):
                add_or_complete(store, result, probs=probs, weights=weights)
            else:  # The weights belong to the result that they gave.
                check_replaceable(store, there)
                store.add(result, probs=probs, weights=weights)


def _start(config: RunConfig) -> Start:
    return Start(config.run_id, config.setup.training.epochs)


def _can_start(config: RunConfig) -> bool:
    return config.is_baseline and config.start is None and config.small_count is None


def _like(setup: Setup, wanted: Setup) -> bool:
    return dataclasses.replace(setup, training=wanted.training) == wanted


def _no_start(place: Path, wanted: Setup, seed: int, good: list[RunConfig]) -> str:
    limit = "" if wanted.limit_train is None else f" of {wanted.limit_train:,}"
    there = sorted({f"{c.setup.network} (width {c.setup.width:g}, seed {c.seed})" for c in good})
    return (
        f"No run in {place} to start seed {seed} from: it takes a finished cross-entropy run on "
        f"{wanted.data} of network {wanted.network}, width {wanted.width:g}, with "
        f"{wanted.validation:,} validation images{limit}, the same split, whose weights were kept "
        f"(--keep-weights). With weights there: {', '.join(there) or 'none'}."
    )
