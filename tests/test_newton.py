"""The fast derivatives of boosted trees are those of the reference, to single precision."""

from __future__ import annotations

import numpy as np
import pytest

from untrue import newton, reference


@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
@pytest.mark.parametrize("k", [1, 2, 5, 30])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_they_are_the_references_however_far_apart_the_scores(
    loss: reference.Loss, k: int, alpha: float
) -> None:
    rng = np.random.default_rng(k)
    n = 3000
    scores = rng.normal(size=(n, k)) * 10 ** rng.uniform(-2, 3, size=(n, 1))
    target, weight = rng.integers(k, size=n), rng.uniform(0, 3, size=n)
    costs = rng.uniform(0, 5, size=(k, k))
    np.fill_diagonal(costs, 0.0)
    ours = newton.newton_terms(
        np.asfortranarray(scores), target, costs, loss=loss, alpha=alpha, scale=2.0, weight=weight
    )
    exact = reference.newton_terms(scores, target, costs[target], loss=loss, alpha=alpha)
    for mine, true, scale in zip(ours, exact, (1.0, 2.0), strict=True):
        np.testing.assert_allclose(mine, true * scale * weight[:, None], atol=2e-4, rtol=2e-4)
        assert mine.dtype == np.float32


def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    scores, target = rng.normal(size=(5000, 3)), rng.integers(3, size=5000)
    costs = 1.0 - np.eye(3)
    once = newton.newton_terms(scores, target, costs, loss="bilinear", alpha=0.5)
    monkeypatch.setattr(newton, "BLOCK", 300)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    again = newton.newton_terms(scores, target, costs, loss="bilinear", alpha=0.5)
    for a, b in zip(once, again, strict=True):
        np.testing.assert_array_equal(a, b)
