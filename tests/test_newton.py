"""The fast derivatives of boosted trees are those of the reference, to single precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from untrue import newton, reference
from untrue.errors import ArgumentError
from untrue.kernels import KERNELS
from untrue.losses.registry import MixedName

COMPILED = [] if KERNELS is None else KERNELS.instruction_sets()


@pytest.fixture(params=["NumPy", *COMPILED], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What computes the derivatives: NumPy, or the C kernels of an instruction set."""
    if request.param == "NumPy":
        monkeypatch.setattr(newton, "KERNELS", None)
        yield request.param
        return
    assert KERNELS is not None
    KERNELS.use(request.param)
    yield request.param
    KERNELS.use(COMPILED[0])


@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
@pytest.mark.parametrize("k", [1, 2, 5, 30])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_they_are_the_references_however_far_apart_the_scores(
    loss: MixedName, k: int, alpha: float
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


def some(n: int, k: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    costs = rng.uniform(0, 5, size=(k, k))
    np.fill_diagonal(costs, 0.0)
    return {
        "scores": np.asfortranarray(rng.normal(size=(n, k)) * 4),
        "target": rng.integers(k, size=n),
        "costs": costs,
        "alpha": 0.6,
        "scale": 1.5,
        "weight": rng.uniform(0, 3, size=n),
        "least": 0.01,
    }


@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
@pytest.mark.parametrize("n", [0, 1, 3, 15, 16, 17, 100])
def test_any_number_of_examples_by_class_or_by_example(loss: MixedName, n: int) -> None:
    given = some(n, 4)
    ours = newton.newton_terms(**given, loss=loss)
    by_example = {**given, "costs": given["costs"][given["target"]]}
    again = newton.newton_terms(**by_example, loss=loss, by_example=True)
    formula = newton.by_formula(**given, loss=loss, by_example=False)
    for mine, same, plain in zip(ours, again, formula, strict=True):
        np.testing.assert_array_equal(mine, same)
        np.testing.assert_allclose(mine, plain, rtol=2e-6, atol=2e-6)
    assert (ours[1] >= np.float32(0.01)).all()


def test_the_order_in_memory_and_the_precision_of_the_scores_change_nothing() -> None:
    given = some(50, 3)
    singles = given["scores"].astype(np.float32)
    ours = newton.newton_terms(**{**given, "scores": singles.astype(np.float64)}, loss="bilinear")
    for scores in (singles, np.ascontiguousarray(singles), singles[::-1][::-1]):
        again = newton.newton_terms(**{**given, "scores": scores}, loss="bilinear")
        np.testing.assert_allclose(again[0], ours[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
def test_equal_scores_and_scores_far_apart_are_finite(loss: MixedName) -> None:
    given = some(40, 5)
    for scores in (np.zeros((40, 5)), given["scores"] * 1e4, given["scores"] * 1e30):
        terms = newton.newton_terms(**{**given, "scores": scores}, loss=loss)
        assert all(np.isfinite(term).all() for term in terms)


def test_what_is_no_number_stays_none() -> None:
    given = some(20, 3)
    given["scores"][7, 1] = np.nan
    gradient, bound = newton.newton_terms(**given, loss="bilinear")
    for terms in (gradient, bound):
        assert np.isnan(terms[7]).all()
        assert np.isfinite(np.delete(terms, 7, axis=0)).all()


def test_nothing_outside_of_the_arrays_is_read(backend: str) -> None:
    given = some(20, 3)
    for target in (3,) if backend == "NumPy" else (3, -1):
        with pytest.raises(IndexError, match="out of bounds"):
            newton.newton_terms(**{**given, "target": np.full(20, target)}, loss="bilinear")
    for name in ("target", "weight", "costs"):
        with pytest.raises(ArgumentError, match=name):
            newton.newton_terms(**{**given, name: given[name][1:]}, loss="bilinear")


@pytest.mark.parametrize("threads", ["1", "2", "5", "4,2", "many"])
def test_threads_share_the_rows(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = some(20_001, 30)
    whole = newton.newton_terms(**given, loss="log-bilinear")
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    for mine, same in zip(newton.newton_terms(**given, loss="log-bilinear"), whole, strict=True):
        np.testing.assert_array_equal(mine, same)
