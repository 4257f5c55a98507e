"""Stores of made-up comparisons, filled through their own interface."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from untrue.lab.records import (
    DatasetInfo,
    Decision,
    PenaltySpec,
    Provenance,
    RunConfig,
    RunResult,
    Setup,
    Sweep,
    Validated,
)
from untrue.lab.store import Store
from untrue.report.compare.settings import Comparison
from untrue.report.document.tables import Table
from untrue.report.runs.rows import collect
from untrue.training import Settings

STRENGTHS: dict[str, tuple[float, ...]] = {
    "bilinear": (0.5, 0.9),
    "log-bilinear": (0.5, 0.9),
    "class-weighted": (0.5, 1.0),
    "cost-smoothed": (0.05, 0.2),
    "soft-labels": (5.0, 20.0),
    "hxe": (0.1, 0.5),
    "sosr": (1.0, 5.0),
    "squared-emd": (0.1, 1.0),
}
# Of the errors in the costly cells, the share that is left: by training, and by the decision rule.
LEFT = {"bilinear": 0.6, "log-bilinear": 0.4, "soft-labels": 0.7, "sosr": 0.3}
RULE = 0.35


Fill = Callable[..., Sweep]
Zones = Callable[[DatasetInfo, int], Callable[[int], PenaltySpec]]
EVERY = (
    *("ce", "bilinear", "log-bilinear", "class-weighted", "cost-smoothed", "soft-labels"),
    *("hxe", "sosr", "squared-emd", "conditional-softmax"),
)
# Losses that leave all errors where they are, so that only the decision rule moves any.
USELESS = dict.fromkeys(EVERY, 1.0)


def configs(
    info: DatasetInfo, costs: Callable[[int], PenaltySpec], methods: tuple[str, ...], seeds: range
) -> tuple[RunConfig, ...]:
    """Every method over its strengths, repetition by repetition."""
    made = []
    for seed in seeds:
        spec = costs(seed)
        common: dict[str, Any] = {
            "setup": Setup(info.name, "mnist", Settings(epochs=2), validation=100),
            "seed": seed,
            "score_on": (spec,),
            "calibrate": True,
        }
        for name in methods:
            if name == "ce":
                made.append(RunConfig(**common))
            elif name == "conditional-softmax":
                made.append(RunConfig(loss=name, penalty=spec, **common))
            else:
                knob = "alpha" if "bilinear" in name else "strength"
                made += [
                    RunConfig(loss=name, penalty=spec, **{knob: value}, **common)
                    for value in STRENGTHS[name]
                ]
    return tuple(made)


def outcome(
    config: RunConfig, info: DatasetInfo, left: Mapping[str, float], rate: float
) -> RunResult:
    """Errors that avoid the costly cells as far as `left` and the decision rule say."""
    rng = np.random.default_rng([config.seed, int(config.run_id[:6], 16)])
    (spec,) = config.score_on
    costly, k = spec.mask(info), len(info.classes)
    power = config.alpha or min(1.0, (config.strength or 0.0) / 5)
    by_training = 1 - (1 - left.get(config.loss, 0.9)) * power if config.penalty else 1.0

    def drawn(by_rule: float, more: float) -> np.ndarray[Any, Any]:
        means = np.full((k, k), rate * (1 + more))
        means[costly] *= by_training * by_rule
        means *= 1 + 0.3 * (1 - by_training)
        np.fill_diagonal(means, 300.0)
        return rng.poisson(means).astype(np.int64)

    decisions: tuple[Decision, ...] = ()
    if config.loss != "sosr":
        decisions = (
            Decision(spec, drawn(RULE * 1.2, 0.45), calibrated=False),
            Decision(spec, drawn(RULE, 0.4), calibrated=True),
        )
    took = 2.0 + len(config.loss) / 10
    return RunResult(
        config=config,
        status="ok",
        provenance=Provenance(took, "2026-01-02T03:04:05+00:00", "cpu", 1, "a box", (("x", "1"),)),
        confusion=drawn(1.0, 0.0),
        decisions=decisions,
        train_losses=(1.0, 0.5),
        best_epoch=2,
        test_loss=0.3,
        train_images=info.train_images,
        parameters=1234,
        temperature=1.4 if decisions else None,
        ece=(0.05, 0.02) if decisions else None,
    )


def fill_comparison(
    folder: Path,
    info: DatasetInfo,
    costs: Callable[[int], PenaltySpec],
    *,
    methods: tuple[str, ...] = ("ce", "bilinear", "soft-labels", "sosr"),
    repetitions: int = 3,
    skip: Callable[[RunConfig], bool] = lambda config: False,
    fail: Callable[[RunConfig], bool] = lambda config: False,
    left: Mapping[str, float] = LEFT,
    rate: float = 6.0,
    change: Callable[[RunResult], RunResult] = lambda result: result,
    validated: bool = True,
) -> Sweep:
    """A comparison in a store, but for the runs to `skip`, and with those to `fail` failed.

    left: of the errors in the costly cells, the share a loss leaves at full strength. rate: errors
    per cell. change: a last word on each result. validated: the validation examples are scored, if
    nothing else is said as the test examples are.
    """
    planned = configs(info, costs, methods, range(repetitions))
    command = f"untrue compare --data {info.name} --out {folder.name}"
    sweep = Sweep("compare", info.name, "desk", command, len(planned), planned)
    with Store.write(folder) as store:
        store.add_dataset(info)
        store.add_sweep(sweep)
        for config in planned:
            if skip(config):
                continue
            result = outcome(config, info, left, rate)
            if fail(config):
                empty = np.zeros((0, 0), dtype=np.int64)
                error = "Traceback:\nArithmeticError: loss became NaN\n"
                result = RunResult(config, "failed", result.provenance, empty, error=error)
            result = change(result)
            if validated and not result.validated and result.status == "ok":
                result = dataclasses.replace(result, validated=as_tested(result, info))
            store.add(result)
    return sweep


def as_tested(result: RunResult, info: DatasetInfo) -> tuple[Validated, ...]:
    """Validation examples on which each way to decide does as well as on the test examples."""
    (spec,) = result.config.score_on
    costs = spec.matrix(info)
    found: list[tuple[Any, Any]] = [("argmax", result.confusion)]
    found += [(decision.rule, decision.confusion) for decision in result.decisions]
    return tuple(
        Validated(rule, 1 - np.trace(cm) / cm.sum(), (cm * costs).sum() / cm.sum())
        for rule, cm in found
    )


def random_zones(info: DatasetInfo, cells: int) -> Callable[[int], PenaltySpec]:
    """Another random zone for each repetition: 10 inside, 1 outside."""
    k = len(info.classes)
    every = [(i, j) for i in range(k) for j in range(k) if i != j]

    def spec(seed: int) -> PenaltySpec:
        chosen = np.random.default_rng(seed).choice(len(every), cells, replace=False)
        return PenaltySpec("zone", 10.0, 1.0, tuple(every[i] for i in sorted(chosen.tolist())))

    return spec


@pytest.fixture
def fill() -> Callable[..., Sweep]:
    return fill_comparison


@pytest.fixture
def zones() -> Callable[[DatasetInfo, int], Callable[[int], PenaltySpec]]:
    return random_zones


def compared(folder: Path) -> Comparison:
    with Store.read(folder) as store:
        (found,) = collect(store)
    return Comparison(found)


def parsed(table: Table) -> list[dict[str, str]]:
    """A table as its CSV file says it."""
    return list(csv.DictReader(io.StringIO(table.to_csv())))
