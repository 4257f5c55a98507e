"""The plan of `untrue compare`: every method on the same splits, seeds and settings. No torch.

A repetition has one seed: it draws the split, the first weights, the order of the batches and,
where the penalty is a random zone, the zone. Each repetition trains plain cross-entropy once and
every other method once for each of its strengths, all with the same penalty; every model is then
asked for its own answer, for that of least expected cost, and for that after calibration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from untrue.checks import check_known
from untrue.errors import ArgumentError, PenaltyError, nearest
from untrue.lab import plans
from untrue.lab.boosted import without_loss
from untrue.lab.compare_scales import strengths
from untrue.lab.data import NAMES, TABLES
from untrue.lab.data.tables import official_costs
from untrue.lab.design import SCALES, Design, made_from
from untrue.lab.plans import FindRun, no_runs
from untrue.lab.records import METHODS, DatasetInfo, PenaltySpec, RunConfig
from untrue.losses import registry
from untrue.penalty import Penalty, TreePenalty
from untrue.penalty.stated import has_names, penalty_over
from untrue.tools.fitting.learners import BOOSTERS, MODELS

ON_TOP = "+cost"
MOST_CLASSES = 500
# Options that boosted trees do not have.
OF_NETWORKS = ("epochs", "batch_size", "optimizer", "weight_decay", "schedule", "width")
# What mistakes cost unless a person says.
USUAL, OFFICIAL = "zone:20", "official"


@dataclasses.dataclass(frozen=True, slots=True)
class CostPlan:
    """What mistakes cost: a random zone of `zone_size` cells drawn by each seed, or one `fixed`."""

    zone_size: int = 0
    fixed: PenaltySpec | None = None

    def of(self, info: DatasetInfo, seed: int) -> PenaltySpec:
        """The costs of a repetition, as they are charged."""
        if self.fixed is not None:
            return self.fixed
        drawn = plans.zone(info, self.zone_size, seed, "none")
        return dataclasses.replace(drawn, inside=plans.ZONE_COST, outside=1.0)


@dataclasses.dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """The runs of a comparison.

    methods: (name, strengths) in their order; "ce" is trained whatever they are.
    """

    design: Design
    costs: CostPlan
    methods: tuple[tuple[str, tuple[float, ...]], ...]
    name: str = "compare"

    def __post_init__(self) -> None:
        if self.design.setup.validation < 1:
            raise ArgumentError(
                "`validation` must be at least 1: the temperature is found on those images; "
                f"got {self.design.setup.validation}."
            )

    @property
    def expected(self) -> int:
        """How many runs it comes to."""
        others = sum(max(1, len(values)) for name, values in self.methods if name != "ce")
        return (1 + others) * self.design.repetitions

    def configs(self, info: DatasetInfo, _find_run: FindRun = no_runs, /) -> tuple[RunConfig, ...]:
        """The runs in their order, repetition by repetition; none waits for another."""
        runs: list[RunConfig] = []
        for seed in self.design.seeds:
            costs = self.costs.of(info, seed)
            spec = dataclasses.replace(costs, normalization=self.design.normalization)
            baseline = RunConfig(self.design.setup, seed, score_on=(costs,), calibrate=True)
            runs.append(baseline)
            for name, values in self.methods:
                runs += _runs(baseline, name, values, spec)
        return tuple(runs)


def _runs(
    baseline: RunConfig, name: str, values: tuple[float, ...], spec: PenaltySpec
) -> Iterable[RunConfig]:
    if name == "ce":
        return
    if name in registry.MIXED:
        for alpha in values:
            yield dataclasses.replace(baseline, loss=name, alpha=alpha, penalty=spec)
    else:
        costs = spec if registry.find(name).needs else None
        for strength in values or (None,):
            yield dataclasses.replace(baseline, loss=name, strength=strength, penalty=costs)


def comparison_plan(
    info: DatasetInfo,
    costs: CostPlan,
    methods: tuple[tuple[str, tuple[float, ...]], ...],
    options: Mapping[str, Any],
    *,
    all_named: bool = False,
) -> tuple[ComparisonPlan, tuple[str, ...]]:
    """The comparison of the methods that can take part, and a line on each that cannot.

    options: of the design, by name. all_named: the person named the methods, so that one which
    cannot take part is an error.
    """
    design = made_from(Design, {**options, "data": info.name})
    named = [name for name, _ in methods]
    absent = without_loss(named, design.setup.network)
    absent |= left_out(named, costs.of(info, design.seed), info)
    if absent and all_named:
        name, reason = next(iter(absent.items()))
        raise ArgumentError(f"The method {name} {reason}. Leave it out of `methods`.")
    notes = tuple(f"Left out: {name} {reason}." for name, reason in absent.items())
    kept = tuple((name, values) for name, values in methods if name not in absent)
    return ComparisonPlan(design, costs, kept), notes


def with_model(given: Mapping[str, Any], model: str | None) -> dict[str, Any]:
    """The options given, for the model that `--model` (or `--network`) names.

    "network" is what fits the data. The rounds of boosted trees are the epochs of a run.
    """
    if model is not None and "network" in given:
        raise ArgumentError("Give `model` or `network`, not both: they name the same.")
    name = model or given.get("network")
    if model is not None:
        check_known("model", model, MODELS)
    found = dict(given)
    if name in BOOSTERS:
        not_for_trees = next((each for each in OF_NETWORKS if each in given), None)
        if not_for_trees is not None:
            instead = " Give `rounds`." if not_for_trees == "epochs" else ""
            raise ArgumentError(
                f"`{not_for_trees}` belongs to a network; with model {name!r} it has no effect."
                f"{instead}"
            )
        found |= {"epochs": found.pop("rounds")} if "rounds" in given else {}
    elif "rounds" in given:
        which = "a network" if name is None else f"model {name!r}"
        raise ArgumentError(
            f"`rounds` belongs to boosted trees (`model` {' or '.join(BOOSTERS)}); with {which} it "
            "has no effect. Give `epochs`."
        )
    return found if model in (None, "network") else {**found, "network": model}


def classes_of(text: str | None) -> tuple[str, ...]:
    """The classes that a file of costs names; none when it names none or is no file."""
    if text is None or not Path(text).is_file():
        return ()
    penalty = Penalty.load(text)
    return penalty.classes if has_names(penalty) else ()


def read_costs(text: str | None, info: DatasetInfo) -> CostPlan:
    """From what a person typed: `zone:20`, `hierarchy`, `official`, or a file of costs.

    None: the official costs of a table of the lab, `USUAL` for its images; own data need costs.
    """
    official = None
    if info.name in TABLES and info.classes == official_costs(info.name).classes:
        official = official_costs(info.name)
    if text is None and info.name not in NAMES:
        k = len(info.classes)
        raise ArgumentError(
            f"`penalty` (--penalty) must say what mistakes cost in data of your own: a file of "
            f"costs, made with `untrue penalty new`, or zone:N, a random zone of N kinds of "
            f"mistake, N from 1 to {k * (k - 1)} with {k} classes."
        )
    if text is None:
        text = USUAL if official is None else OFFICIAL
    if text == OFFICIAL:
        if official is None:
            raise ArgumentError(
                f"`penalty` 'official' is for {' and '.join(TABLES)}, whose costs are published; "
                f"{info.name!r} has none. Give a file of costs, or zone:N."
            )
        return CostPlan(fixed=own_costs(official))
    kind, colon, size = text.partition(":")
    if kind == "zone" and colon:
        return CostPlan(zone_size=_zone_size(size, len(info.classes)))
    if text == "hierarchy":
        if not info.groups:
            raise ArgumentError(
                f"`penalty` 'hierarchy' needs a data set with super-classes (cifar100); "
                f"{info.name!r} has none. Give a file of costs, or zone:N."
            )
        return CostPlan(fixed=plans.GROUP_COSTS)
    if not Path(text).exists():
        raise ArgumentError(
            f"`penalty` must be a file of costs (.csv, .json, .toml, .npy), zone:N, hierarchy or "
            f"official; "
            f"got {text!r}, and there is no such file."
        )
    return CostPlan(fixed=own_costs(_over_classes(text, info)))


def _over_classes(file: str, info: DatasetInfo) -> Penalty:
    """The costs of a file in the order of the data's classes, by name."""
    penalty = Penalty.load(file)
    absent = [name for name in info.classes if name not in penalty.classes]
    if has_names(penalty) and absent:
        raise PenaltyError(
            f"{file}: holds no class {absent[0]!r}, which {info.name} has"
            f"{nearest(absent[0], penalty.classes) or '.'} The classes of a data set: "
            "`untrue data show NAME`."
        )
    return penalty_over(penalty, info.classes)


