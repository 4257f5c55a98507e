"""What all rival losses share: functions beside the modules, and what they refuse."""

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
from untrue.losses.emd import squared_emd_loss
from untrue.losses.hierarchical import conditional_softmax_loss, hierarchical_loss
from untrue.losses.regression import cost_regression_loss
from untrue.losses.soft_labels import cost_smoothed_loss

K = 7


def test_functions_are_the_modules(tree, penalties, draw) -> None:
    penalty, matrix = penalties["dense"], torch.tensor(penalties["dense"].matrix())
    z, y = draw(4, K)
    pairs = [
        (cost_smoothed_loss, CostSmoothedLoss, {"epsilon": 0.4, "gamma": 2.0}),
        (cost_regression_loss, CostRegressionLoss, {}),
        (squared_emd_loss, SquaredEMDLoss, {"strength": 2.0, "mu": 0.1}),
    ]
    for function, module, options in pairs:
        expected = module(penalty, **options)(z, y)
        assert torch.equal(function(z, y, penalty, **options), expected)
        assert torch.equal(function(z, y, matrix, **options), expected)
    expected = HierarchicalLoss(tree, decay=0.3)(z, y)
    with torch.inference_mode():
        hierarchical_loss(z, y, tree, decay=0.3)
    ours = hierarchical_loss(z.requires_grad_(), y, tree, decay=0.3)
    ours.backward()  # also after a first call without gradients
    assert torch.equal(ours, expected)
    z, y = draw(4, K, loss=ConditionalSoftmaxLoss(tree))
    expected = ConditionalSoftmaxLoss(tree)(z, y)
    assert torch.equal(conditional_softmax_loss(z, y, penalties["tree"]), expected)


@pytest.mark.parametrize("loss", [HierarchicalLoss, SoftLabelLoss, ConditionalSoftmaxLoss])
def test_a_tree_may_come_as_a_penalty_and_nothing_else(loss, tree, penalties, draw) -> None:
    z, y = draw(4, K, loss=loss(tree))
    assert torch.equal(loss(penalties["tree"])(z, y), loss(tree)(z, y))
    with pytest.raises(ArgumentError, match=r"made from one .*; got a penalty in rules form"):
        loss(penalties["rules"])
    with pytest.raises(ArgumentError, match=r"`tree` must be a Hierarchy.*; got dict"):
        loss({"a": ["b"]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p, t: ClassWeightedLoss(p, power=-1), "`power` must be 0 or more; got -1.0"),
        (lambda p, t: CostSmoothedLoss(p, epsilon=1.2), r"`epsilon` must lie in \[0, 1\]; got 1.2"),
        (lambda p, t: CostSmoothedLoss(p, gamma=math.nan), "`gamma` must be 0 or more; got nan"),
        (lambda p, t: SoftLabelLoss(t, beta=math.inf), "`beta` must be 0 or more; got inf"),
        (lambda p, t: HierarchicalLoss(t, decay="much"), "`decay` must be a number; got 'much'"),
        (lambda p, t: HierarchicalLoss(t, by="width"), "'height' or 'depth'; got 'width'"),
        (lambda p, t: SquaredEMDLoss(p, strength=-0.5), "`strength` must be 0 or more; got -0.5"),
        (lambda p, t: SquaredEMDLoss(p, mu=math.inf), "`mu` must be finite; got inf"),
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
