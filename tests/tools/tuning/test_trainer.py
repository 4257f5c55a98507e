"""The trainings of a tuning, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

from untrue import Penalty
from untrue.errors import UntrueWarning
from untrue.tools.fitting.booster import booster_learner
from untrue.tools.fitting.learners import BoosterSettings
from untrue.tools.tuning.trainer import TrainingTask, train_task
from untrue.training.splits import Split


@pytest.mark.parametrize(
    ("unit", "advice"),
    [
        (1.0, "train longer, or check whether"),
        (1e6, "a mistake costs 1,000,000 on average, .*: divide all costs by about 1,000,000$"),
    ],
)
def test_costs_in_money_are_named_where_they_spoil_a_training(unit: float, advice: str) -> None:
    inputs, labels = np.arange(160, dtype=np.float32)[:, None], np.arange(160) // 80
    part = Split(np.arange(0, 160, 2), np.arange(1, 160, 4), np.arange(3, 160, 4))
    labels[part.validation] = 1 - labels[part.validation]  # what was learned is wrong there
    learner = booster_learner("lightgbm", BoosterSettings(rounds=5), 2, 1, ())
    costs = Penalty.from_rules(2, {}, default=unit)
    task = TrainingTask("bilinear", "bilinear", costs, 0.5, part, 0, weights=False)
    with pytest.warns(UntrueWarning, match=f"by bilinear is no better than chance .*; {advice}"):
        train_task((learner, inputs, labels), task, lambda _: None)
