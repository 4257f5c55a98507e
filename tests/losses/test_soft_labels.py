"""Labels softened by costs or by a tree against loops, and where they end at cross-entropy."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from untrue import CostSmoothedLoss, SoftLabelLoss
from untrue.losses import soft_labels

K = 7


@pytest.mark.parametrize(("epsilon", "gamma"), [(0.1, 1.0), (0.6, 3.0), (1.0, 0.5)])
def test_cost_smoothed_labels(penalties, draw, softmax, mean_of, epsilon, gamma) -> None:
    z, y = draw(5, K)
    for penalty in penalties.values():
        matrix, losses = penalty.matrix(), []
        for n in range(5):
            smooth = softmax([-gamma * matrix[y[n], j] for j in range(K)])
            p = softmax(z[n].tolist())
            label = [(1 - epsilon) * (j == int(y[n])) + epsilon * smooth[j] for j in range(K)]
            losses.append(-sum(label[j] * math.log(p[j]) for j in range(K)))
        loss = CostSmoothedLoss(penalty, epsilon=epsilon, gamma=gamma)
        assert loss(z, y).item() == mean_of(losses)


def test_cost_smoothing_ends_at_cross_entropy_and_at_label_smoothing(penalties, draw) -> None:
    for soft in (False, True):
        z, y = draw(5, K, soft=soft)
        none = CostSmoothedLoss(penalties["dense"], epsilon=0.0)
        torch.testing.assert_close(none(z, y), F.cross_entropy(z, y))
        even = CostSmoothedLoss(penalties["dense"], epsilon=0.3, gamma=0.0)
        torch.testing.assert_close(even(z, y), F.cross_entropy(z, y, label_smoothing=0.3))


def test_a_table_of_labels_in_blocks_is_the_whole_one(penalties, draw, monkeypatch) -> None:
    z, y = draw(5, K, soft=True)
    loss = CostSmoothedLoss(penalties["rules"], epsilon=0.5)
    whole = loss(z, y)
    monkeypatch.setattr(soft_labels, "BLOCK", 2 * K)
    torch.testing.assert_close(loss(z, y), whole)


@pytest.mark.parametrize("beta", [0.0, 4.0, 30.0])
def test_soft_labels(tree, draw, softmax, mean_of, beta) -> None:
    z, y = draw(5, K)
    losses = []
    for n in range(5):
        label = softmax([-beta * tree.height(int(y[n]), j) / tree.max_height for j in range(K)])
        p = softmax(z[n].tolist())
        losses.append(-sum(label[j] * math.log(p[j]) for j in range(K)))
    assert SoftLabelLoss(tree, beta=beta)(z, y).item() == mean_of(losses)


def test_soft_labels_of_great_beta_tend_to_cross_entropy(tree, draw) -> None:
    z, y = draw(5, K)
    torch.testing.assert_close(SoftLabelLoss(tree, beta=1e4)(z, y), F.cross_entropy(z, y))
