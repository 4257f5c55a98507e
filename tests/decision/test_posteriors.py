"""A model that has learned all there is to learn gives back the posterior it was trained on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import BilinearLoss, Hierarchy, LogBilinearLoss, Penalty, decide, posterior
from untrue.decision import invert, posteriors
from untrue.errors import ArgumentError, DataError, UntrueWarning

LOSSES = {"bilinear": BilinearLoss, "log-bilinear": LogBilinearLoss}
TREE = Hierarchy.from_dict({"all": {"a": ["1", "2"], "b": {"c": ["3", "4"], "d": ["5"]}}})
PENALTIES = {
    "one": Penalty.from_rules(2, {(0, 1): 5.0}),
    "rules": Penalty.from_rules(4, {(0, 1): 5.0, (2, 3): 0.0, (3, 0): 2.0}, default=0.5),
    "zone": Penalty.from_zone([(0, 1), (2, 1), (1, 4)], classes=5),
    "tree": Penalty.from_hierarchy(TREE),
    "rows": Penalty.from_hierarchy(TREE, lambda h: h * h).normalized("rows"),
    "ordinal": Penalty.from_ordinal(6).normalized("max"),
}


def learned(counts: list[int], penalty: Penalty, loss: str, alpha: float, **options: Any) -> Any:
    """The probabilities at which the mean loss over `counts` examples of each class is least."""
    criterion = LOSSES[loss](penalty, alpha=alpha, **options)
    target = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))

    def mean(z: torch.Tensor) -> torch.Tensor:
        return criterion(z.expand(len(target), -1), target)

    z = torch.tensor(counts, dtype=torch.float64).div(len(target)).log().requires_grad_()
    search = torch.optim.LBFGS([z], max_iter=2000, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        search.zero_grad()
        value = mean(z)
        value.backward()
        return value

    search.step(closure)
    z = z.detach()
    for _ in range(5):
        slope = torch.autograd.functional.jacobian(mean, z)
        bend = torch.autograd.functional.hessian(mean, z)
        z = z - torch.linalg.pinv(bend, hermitian=True, rtol=1e-12) @ slope
    assert slope.abs().max() < 1e-13
    assert torch.linalg.eigvalsh(bend)[1] > 0, "no minimum"
    return z.softmax(-1).numpy()


@pytest.fixture(params=["elimination", "products"])
def solver(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either way to solve the systems, whatever the number of classes."""
    monkeypatch.setattr(posteriors, "FEW_CLASSES", 10**6 if request.param == "elimination" else 0)
    return str(request.param)


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("name", PENALTIES)
def test_the_minimiser_of_a_population_gives_its_posterior(
    name: str, alpha: float, loss: Any
) -> None:
    penalty = PENALTIES[name]
    rng = np.random.default_rng(len(name))
    counts = (1 + rng.multinomial(300, rng.dirichlet(np.ones(penalty.n_classes)))).tolist()
    eta = np.array(counts) / sum(counts)
    p = learned(counts, penalty, loss, alpha)
    assert np.abs(p - eta).max() > 1e-3, "the costs have moved what is said"
    found = posterior(p[None], penalty, alpha, loss, strict=True)
    np.testing.assert_allclose(found[0], eta, atol=1e-8, rtol=0)


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighed", [False, True])
def test_class_weights_and_smoothing_are_taken_out(
    weighed: bool, smoothing: float, loss: Any
) -> None:
    counts, penalty = [50, 20, 10, 20], PENALTIES["rules"]
    weight = torch.tensor([1.0, 4.0, 0.5, 2.0], dtype=torch.float64) if weighed else None
    options = {"weight": weight, "label_smoothing": smoothing}
    p = learned(counts, penalty, loss, 0.4, **options)
    found = posterior(p[None], penalty, 0.4, loss, strict=True, **options)
    np.testing.assert_allclose(found[0], np.array(counts) / 100, atol=1e-8, rtol=0)


