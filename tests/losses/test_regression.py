"""Cost regression against loops, and the answer it comes to: the cheapest."""

from __future__ import annotations

import math

import torch

from untrue import CostRegressionLoss, Penalty

K = 7


def test_cost_regression(penalties, draw, mean_of) -> None:
    r, y = draw(5, K)
    for penalty in penalties.values():
        matrix, losses = penalty.matrix(), []
        for n in range(5):
            total = 0.0
            for j in range(K):
                sign = 1 if j == y[n] else -1
                total += math.log1p(math.exp(sign * (r[n, j].item() - matrix[y[n], j])))
            losses.append(total)
        assert CostRegressionLoss(penalty)(r, y).item() == mean_of(losses)


def test_cost_regression_decides_by_the_least() -> None:
    loss = CostRegressionLoss(Penalty.from_ordinal(3))
    assert loss.decide(torch.tensor([2.0, 0.5, 1.0])) == 1
    outputs = torch.tensor([[[2.0, 0.0], [0.5, 1.0], [1.0, 2.0]]])
    assert loss.decide(outputs).tolist() == [[1, 0]]


def test_cost_regression_learns_to_avoid_a_costly_mistake() -> None:
    """Two equally likely truths, one of them costly to miss: the cheap answer is never given."""
    penalty = Penalty.from_rules(["ill", "well"], {("ill", "well"): 9.0}, default=1.0)
    loss, r = CostRegressionLoss(penalty), torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.SGD([r], lr=0.3)
    for _ in range(200):
        optimizer.zero_grad()
        loss(r.expand(2, 2), torch.tensor([0, 1])).backward()
        optimizer.step()
    assert loss.decide(r) == 0
