"""`BestEpoch` keeps the best epoch that held the budgets, and says so when none did."""

from __future__ import annotations

import io

import pytest
import torch
from torch import nn

from untrue import BestEpoch, BilinearLoss, BudgetedLoss, BudgetError, Penalty
from untrue.errors import ArgumentError

COSTS = Penalty.from_rules(["a", "b"], {("b", "a"): 10.0})
# Counts of epochs with, of 100 each, so many a called b and b called a.
EPOCHS = [(20, 1), (4, 9), (3, 8), (1, 30), (6, 0), (2, 12)]


def counts(a_as_b: int, b_as_a: int) -> list[list[int]]:
    return [[100 - a_as_b, a_as_b], [b_as_a, 100 - b_as_a]]


def run(epochs, **options) -> tuple[BestEpoch, nn.Module]:
    """A network whose only weight is the number of the epoch."""
    network = nn.Linear(1, 1, bias=False)
    best = BestEpoch(BudgetedLoss(COSTS, ["a->b <= 5%"]), **options)
    for number, errors in enumerate(epochs, start=1):
        nn.init.constant_(network.weight, number)
        best.see(network, counts(*errors))
    return best, network


@pytest.mark.parametrize(("by", "epoch"), [("errors", 3), ("cost", 3)])
def test_the_best_epoch_that_held_is_restored(by, epoch) -> None:
    best, network = run(EPOCHS, by=by)
    found = best.restore(network)
    assert (found.epoch, found.budgets_kept) == (epoch, True)
    assert network.weight.item() == epoch
    assert found.findings == ("a->b <= 5%: kept; 3 of 100 examples (3 %).",)
    assert best.loss.multipliers["a->b <= 5%"] > 1  # the loss was updated on the way


def test_what_is_best_depends_on_what_counts() -> None:
    # 3 + 9 errors against 5 + 8, which cost 93 and 85.
    for by, epoch in (("errors", 1), ("cost", 2)):
        best, network = run([(3, 9), (5, 8)], by=by)
        assert best.restore(network).epoch == epoch


def test_where_none_held_the_closest_is_named_and_loaded_on_demand() -> None:
    best, network = run([(20, 1), (7, 1), (9, 0)])
    with pytest.raises(BudgetError, match=r"None of 3 epochs held every budget\. The closest was"):
        best.restore(network)
    assert network.weight.item() == 3  # nothing was loaded
    found = best.restore(network, closest=True)
    assert (found.epoch, found.budgets_kept) == (2, False)
    assert network.weight.item() == 2


def test_a_run_that_is_resumed_goes_on() -> None:
    whole, network = run(EPOCHS)
    for stop in (0, 1, 4):
        first, _ = run(EPOCHS[:stop])
        file = io.BytesIO()
        torch.save(first.state_dict(), file)
        second = BestEpoch(first.loss)
        second.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
        for number, errors in list(enumerate(EPOCHS, start=1))[stop:]:
            nn.init.constant_(network.weight, number)
            second.see(network, counts(*errors))
        assert second.restore(network) == whole.kept
        assert network.weight.item() == 3


def test_bad_use_is_said() -> None:
    with pytest.raises(ArgumentError, match="`loss` must be a BudgetedLoss; got BilinearLoss"):
        BestEpoch(BilinearLoss(COSTS))
    with pytest.raises(ArgumentError, match="`by` must be 'errors' or 'cost'; got 'f1'"):
        BestEpoch(BudgetedLoss(COSTS, ["a->b <= 5%"]), by="f1")
    with pytest.raises(ArgumentError, match="No epoch was seen"):
        run([])[0].restore(nn.Linear(1, 1))