def test_with_alpha_0_the_probabilities_are_the_posterior() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(4), 5)
    np.testing.assert_allclose(posterior(probs, PENALTIES["rules"], 0.0), probs, rtol=1e-15)
    weight = np.array([1.0, 2.0, 4.0, 1.0])
    expected = probs / weight / (probs / weight).sum(axis=1, keepdims=True)
    found = posterior(probs, PENALTIES["rules"], 0.0, weight=weight)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 40),
    st.sampled_from([0.1, 0.5, 0.9, 0.99]),
    st.sampled_from(list(LOSSES)),
    st.floats(0.1, 20.0),
    st.integers(0, 10**6),
)
def test_both_ways_to_solve_agree_at_any_confidence(
    k: int, alpha: float, loss: Any, sharpness: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(6, k)) * sharpness
    probs = torch.from_numpy(logits).softmax(-1).numpy()
    penalty = Penalty.from_matrix(rng.integers(0, 5, (k, k)) * (1 - np.eye(k)))
    system = posteriors._System(probs, alpha / (1 - alpha), loss, np.ones(k), 0.0)
    direct, _ = system.eliminate(penalty)
    found, failed = system.iterate(penalty)
    right = ~failed
    # Where the system is all but singular neither is right, and the row is outside either way.
    tame = right & (np.abs(direct).max(axis=1) < 1e3)
    np.testing.assert_allclose(found[tame], direct[tame], atol=1e-8, rtol=1e-8)


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("scale", [1e6, 1e8])
@pytest.mark.parametrize("penalty", [PENALTIES["one"], PENALTIES["tree"]])
def test_large_costs_have_a_posterior(penalty: Penalty, scale: float) -> None:
    """The minimiser of a posterior eta is where all answers cost about the same."""
    costs, k = penalty.matrix() * scale, penalty.n_classes
    p = np.random.default_rng(0).dirichlet(np.ones(k), 50)
    spread = np.einsum("nm,mj->nmj", p, np.eye(k)) - p[:, :, None] * p[:, None, :]
    eta = np.linalg.solve(np.eye(k) - 9.0 * spread @ costs.T, p[:, :, None])[:, :, 0]
    inside = (eta > 1e-3).all(axis=1)
    assert inside.sum() > 5
    large = penalty._divided(np.full(k, 1 / scale))
    found = posterior(p[inside], large, 0.9, strict=True)
    np.testing.assert_allclose(found, eta[inside], atol=1e-6, rtol=0)


def test_rows_that_left_the_simplex_are_clipped_counted_and_reported() -> None:
    penalty = Penalty.from_rules(4, {(0, 1): 50.0}, default=1.0)
    probs = np.array([[0.2, 0.05, 0.05, 0.7], [0.25, 0.25, 0.25, 0.25], [0.4, 0.3, 0.2, 0.1]])
    found = invert(probs, penalty, 0.9, "log-bilinear")
    assert found.outside.any()
    assert not found.outside.all()
    with pytest.warns(UntrueWarning, match=rf"{found.outside.sum()} of 3 rows .* no posterior"):
        clipped = posterior(probs, penalty, 0.9, "log-bilinear")
    np.testing.assert_array_equal(clipped, found.probs)
    assert (clipped >= 0).all()
    np.testing.assert_allclose(clipped.sum(axis=1), 1.0, rtol=1e-12)
    first = int(np.argmax(found.outside))
    with pytest.raises(DataError, match=rf"the first is row {first}\) match no"):
        posterior(probs, penalty, 0.9, "log-bilinear", strict=True)


def test_a_singular_system_is_outside_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "solve", fail)
    found = invert([[0.5, 0.5]], PENALTIES["one"], 0.5)
    assert found.outside.all()
    np.testing.assert_allclose(found.probs, [[0.3, 0.7]], atol=1e-12)


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_that_is_sure_stays_sure(loss: Any) -> None:
    for row in ([1.0, 0.0, 0.0, 0.0], [1.0 - 1e-15, 1e-15, 0.0, 0.0]):
        found = posterior([row], PENALTIES["rules"], 0.5, loss, strict=True)
        np.testing.assert_allclose(found, [[1.0, 0.0, 0.0, 0.0]], atol=1e-12)


