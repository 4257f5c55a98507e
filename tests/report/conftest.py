"""Stores filled through their own interface with made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from untrue.lab.experiments import EXPERIMENTS
from untrue.lab.plans import paper_plan
from untrue.lab.records import (
    DatasetInfo,
    Decision,
    EarlyStop,
    ExitResult,
    PenaltySpec,
    Provenance,
    RunConfig,
    RunResult,
    Sweep,
)
from untrue.lab.store import Store

NASTY = "<script>alert('x')</script>"
DIGITS = DatasetInfo("mnist-5k", ("zero", "one", NASTY, "$3$ & |*_%{z}"), (), "f", 4000, 1000)
THINGS = DatasetInfo(
    "cifar100",
    ("ant", "bee", "cod", "eel", "fox", "gnu"),
    (("insects", (0, 1)), ("fish", (2, 3)), ("mammals", (4, 5))),
    "f",
    6000,
    600,
)
Fill = Callable[..., Sweep]


def made_up(config: RunConfig, info: DatasetInfo) -> RunResult:
    """A run whose errors avoid what it is told to avoid; the same for the same config."""
    rng = np.random.default_rng([config.seed, int(config.run_id[:6], 16)])
    k = len(info.classes)

    def drawn(spec: PenaltySpec | None, strength: float) -> np.ndarray[Any, Any]:
        rate = np.full((k, k), 6.0)
        if spec is not None:
            rate[spec.mask(info)] *= 1 - strength
        np.fill_diagonal(rate, 100)
        return rng.poisson(rate).astype(np.int64)

    n_exits = config.setup.exits
    exits = [
        ExitResult(1e6 * (i + 1) ** 2, drawn(config.penalty, 0.5 * (i + 1) / n_exits), 1.1)
        for i in range(n_exits)
    ]
    stops = [
        EarlyStop(threshold, 4.0 - saved, saved, (3, 2, 1), drawn(config.penalty, 0.5 - saved / 2))
        for threshold, saved in ((0.0, 0.0), (0.4, 0.25), (0.6, 0.3), (5.0, 0.8))
    ]
    return RunResult(
        config=config,
        status="ok",
        exits=tuple(exits) if n_exits > 1 else (),
        stops=tuple(stops) if n_exits > 1 else (),
        provenance=Provenance(1.5, "2026-01-02T03:04:05+00:00", "cpu", 1, "a box", (("x", "1"),)),
        confusion=drawn(config.penalty, config.alpha),
        decisions=tuple(Decision(spec, drawn(spec, 0.5)) for spec in config.score_on),
        train_losses=(1.0, 0.5),
        best_epoch=2,
        test_loss=0.3,
        train_images=info.train_images,
        parameters=1234,
    )


def fill_store(
    folder: Path,
    experiment: str,
    info: DatasetInfo,
    *,
    skip: Callable[[RunConfig], bool] = lambda config: False,
    fail: Callable[[RunConfig], bool] = lambda config: False,
    **overrides: Any,
) -> Sweep:
    """Plan a sweep for real and store its runs, but those to `skip`, and those to `fail` failed."""
    design = EXPERIMENTS[experiment]
    plan = paper_plan(design, scale="smoke", overrides={"data": info.name, **overrides})
    # The baselines' results, from which a small-sample experiment chooses its classes.
    first = {config.run_id: made_up(config, info) for config in plan.configs(info)}
    configs = plan.configs(info, first.get)
    command = f"untrue run {experiment} --data {info.name} --out {folder.name}"
    sweep = Sweep(experiment, info.name, "smoke", command, plan.expected, configs)
    with Store.write(folder) as store:
        store.add_dataset(info)
        store.add_sweep(sweep)
        for config in configs:
            result = made_up(config, info)
            if fail(config):
                error = "Traceback:\nArithmeticError: loss became NaN\n"
                empty = np.zeros((0, 0), dtype=np.int64)
                result = RunResult(config, "failed", result.provenance, empty, error=error)
            if not skip(config):
                store.add(result)
    return sweep


@pytest.fixture
def fill() -> Fill:
    return fill_store


@pytest.fixture
def digits() -> DatasetInfo:
    """Four classes; two with names that are no good manners."""
    return DIGITS


@pytest.fixture
def things() -> DatasetInfo:
    """Six classes in three super-classes, under the name of the paper's data set."""
    return THINGS


@pytest.fixture(scope="session")
def zone_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished masked-zone sweep: 2 sizes, 2 alphas, 2 losses, 3 repetitions. To be read only."""
    folder = tmp_path_factory.mktemp("zone") / "runs"
    fill_store(folder, "demo", DIGITS, zone_size=(3, 6), alpha=(0.0, 0.5, 0.9), repetitions=3)
    return folder
