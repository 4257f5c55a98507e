"""Our measures as torchmetrics: the same numbers, in batches and in two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from torchmetrics import MetricCollection

import untrue
from untrue import metrics
from untrue.errors import ArgumentError, DataError
from untrue.torchmetrics import CoarseError, ExpectedCost, MistakeSeverity, ZoneErrors

NAMES = ["car", "bus", "cat", "dog", "eel"]
GROUPS = {"vehicle": ["car", "bus"], "animal": ["cat", "dog", "eel"]}
TREE = untrue.Hierarchy.from_groups(GROUPS)
COSTS = untrue.Penalty.from_hierarchy(TREE)
MASK = torch.zeros(5, 5, dtype=torch.bool)
MASK[0, 2] = MASK[4, 1] = True
PRIORS = [0.4, 0.3, 0.1, 0.1, 0.1]
PROGRAM = Path(__file__).parent / "two_process_metrics.py"

CASES: dict[str, tuple[Any, Callable[[Any], float]]] = {
    "cost": (ExpectedCost(COSTS), lambda cm: metrics.expected_cost(cm, COSTS)),
    "cost by a matrix": (
        ExpectedCost(torch.tensor(COSTS.matrix())),
        lambda cm: metrics.expected_cost(cm, COSTS),
    ),
    "cost by priors": (
        ExpectedCost(COSTS, priors=PRIORS),
        lambda cm: metrics.expected_cost(cm, COSTS, priors=PRIORS),
    ),
    "zone of a penalty": (ZoneErrors(COSTS), lambda cm: metrics.zone_errors(cm, COSTS)),
    "zone by a mask": (ZoneErrors(MASK), lambda cm: metrics.zone_errors(cm, MASK)),
    "zone by pairs": (
        ZoneErrors([(0, 2), (4, 1)], 5),
        lambda cm: metrics.zone_errors(cm, [(0, 2), (4, 1)]),
    ),
    "zone by names": (
        ZoneErrors(iter([("car", "cat")]), classes=NAMES),
        lambda cm: metrics.zone_errors(cm, [(0, 2)]),
    ),
    "zone by a table": (
        ZoneErrors(pd.DataFrame(MASK.numpy(), index=NAMES, columns=NAMES), classes=NAMES[::-1]),
        lambda cm: metrics.zone_errors(cm, MASK.flip(0, 1)),
    ),
    "severity": (MistakeSeverity(TREE), lambda cm: metrics.mistake_severity(cm, TREE)),
    "coarse error": (
        CoarseError(TREE.coarsen(1)),
        lambda cm: metrics.coarse_error(cm, TREE.coarsen(1)),
    ),
    "coarse error by names": (
        CoarseError(GROUPS, classes=NAMES),
        lambda cm: metrics.coarse_error(cm, TREE.coarsen(1)),
    ),
}


def batches(n: int = 3) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(40, 5, generator=generator), torch.randint(0, 5, (40,), generator=generator))
        for _ in range(n)
    ]


def confusion(data: list[tuple[torch.Tensor, torch.Tensor]]) -> Any:
    predicted, target = torch.cat([x.argmax(1) for x, _ in data]), torch.cat([y for _, y in data])
    return metrics.confusion_matrix(target, predicted, 5)


@pytest.mark.parametrize("case", CASES)
def test_the_value_of_all_batches_is_our_measure(case: str) -> None:
    metric, measure = CASES[case]
    metric.reset()
    for logits, target in batches():
        step = metric(logits, target)
        assert step.item() == pytest.approx(measure(confusion([(logits, target)])), rel=1e-6)
    assert metric.compute().item() == pytest.approx(measure(confusion(batches())), rel=1e-6)


def test_two_processes_find_the_value_of_all_examples(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(31, 5, generator=generator)
    cm = confusion([(logits, torch.randint(0, 5, (31,), generator=generator))])
    expected = [
        metrics.expected_cost(cm, COSTS),
        metrics.zone_errors(cm, COSTS),
        metrics.mistake_severity(cm, TREE),
        metrics.coarse_error(cm, TREE.coarsen(1)),
    ]
    assert found[0] == found[1] == pytest.approx(expected, rel=1e-6)


def test_a_collection_counts_once() -> None:
    collection = MetricCollection([ExpectedCost(COSTS), ZoneErrors(COSTS), MistakeSeverity(TREE)])
    for logits, target in batches():
        collection.update(logits, target)
    assert len(collection.compute_groups) == 1
    cm = confusion(batches())
    assert collection.compute()["ZoneErrors"].item() == metrics.zone_errors(cm, COSTS)


def test_images_and_answers_as_classes_are_counted() -> None:
    logits, target = torch.randn(2, 5, 4, 4), torch.randint(0, 5, (2, 4, 4))
    target[0, 0, 0] = 255
    answers = untrue.decide(logits.softmax(1), COSTS)
    metric = ExpectedCost(COSTS, ignore_index=255)
    metric.update(answers, target)
    cm = metrics.confusion_matrix(target, answers, 5, ignore_index=255)
    assert metric.compute().item() == pytest.approx(metrics.expected_cost(cm, COSTS), rel=1e-6)
    metric.reset()
    metric.update(logits, target)
    cm = metrics.confusion_matrix(target, logits.argmax(1), 5, ignore_index=255)
    assert metric.compute().item() == pytest.approx(metrics.expected_cost(cm, COSTS), rel=1e-6)


def test_a_saved_state_goes_on() -> None:
    first, second = batches(2)
    metric = ZoneErrors(COSTS)
    metric.persistent(True)
    metric.update(*first)
    again = ZoneErrors(COSTS)
    again.load_state_dict(metric.state_dict())
    again.update(*second)
    assert again.compute().item() == metrics.zone_errors(confusion([first, second]), COSTS)


def test_what_cannot_be_measured_is_refused_at_once() -> None:
    with pytest.raises(ArgumentError, match="give `n_classes`"):
        ZoneErrors([(0, 1)])
    with pytest.raises(ArgumentError, match="got 3"):
        ZoneErrors(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="zone"):
        ZoneErrors([(0, 9)], 5)
    with pytest.raises(ArgumentError, match=r"`groups` must .*a Hierarchy\. `hierarchy\.coarsen"):
        CoarseError(TREE)  # type: ignore[arg-type]
    metric = ExpectedCost(COSTS)
    with pytest.raises(ArgumentError, match=r"must have shape \(2, 5\).*got \(2, 4\)"):
        metric.update(torch.randn(2, 4), torch.tensor([0, 1]))
    with pytest.raises(DataError):
        metric.update(torch.tensor([0, 7]), torch.tensor([0, 1]))
    answers, target = torch.tensor([0, -1, -1]), torch.tensor([0, 1, 255])
    with pytest.raises(
        DataError, match=r"\(-1\) in 1 of 3 ex.*update\(preds\[preds >= 0\], target"
    ):
        ExpectedCost(COSTS, ignore_index=255).update(answers, target)
    assert int(metric.confusion.sum()) == 0


def test_each_wrong_argument_has_its_sentence() -> None:
    metric = ExpectedCost(COSTS)
    with pytest.raises(ArgumentError, match="`preds` must be a tensor; got ndarray"):
        metric.update(torch.randn(2, 5).numpy(), torch.tensor([0, 1]))
    with pytest.raises(ArgumentError, match="`target` must be a tensor; got list"):
        metric.update(torch.randn(2, 5), [0, 1])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="got a single value"):
        metric.update(torch.randn(5), torch.tensor(0))
    with pytest.raises(ArgumentError, match=r"`hierarchy` must be an untrue\.Hierarchy; got dict"):
        MistakeSeverity({})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"`zone` must be a Penalty, a mask .*; got 3"):
        ZoneErrors(3)  # type: ignore[arg-type]
    for groups, shown in ((None, "None"), ({"vehicle": 3}, "3")):
        with pytest.raises(ArgumentError, match=f"`groups` must be an integer .*; got {shown}"):
            CoarseError(groups)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric")
def test_nothing_measured_is_nan_or_0_and_counts_merge() -> None:
    first, second = batches(2)
    for metric in (ExpectedCost(COSTS), MistakeSeverity(TREE), ZoneErrors(COSTS)):
        before = metric.compute()
        assert before == 0 if isinstance(metric, ZoneErrors) else before.isnan()
        metric.reset()
        other = metric.clone()
        metric.update(*first)
        other.update(*second)
        metric.merge_state(other)
        assert metric.confusion.tolist() == confusion([first, second]).tolist()