def test_what_comes_in_as_a_tensor_goes_out_as_one() -> None:
    probs = torch.randn(5, 4, dtype=torch.float64).softmax(-1)
    expected = posterior(probs.numpy(), PENALTIES["rules"], 0.3)
    for dtype, tolerance in ((torch.float64, 1e-15), (torch.float32, 1e-6), (torch.float16, 4e-3)):
        found = posterior(probs.to(dtype), PENALTIES["rules"], 0.3)
        assert found.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        np.testing.assert_allclose(found.numpy(), expected, atol=tolerance)
    single = posterior(probs.numpy().astype(np.float32), PENALTIES["rules"], 0.3)
    assert single.dtype == np.float32


def test_thousands_of_classes_need_no_matrix() -> None:
    groups = {f"g{i}": [f"{i}.{j}" for j in range(100)] for i in range(50)}
    penalty = Penalty.from_groups(groups)
    eta = np.random.default_rng(0).dirichlet(np.full(5000, 0.02), 2)
    probs = posterior(eta, penalty, 0.3)  # any probabilities will do
    check = invert(eta, penalty, 0.3)
    assert not check.outside.any()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0)
    costs = penalty.expected(probs)
    odds = 0.3 / 0.7
    again = eta * (1 + odds * (costs - (eta * costs).sum(axis=1, keepdims=True)))
    np.testing.assert_allclose(again, probs, atol=1e-10)


def test_deciding_on_the_posterior_counts_the_costs_once() -> None:
    """The population's own least-cost answer, where raw probabilities give another."""
    rules = {("tumour", "benign"): 10.0, ("cyst", "benign"): 3.0}
    penalty = Penalty.from_rules(["tumour", "cyst", "benign"], rules)
    counts = [3, 8, 89]
    p = learned(counts, penalty, "log-bilinear", 0.5)
    eta = posterior(p[None], penalty, 0.5, "log-bilinear")
    assert decide(eta, penalty) == decide(np.array([counts]) / 100, penalty) == [2]
    assert decide(p[None], penalty) == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.0}, r"`alpha` must lie in \[0, 1\); got 1.0; with alpha = 1 nothing of the"),
        ({"alpha": -0.1}, r"`alpha` must lie in \[0, 1\); got -0.1\."),
        ({"alpha": "much"}, r"`alpha` must be a number in \[0, 1\); got 'much'"),
        ({"loss": "hinge"}, "`loss` must be 'bilinear' or 'log-bilinear'; got 'hinge'"),
        ({"label_smoothing": 1.0}, r"`label_smoothing` must lie in \[0, 1\); got 1.0"),
        ({"weight": [1.0, 0.0]}, "`weight` must be positive and finite; class 1 has 0"),
        ({"weight": [1.0]}, "`weight` must be 2 numbers, one per class"),
        ({"probs": [[0.5, 0.6]]}, "each row of `probs` must sum to 1; row 0 sums to 1.1"),
        ({"probs": [[0.5, 0.5, 0.0]]}, "one column for each of 2 classes; got 3"),
        ({"penalty": [[0, 1], [1, 0]]}, "`penalty` must be an untrue.Penalty; got list"),
    ],
)
def test_what_has_no_posterior_is_refused(options: dict[str, Any], message: str) -> None:
    given = {"probs": [[0.5, 0.5]], "penalty": PENALTIES["one"], "alpha": 0.5} | options
    with pytest.raises((ArgumentError, DataError), match=message):
        posterior(**given)


def test_rows_that_stay_inside_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior([[0.5, 0.5]], PENALTIES["one"], 0.5, strict=True)


@pytest.mark.parametrize("cost", [1e20, 1e30])
@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
def test_costs_that_leave_nothing_of_a_posterior_give_probabilities_all_the_same(
    cost: float, loss: Any
) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    costs = Penalty.from_matrix(cost * (1.0 - np.eye(3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.warns(UntrueWarning, match="match no posterior"):
            found = posterior(probs, costs, 0.5, loss)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
