"""From a store to tidy rows: one for each finished run, decision rule and zone.

A baseline of a masked-zone sweep is scored on every zone of its repetition and so has several
rows; all other runs have one row per decision rule. Shares and errors are in percent.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from untrue import metrics
from untrue.array_types import BoolArray, IntArray
from untrue.lab.experiments import EXPERIMENTS
from untrue.lab.records import DatasetInfo, Decision, PenaltySpec, RunConfig, RunResult, Sweep
from untrue.lab.records import Rule as DecisionRule
from untrue.lab.store import Store
from untrue.metrics.confusion import read_confusion
from untrue.penalty import Penalty
from untrue.storage import Damaged

Rule: TypeAlias = DecisionRule | Literal["early-exit"]
Kind = Literal["zone", "hierarchy", "small", "exits", "compare"]
Zone: TypeAlias = tuple[tuple[int, int], ...]
# Of the measures those that rows have for training images, too.
TRAINED = ("zone_errors", "zone_share_pct", "coarse_error_pct", "errors_in_superclass_pct")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one run did under one decision rule, in one zone. None: has no meaning here.

    costs: of the least-cost decision, 'zone 10, else 1'. zone: its cells as 'true>predicted'.
    expected_cost: mean cost of an answer under the costs of the least-cost decision.
    knob, strength: of a rival loss, whose strength is not called alpha. ece_pct: of the
    probabilities decided by, so after calibration where the decision is calibrated.
    zone_errors of costs by a matrix: the mistakes in the zone of such a penalty.
    zone_share_pct: of the errors, those in the zone. errors_in_superclass_pct: of the errors,
    those that stay in the right super-class (nan: there are no errors).
    small_class_superclass_accuracy_pct: of the small classes' test images, those put in the
    right super-class.
    exits: of the network; exit_costs: their penalties (see `RunConfig`). exit: which one a row is
    about, from 1; None: the last, or with early stopping any. work: multiplications for an image
    up to that exit. threshold: of early stopping; saved_pct: the multiplications it saved;
    answer_seconds: what answering all test images took.
    error_confidence_pct: mean probability of the answers that are errors; zone_error_confidence_pct
    of those in the zone (of super-classes: in the wrong one). confident_*: how many errors have
    a probability above 90 %. train_*: the measure on training images, as many as test images.
    cost_share: of a softened decision, how far its costs go from equal ones to those given.
    validation_*: on the validation images. clipped_pct: images whose probabilities stand for no
    posterior.
    """

    sweep: str
    scale: str
    run_id: str
    seed: int
    loss: str
    alpha: float
    decision: Rule
    costs: str
    normalization: str
    zone_size: int | None
    zone: str
    small_count: int | None
    epochs_run: int
    train_images: int
    test_images: int
    errors: int
    total_error_pct: float
    accuracy_pct: float
    zone_errors: int | None = None
    zone_share_pct: float | None = None
    coarse_error_pct: float | None = None
    errors_in_superclass_pct: float | None = None
    small_class_accuracy_pct: float | None = None
    small_class_superclass_accuracy_pct: float | None = None
    test_loss: float | None
    seconds: float
    knob: str = ""
    strength: float | None = None
    expected_cost: float | None = None
    ece_pct: float | None = None
    temperature: float | None = None
    exits: int = 1
    exit_costs: str = "same"
    exit: int | None = None
    work: float | None = None
    threshold: float | None = None
    saved_pct: float | None = None
    answer_seconds: float | None = None
    error_confidence_pct: float | None = None
    zone_error_confidence_pct: float | None = None
    confident_errors: int | None = None
    confident_zone_errors: int | None = None
    train_error_pct: float | None = None
    train_zone_errors: int | None = None
    train_zone_share_pct: float | None = None
    train_coarse_error_pct: float | None = None
    train_errors_in_superclass_pct: float | None = None
    validation_error_pct: float | None = None
    validation_cost: float | None = None
    clipped_pct: float | None = None
    cost_share: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """A sweep with what is there of it. missing: planned and not made yet.

    damaged: in the store, but not to be trusted. unplanned: models whose configs wait for the
    results of others. starts: the runs whose weights the others continue from.
    """

    sweep: Sweep
    info: DatasetInfo
    results: tuple[RunResult, ...]
    failed: tuple[RunResult, ...]
    missing: tuple[RunConfig, ...]
    damaged: tuple[RunConfig, ...]
    rows: tuple[Row, ...]
    starts: tuple[RunResult, ...] = ()

    @property
    def done(self) -> int:
        """How many of the sweep's models are there, those that others continue from too."""
        planned = {config.run_id for config in self.sweep.configs}
        starts = [run for run in self.starts if run.status == "ok" and run.run_id in planned]
        return len(self.results) + len(starts)

    @property
    def unplanned(self) -> int:
        return max(0, self.sweep.expected - len(self.sweep.configs))

    @property
    def overlap(self) -> float:
        """Of the repetitions, as in `mean_interval`: where each draws its own test part."""
        return self.info.test_images / self.info.train_images if self.info.drawn_test else 0.0

    @property
    def kind(self) -> Kind:
        """Which chapter shows it."""
        if self.sweep.experiment == "compare":
            return "compare"
        known = EXPERIMENTS.get(self.sweep.experiment)
        if known is not None:
            return known.kind
        specs = [s for c in self.sweep.configs for s in (c.penalty, *c.score_on) if s is not None]
        return "zone" if any(spec.kind == "zone" for spec in specs) else "hierarchy"


