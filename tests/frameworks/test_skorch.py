"""A skorch net trained by our loss: probabilities with one more line, refused without it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier

import untrue
from untrue.errors import DataError
from untrue.sklearn import CostSensitiveClassifier, cost_scorer

NAMES = ["setosa", "versicolor", "virginica"]
COSTS = untrue.Penalty.from_rules(NAMES, {("virginica", "versicolor"): 10.0})
IRIS = load_iris()
X, Y = IRIS.data.astype(np.float32), IRIS.target.astype(np.int64)


def net(**more: Any) -> NeuralNetClassifier:
    torch.manual_seed(0)
    return NeuralNetClassifier(
        torch.nn.Linear,
        module__in_features=4,
        module__out_features=3,
        criterion=untrue.BilinearLoss,
        criterion__penalty=COSTS,
        criterion__alpha=0.5,
        lr=0.1,
        max_epochs=20,
        train_split=None,
        verbose=0,
        **more,
    )


SOFTMAX = {"predict_nonlinearity": torch.nn.Softmax(dim=-1)}


def test_the_pages_example_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scikit-learn.md").read_text()
    first, last = page.split("<!-- skorch -->")
    blocks = re.findall(r"^```python\n(.*?)^```$", first, flags=re.MULTILINE | re.DOTALL)
    blocks = [blocks[0], *re.findall(r"^```python\n(.*?)^```$", last, re.MULTILINE | re.DOTALL)]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"'(\w+)'", done.stdout)) <= {"grignolino", "barolo", "barbera"}


def test_one_line_makes_probabilities() -> None:
    model = net(**SOFTMAX).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1.0, atol=1e-5)
    wrapped = CostSensitiveClassifier(net(**SOFTMAX), COSTS, classes=NAMES).fit(X, Y)
    assert (wrapped.predict(X) == Y).mean() > 0.6


def test_without_it_the_logits_are_refused_downstream() -> None:
    with pytest.raises(DataError, match=r"predict_nonlinearity=torch.nn.Softmax\(dim=-1\)"):
        CostSensitiveClassifier(net(), COSTS, classes=NAMES).fit(X, Y)
    with pytest.raises(DataError, match="Logits become probabilities by softmax"):
        untrue.decide(net().fit(X, Y).predict_proba(X), COSTS)


def test_costs_and_alpha_are_searched_like_any_parameter() -> None:
    search = GridSearchCV(
        net(**SOFTMAX),
        {"criterion__alpha": [0.0, 0.9]},
        scoring=cost_scorer(COSTS, classes=NAMES),
        cv=3,
    ).fit(X, Y)
    assert set(search.cv_results_["mean_test_score"] <= 0) == {True}
    assert search.best_params_["criterion__alpha"] in (0.0, 0.9)