def own_costs(penalty: Penalty) -> PenaltySpec:
    """A penalty as a record: its matrix, and its hierarchy when it was made from one."""
    if penalty.n_classes > MOST_CLASSES:
        raise ArgumentError(
            f"`penalty` has {penalty.n_classes} classes; a comparison keeps the whole matrix with "
            f"every run, and takes at most {MOST_CLASSES}."
        )
    matrix = penalty.matrix()
    if not matrix.any():
        raise ArgumentError("`penalty` charges nothing for any mistake: there is no cost to avoid.")
    edges = tuple(penalty.hierarchy.edges()) if isinstance(penalty, TreePenalty) else ()
    rows = tuple(tuple(float(cost) for cost in row) for row in matrix)
    return PenaltySpec("matrix", costs=rows, edges=edges)


def _zone_size(text: str, k: int) -> int:
    most = k * (k - 1)
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise ArgumentError(
            f"`penalty` zone:N takes N cells of the confusion matrix off its diagonal, 1 to "
            f"{most} with {k} classes; got {text!r}."
        )
    return int(text)


def read_methods(text: str | None) -> tuple[str, ...]:
    """Names from "ce,ce+cost,bilinear"; all when None. `+cost` asks for nothing that is not shown:
    every model is decided both ways."""
    if text is None:
        return METHODS
    names = [name.strip().removesuffix(ON_TOP) for name in text.split(",") if name.strip()]
    for name in names:
        if name not in METHODS:
            raise ArgumentError(
                f"Unknown method {name!r}{nearest(name, METHODS) or '.'} "
                f"Known: {', '.join(METHODS)}, each also as NAME{ON_TOP}."
            )
    if not names:
        raise ArgumentError(f"`methods` names none; known: {', '.join(METHODS)}.")
    return tuple(dict.fromkeys(names))