def collect(store: Store) -> tuple[Collected, ...]:
    """Every sweep of a store with its finished runs as rows.

    One whose data set is damaged in the store is left out: nothing is known of its classes.
    """
    sweeps = ((sweep, store.dataset(sweep.data)) for sweep in store.sweeps())
    return tuple(_collected(store, sweep, info) for sweep, info in sweeps if info is not None)


def to_csv(rows: Iterable[Row]) -> str:
    """The rows as CSV at full precision; empty where a column has no meaning."""
    names = [field.name for field in dataclasses.fields(Row)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        values = [getattr(row, name) for name in names]
        writer.writerow(
            ["" if v is None or (isinstance(v, float) and math.isnan(v)) else v for v in values]
        )
    return text.getvalue()


def _collected(store: Store, sweep: Sweep, info: DatasetInfo) -> Collected:
    starts = {config.start.run_id: config.start for config in sweep.configs if config.start}
    # What others continue from is no baseline of theirs: cross-entropy is continued as they are.
    configs = [config for config in sweep.configs if config.run_id not in starts]
    found = [(config, store.run(config.run_id)) for config in configs]
    runs = [(config, run) for config, run in found if isinstance(run, RunResult)]
    good = [(config, run) for config, run in runs if run.status == "ok"]
    small = next((c.small_classes for c in sweep.configs if c.small_classes), ())
    return Collected(
        sweep=sweep,
        info=info,
        results=tuple(run for _, run in good),
        failed=tuple(run for _, run in runs if run.status == "failed"),
        missing=tuple(config for config, run in found if run is None),
        damaged=tuple(config for config, run in found if isinstance(run, Damaged)),
        rows=tuple(row for config, run in good for row in _rows(sweep, config, run, info, small)),
        starts=tuple(run for run_id in starts if (run := store.result(run_id)) is not None),
    )


def _rows(
    sweep: Sweep, config: RunConfig, result: RunResult, info: DatasetInfo, small: tuple[int, ...]
) -> Iterator[Row]:
    """`config` is the sweep's: the stored one of a shared baseline may know fewer zones."""
    specs = [config.penalty] if config.penalty else list(config.score_on)
    zones = dict.fromkeys(spec.cells for spec in specs if spec.kind == "zone")
    for cells in zones or {(): None}:
        scored = next((spec for spec in config.score_on if spec.cells == cells), None)
        by_matrix = scored if scored is not None and scored.kind == "matrix" else None
        zone = PenaltySpec("zone", 1.0, 0.0, cells) if cells else by_matrix
        made: list[tuple[str, str, IntArray, dict[str, Any]]] = [
            ("argmax", "", result.confusion, _of_answers(result, info, zone, scored))
        ]
        made += [
            (d.rule, _costs(d.costs), d.confusion, _of_decision(result, d))
            for d in result.decisions
            if d.costs.cells == cells
            and d.costs in config.score_on
            # A comparison in the same directory may have decided a shared run in more ways.
            and (config.calibrate or d.rule == "least-cost")
        ]
        made += _of_exits(result, "" if scored is None else _costs(scored))
        for rule, costs, confusion, more in made:
            counted = _counted(confusion, info, zone, scored, small)
            yield Row(
                sweep=sweep.name,
                scale=sweep.scale,
                run_id=config.run_id,
                seed=config.seed,
                loss=config.loss,
                alpha=config.alpha,
                decision=rule,  # type: ignore[arg-type]
                costs=costs,
                normalization=config.penalty.normalization if config.penalty else "",
                zone_size=len(cells) or None,
                zone=_named(cells),
                small_count=config.small_count,
                epochs_run=result.epochs_run,
                train_images=result.train_images,
                test_loss=result.test_loss,
                seconds=result.provenance.seconds,
                knob=config.knob[0] if config.knob and config.strength is not None else "",
                strength=config.strength,
                temperature=result.temperature,
                exits=config.setup.exits,
                exit_costs=config.exit_costs,
                **more,
                **counted,  # type: ignore[arg-type]
            )


def _of_decision(result: RunResult, decision: Decision) -> dict[str, Any]:
    """What is kept of a run beside its confusion matrices, for a decision by costs."""
    found = _validated(result, decision.rule, decision.costs, decision.share)
    if decision.posterior:
        found["clipped_pct"] = None if result.clipped is None else 100.0 * result.clipped
    elif result.ece is not None:
        found["ece_pct"] = 100.0 * result.ece[decision.calibrated]
    if decision.share < 1.0:
        found["cost_share"] = decision.share
    return found


def _validated(
    result: RunResult, rule: str, costs: PenaltySpec | None, share: float = 1.0
) -> dict[str, Any]:
    """How a way to decide does on the validation images, if they were judged by these costs."""
    if result.config.score_on[:1] != (costs,):
        return {}
    return {
        name: value
        for each in result.validated
        if (each.rule, each.share) == (rule, share)
        for name, value in (
            ("validation_error_pct", 100.0 * each.error),
            ("validation_cost", each.cost),
        )
    }


def _of_answers(
    result: RunResult,
    info: DatasetInfo,
    zone: PenaltySpec | None,
    charged: PenaltySpec | None,
) -> dict[str, Any]:
    """The same for the most probable labels."""
    found = _validated(result, "argmax", charged)
    if result.ece is not None:
        found["ece_pct"] = 100.0 * result.ece[0]
    if result.confidence is not None:
        wrong = ~np.eye(len(result.confusion), dtype=bool)
        parts = {"": wrong}
        costly = zone or charged
        if costly is not None:
            parts["zone_"] = wrong & _mask(costly, info)
        for name, cells in parts.items():
            count, sure = result.confusion[cells].sum(), result.confidence.total[cells].sum()
            found[f"{name}error_confidence_pct"] = 100.0 * sure / count if count else math.nan
            found[f"confident_{name}errors"] = int(result.confidence.high[cells].sum())
    if result.train_confusion is not None and result.train_confusion.sum():
        counted = _counted(result.train_confusion, info, zone, None, ())
        found["train_error_pct"] = counted["total_error_pct"]
        found |= {f"train_{name}": counted[name] for name in TRAINED if name in counted}
    return found


def _of_exits(result: RunResult, costs: str) -> list[tuple[str, str, IntArray, dict[str, Any]]]:
    """Of a network with several exits: each of them, and early stopping at each threshold."""
    exits = [
        ("argmax", "", each.confusion, {"exit": number, "work": each.work})
        for number, each in enumerate(result.exits, start=1)
    ]
    stops = [
        (
            "early-exit",
            costs,
            stop.confusion,
            {
                "threshold": stop.threshold,
                "saved_pct": 100.0 * stop.saved,
                "answer_seconds": stop.seconds,
            },
        )
        for stop in result.stops
    ]
    return exits + stops


def _costs(spec: PenaltySpec) -> str:
    if spec.kind == "matrix":
        return "by a matrix"
    if spec.kind == "zone":
        return f"zone {spec.inside:g}, else {spec.outside:g}"
    return f"super-class {spec.inside:g}, else {spec.outside:g}"


def _counted(
    confusion: IntArray,
    info: DatasetInfo,
    zone: PenaltySpec | None,
    charged: PenaltySpec | None,
    small: tuple[int, ...],
) -> dict[str, float | int]:
    """Every measure of a confusion matrix (k, k) that has a meaning here.

    zone: whose cells are counted. charged: the costs of a mean answer.
    """
    cells = read_confusion(confusion)
    error = metrics.total_error(cells)
    counted: dict[str, float | int] = {
        "test_images": cells.total,
        "errors": int(cells.count[cells.wrong].sum()),
        "total_error_pct": 100.0 * error,
        "accuracy_pct": 100.0 * (1.0 - error),
    }
    if zone is not None:
        mask = _mask(zone, info)
        counted["zone_errors"] = metrics.zone_errors(cells, mask)
        counted["zone_share_pct"] = 100.0 * metrics.zone_share(cells, mask)
    if charged is not None:
        counted["expected_cost"] = metrics.expected_cost(cells, _penalty(charged, info))
    if info.groups:
        group = info.group_of()
        counted["coarse_error_pct"] = 100.0 * metrics.coarse_error(cells, group)
        counted["errors_in_superclass_pct"] = 100.0 * metrics.in_group_share(cells, group)
        if small:
            accuracy = metrics.small_class_accuracy(cells, small)
            right_group = metrics.super_class_accuracy(cells, group, subset=small)
            counted["small_class_accuracy_pct"] = 100.0 * accuracy
            counted["small_class_superclass_accuracy_pct"] = 100.0 * right_group
    return counted


# Every alpha and loss of a repetition has the same costs and zones.
@lru_cache(maxsize=1024)
def _mask(spec: PenaltySpec, info: DatasetInfo) -> BoolArray:
    return spec.mask(info)


@lru_cache(maxsize=1024)
def _penalty(spec: PenaltySpec, info: DatasetInfo) -> Penalty:
    return Penalty.from_matrix(spec.matrix(info), info.classes)


@lru_cache(maxsize=1024)
def _named(cells: Zone) -> str:
    return " ".join(f"{true}>{predicted}" for true, predicted in cells)
