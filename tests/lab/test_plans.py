"""Plans: counts, pairing, and the order that makes a stopped sweep useful."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from untrue.errors import ArgumentError
from untrue.lab.design import SCALES
from untrue.lab.experiments import EXPERIMENTS, find
from untrue.lab.plans import PaperPlan, paper_plan, zone
from untrue.lab.provenance import provenance
from untrue.lab.records import DatasetInfo, RunConfig, RunResult

TEN = DatasetInfo("mnist", tuple("0123456789"), (), "f", 60_000, 10_000)
GROUPED = DatasetInfo(
    "cifar100",
    tuple(f"class {i}" for i in range(100)),
    tuple((f"group {g}", tuple(range(5 * g, 5 * g + 5))) for g in range(20)),
    "f",
    50_000,
    10_000,
)


# Only the first class of each group errs inside it, so these are the typical ones.
TYPICAL = tuple(range(0, 100, 5))


def finished(plan: PaperPlan) -> dict[str, RunResult]:
    """Runs of the baselines of a small-sample experiment."""
    counts = 5 * np.eye(100, dtype=np.int64)
    counts[TYPICAL, [c + 1 for c in TYPICAL]] = 1
    made = provenance(1.0, device="cpu", threads=1)
    return {c.run_id: RunResult(c, "ok", made, counts) for c in plan.configs(GROUPED)}


def runs(name: str, scale: str, **overrides: object) -> tuple[RunConfig, ...]:
    plan = paper_plan(find(name), scale=scale, overrides=overrides)
    if find(name).kind == "zone":
        return plan.configs(TEN)
    return plan.configs(GROUPED, finished(plan).get)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("scale", SCALES)
def test_the_number_of_models_is_known_before(name: str, scale: str) -> None:
    planned = runs(name, scale)
    assert len(planned) == paper_plan(find(name), scale=scale).expected
    assert len({config.run_id for config in planned}) == len(planned)


@pytest.mark.parametrize(
    ("name", "overrides", "models"),
    [
        # The paper's 2 x 1,500 with one baseline in place of ten per repetition.
        ("masked-zone", {}, 50 * (1 + 5 * 5 * 2)),
        ("masked-zone", {"data": "cifar10"}, 10 * (1 + 5 * 5 * 2)),
        ("hierarchy", {}, 10 * (1 + 7 * 2)),
        ("small-sample", {}, 10 * (1 + 3 * 3)),
    ],
)
def test_the_papers_protocol_in_models(
    name: str, overrides: dict[str, object], models: int
) -> None:
    assert len(runs(name, "paper", **overrides)) == models


def test_desk_scale_is_what_the_documentation_shows() -> None:
    planned = runs("masked-zone", "desk")
    assert len(planned) == 57
    assert {config.alpha for config in planned} == {0, 0.5, 0.9, 0.99}
    hierarchy = runs("hierarchy", "desk")
    assert len(hierarchy) == 14
    assert {config.setup.width for config in hierarchy} == {0.25}


def test_zones_are_drawn_per_repetition_and_shared_by_alphas_and_losses() -> None:
    planned = runs("masked-zone", "desk")
    zones: dict[tuple[int, int], set[object]] = {}
    for config in planned:
        if config.penalty is not None:
            key = (config.seed, config.penalty.zone_size)
            zones.setdefault(key, set()).add(config.penalty.cells)
    assert len(zones) == 9
    assert all(len(drawn) == 1 for drawn in zones.values())
    assert len({cells for drawn in zones.values() for cells in drawn}) == 9


def test_a_zone_has_exactly_n_cells_off_the_diagonal() -> None:
    for size in (1, 10, 90):
        cells = zone(TEN, size, 3, "rows").cells
        assert len(set(cells)) == size
        assert all(true != predicted for true, predicted in cells)
        assert zone(TEN, size, 3, "rows").cells == cells


def test_one_baseline_a_repetition_is_scored_on_every_zone() -> None:
    planned = runs("masked-zone", "desk")
    baselines = [config for config in planned if config.is_baseline]
    assert [config.seed for config in baselines] == [0, 1, 2]
    for baseline in baselines:
        theirs = {
            config.penalty.cells
            for config in planned
            if config.seed == baseline.seed and config.penalty is not None
        }
        assert {spec.cells for spec in baseline.score_on} == theirs
        for spec in baseline.score_on:
            assert (spec.inside, spec.outside, spec.normalization) == (10.0, 1.0, "none")


def test_the_order_is_repetition_by_repetition_baseline_first() -> None:
    planned = runs("masked-zone", "desk")
    assert [config.seed for config in planned] == [0] * 19 + [1] * 19 + [2] * 19
    assert [i for i, config in enumerate(planned) if config.is_baseline] == [0, 19, 38]


def test_runs_of_a_seed_differ_in_the_objective_alone() -> None:
    plain = {"loss": "cross-entropy", "alpha": 0.0, "penalty": None, "score_on": ()}
    same = {dataclasses.replace(c, **plain) for c in runs("masked-zone", "desk") if c.seed == 1}
    assert len(same) == 1


def test_more_alphas_keep_the_runs_there_are() -> None:
    few = {config.run_id for config in runs("masked-zone", "desk")}
    many = {c.run_id for c in runs("masked-zone", "desk", alpha=(0.0, 0.1, 0.5, 0.9, 0.99))}
    more_zones = {c.run_id for c in runs("masked-zone", "desk", zone_size=(10, 20, 30, 50))}
    assert few < many
    assert few < more_zones


def test_small_samples_share_the_baselines_of_the_hierarchy() -> None:
    baselines = {c.run_id for c in runs("hierarchy", "paper") if c.is_baseline}
    first = paper_plan(find("small-sample"), scale="paper").configs(GROUPED)
    assert {config.run_id for config in first} == baselines
    whole = runs("small-sample", "paper")
    assert whole[:10] == first
    assert {c.small_count for c in whole[10:]} == {0, 10, 50}
    assert {c.small_classes for c in whole[10:]} == {TYPICAL}


def test_a_hierarchy_needs_super_classes() -> None:
    with pytest.raises(ArgumentError, match="needs a data set with super-classes"):
        paper_plan(find("hierarchy"), scale="smoke").configs(TEN)
