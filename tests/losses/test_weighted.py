"""Class weights are those of loops over rows, and a class that weighs nothing is named."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from untrue import ClassWeightedLoss, Penalty, UntrueWarning
from untrue.errors import ArgumentError
from untrue.losses.weighted import class_weights

K = 7


def test_class_weights_are_row_sums_over_their_mean(penalties, draw, softmax) -> None:
    z, y = draw(5, K)
    for penalty in penalties.values():
        sums = penalty.matrix().sum(1)
        w = [sums[i] / sums.mean() for i in range(K)]
        np.testing.assert_allclose(class_weights(penalty), w, rtol=1e-12)
        ce = [-math.log(softmax(z[n].tolist())[y[n]]) for n in range(5)]
        total = sum(w[y[n]] * ce[n] for n in range(5)) / sum(w[i] for i in y)
        assert ClassWeightedLoss(penalty)(z, y).item() == pytest.approx(total, rel=1e-12)
        roots = torch.tensor([x**0.5 for x in w])
        torch.testing.assert_close(
            ClassWeightedLoss(penalty, power=0.5)(z, y), F.cross_entropy(z, y, weight=roots)
        )
        torch.testing.assert_close(
            ClassWeightedLoss(penalty, power=0.0)(z, y), F.cross_entropy(z, y)
        )


def test_a_class_without_costs_is_warned_of() -> None:
    zone = Penalty.from_zone([("cat", "dog")], classes=["cat", "dog", "owl"])
    with pytest.warns(UntrueWarning, match=r"Mistakes about dog, owl cost nothing"):
        ClassWeightedLoss(zone)
    ClassWeightedLoss(zone, power=0.0)  # weighs all alike, no warning
    with pytest.raises(ArgumentError, match="charges nothing for any mistake"):
        ClassWeightedLoss(Penalty.from_zone([], classes=3))