def read_strengths(texts: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """By method, from "bilinear=0.3,0.6"."""
    found: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        tunable = [entry.name for entry in registry.COMPARED if entry.knob]
        if not equals or name not in tunable:
            hint = nearest(name, tunable) or "."
            raise ArgumentError(
                f"`strength` must be METHOD=VALUE,VALUE with a method of {', '.join(tunable)}; "
                f"got {text!r}{hint}"
            )
        try:
            found[name] = tuple(float(value) for value in values.split(","))
        except ValueError:
            raise ArgumentError(
                f"`strength` of {name} must be numbers with commas between; got {values!r}."
            ) from None
        if len(set(found[name])) < len(found[name]):
            raise ArgumentError(f"`strength` of {name} names a value twice: {values}.")
    return found


def with_strengths(
    methods: Iterable[str], scale: str, own: Mapping[str, tuple[float, ...]]
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Each method with the strengths of the scale, or those a person chose for it."""
    check_known("scale", scale, SCALES)
    methods = tuple(methods)
    for name in own:
        if name not in methods:
            raise ArgumentError(f"`strength` is given for {name}, which is not compared.")
    return tuple((name, own.get(name) or strengths(name, scale)) for name in methods)


def left_out(methods: Iterable[str], costs: PenaltySpec, info: DatasetInfo) -> dict[str, str]:
    """Of the methods those that cannot take part, each with the reason."""
    matrix = costs.matrix(info)
    need_hierarchy = {entry.label for entry in registry.COMPARED if "hierarchy" in entry.needs}
    found = {}
    for name in methods:
        if name in need_hierarchy and costs.kind != "groups" and not costs.edges:
            found[name] = "needs a hierarchy, and this penalty has none"
        if name == "class-weighted" and np.ptp(matrix.sum(axis=1)) == 0:
            found[name] = "is plain cross-entropy here: every true class costs the same in all"
    return found
