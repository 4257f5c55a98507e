"""Arms: settings over their repetitions, and what they changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from untrue.lab.records import DatasetInfo, Sweep
from untrue.lab.store import Store
from untrue.report.runs.arms import Arm, Arms
from untrue.report.runs.rows import collect


def arms_of(folder: Path) -> Arms:
    with Store.read(folder) as store:
        (found,) = collect(store)
    return Arms(found.rows)


def test_means_and_paired_differences_over_the_repetitions(zone_store: Path) -> None:
    with Store.read(zone_store) as store:
        (found,) = collect(store)
    arms = Arms(found.rows)
    arm = Arm("bilinear", 0.9, "argmax", zone_size=6)

    def of(loss: str) -> np.ndarray:
        chosen = [
            (row.seed, row.zone_errors or 0)
            for row in found.rows
            if row.loss == loss
            and row.zone_size == 6
            and row.decision == "argmax"
            and row.alpha in (0.0, 0.9)
        ]
        return np.array([errors for _, errors in sorted(chosen)])

    before, after = of("cross-entropy"), of("bilinear")
    assert len(before) == len(after) == 3
    mean, change = arms.mean(arm, "zone_errors"), arms.change(arm, "zone_errors")
    assert mean is not None
    assert change is not None
    assert mean.value == pytest.approx(after.mean())
    assert change.value == pytest.approx((after - before).mean())
    half = 4.302653 * (after - before).std(ddof=1) / np.sqrt(3)
    assert change.high - change.value == pytest.approx(half, rel=1e-5)


def test_the_baseline_has_no_difference_to_itself_but_its_least_cost_decision_has(
    zone_store: Path,
) -> None:
    arms = arms_of(zone_store)
    base = Arm("cross-entropy", 0.0, "argmax", zone_size=3)
    (free,) = arms.select(loss="cross-entropy", decision="least-cost", zone_size=3)
    assert arms.change(base, "zone_errors") is None
    assert arms.change(free, "zone_errors") is not None
    assert free.name == "baseline, least-cost decision"


def test_only_common_repetitions_are_compared(
    tmp_path: Path, fill: Callable[..., Sweep], digits: DatasetInfo
) -> None:
    options = {"zone_size": (3,), "repetitions": 3}
    fill(tmp_path, "demo", digits, skip=lambda c: c.is_baseline and c.seed == 1, **options)
    arms = arms_of(tmp_path)
    arm = Arm("bilinear", 0.5, "argmax", zone_size=3)
    base = arms.by_seed(arms.baseline(arm), "errors")
    assert sorted(base) == [0, 2]
    change = arms.change(arm, "errors")
    assert change is not None
    mine = arms.by_seed(arm, "errors")
    assert change.value == np.mean([mine[s] - base[s] for s in (0, 2)])
    assert arms.repetitions(arm) == 3


def test_arms_come_in_reading_order(zone_store: Path) -> None:
    names = [arm.name for arm in arms_of(zone_store).select(zone_size=3)]
    assert names[:4] == [
        "baseline",
        "baseline, least-cost decision",
        "bilinear, alpha 0.5",
        "bilinear, alpha 0.5, least-cost decision",
    ]
    assert names[-1] == "log-bilinear, alpha 0.9, least-cost decision"
