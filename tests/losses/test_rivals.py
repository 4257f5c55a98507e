"""What all rival losses share: where they take a tree, and what they refuse."""

from __future__ import annotations

import math

import pytest
import torch

from untrue import (
    ClassWeightedLoss,
    ConditionalSoftmaxLoss,
    CostRegressionLoss,
    CostSmoothedLoss,
    HierarchicalLoss,
    Hierarchy,
    Penalty,
    SoftLabelLoss,
    SquaredEMDLoss,
)
from untrue.errors import ArgumentError, UntrueError

K = 7


@pytest.mark.parametrize("loss", [HierarchicalLoss, SoftLabelLoss, ConditionalSoftmaxLoss])
def test_a_tree_may_come_as_a_penalty_and_nothing_else(loss, tree, penalties, draw) -> None:
    z, y = draw(4, K, loss=loss(tree))
    assert torch.equal(loss(penalties["tree"])(z, y), loss(tree)(z, y))
    with pytest.raises(ArgumentError, match=r"made from one .*; got a penalty in rules form"):
        loss(penalties["rules"])
    with pytest.raises(ArgumentError, match=r"`hierarchy` must be a Hierarchy.*; got dict"):
        loss({"a": ["b"]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p, t: ClassWeightedLoss(p, power=-1), "`power` must be at least 0; got -1"),
        (lambda p, t: CostSmoothedLoss(p, epsilon=1.2), r"`epsilon` must lie in \[0, 1\]; got 1.2"),
        (lambda p, t: CostSmoothedLoss(p, gamma=math.nan), "`gamma` must be at least 0; got nan"),
        (
            lambda p, t: SoftLabelLoss(t, beta=math.inf),
            "`beta` must be a finite number of at least 0; got inf",
        ),
        (lambda p, t: HierarchicalLoss(t, decay="much"), "`decay` must be at least 0; got 'much'"),
        (lambda p, t: HierarchicalLoss(t, by="width"), "'height' or 'depth'; got 'width'"),
        (lambda p, t: SquaredEMDLoss(p, strength=-0.5), "`strength` must be at least 0; got -0.5"),
        (lambda p, t: SquaredEMDLoss(p, mu=math.inf), "`mu` must be a finite number; got inf"),
        (lambda p, t: CostRegressionLoss(p, scale=-2), "`scale` must be at least 0; got -2"),
        (lambda p, t: CostRegressionLoss([[0.0, -1.0], [1.0, 0.0]]), "-1"),
    ],
)
def test_bad_parameters_are_named(make, message, penalties, tree) -> None:
    with pytest.raises(UntrueError, match=message):
        make(penalties["dense"], tree)


def test_one_class_cannot_be_confused() -> None:
    alone = Hierarchy.from_edges([("root", "only")])
    one = Penalty.from_rules(1, {})
    losses = [HierarchicalLoss(alone), ConditionalSoftmaxLoss(alone), SoftLabelLoss(alone)]
    losses += [ClassWeightedLoss(one), CostSmoothedLoss(one), SquaredEMDLoss(one)]
    for loss in losses:
        z = torch.randn(3, 1, requires_grad=True)
        value = loss(z, torch.zeros(3, dtype=torch.long))
        value.backward()
        assert value == 0
        assert (z.grad == 0).all()
