"""`BudgetedLoss` by itself; what every loss must do is in test_contract.py."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import BilinearLoss, Budget, BudgetedLoss, LogBilinearLoss, Penalty
from untrue.errors import ArgumentError
from untrue.metrics import confusion_matrix

K = 7
PLAIN = {"bilinear": BilinearLoss, "log-bilinear": LogBilinearLoss}
TEXTS = {
    "dense": ["0->1 <= 1%", "3<-* <= 1%", "0, 1->* <= 2%", "zone <= 5%", "expected cost <= 0.1"],
    "rules": ["0->1 <= 1%", "*->3 <= 1%", "*->* <= 2%", "zone <= 5%", "expected cost <= 0.1"],
    "tree": ["x->d1 <= 1%", "a->c <= 1%", "across groups <= 2%", "zone <= 5%", "d->d <= 1%"],
}
CONFUSED = np.full((K, K), 10)


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("soft", [False, True])
def test_without_updates_it_is_the_plain_loss(form, kind, soft, penalties, draw) -> None:
    z, y = draw(6, K, soft=soft)
    weight = torch.linspace(0.5, 2, K, dtype=torch.float64)
    options = {"alpha": 0.6, "weight": weight, "label_smoothing": 0.1}
    plain = PLAIN[kind](penalties[form], **options)
    loss = BudgetedLoss(penalties[form], TEXTS[form], loss=kind, **options)
    ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
    value, wanted = loss(ours, y), plain(theirs, y)
    value.backward()
    wanted.backward()
    torch.testing.assert_close(value, wanted, rtol=1e-13, atol=0)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("soft", [False, True])
def test_with_them_it_is_the_plain_loss_of_the_raised_costs(
    form, kind, soft, penalties, draw
) -> None:
    z, y = draw(6, K, soft=soft)
    loss = BudgetedLoss(penalties[form], TEXTS[form], loss=kind)
    loss.update(CONFUSED)
    assert min(loss.multipliers.values()) > 1
    ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
    value, wanted = loss(ours, y), PLAIN[kind](loss.scaled_penalty())(theirs, y)
    torch.testing.assert_close(value, wanted, rtol=1e-10, atol=0)
    value.backward()
    wanted.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-8, atol=1e-10)


def test_multipliers_move_by_the_relative_excess() -> None:
    penalty = Penalty.from_rules(["a", "b"], {})
    loss = BudgetedLoss(penalty, ["a->b <= 2%", "b->a <= 50%"], step=0.5)
    assert loss.multipliers == {"a->b <= 2%": 1.0, "b->a <= 50%": 1.0}
    seen = loss.update([[94, 6], [10, 90]])
    assert (seen.step, seen.rates, seen.limits) == (1, (0.06, 0.1), (0.02, 0.5))
    assert (seen.kept, seen.all_kept) == ((False, True), False)
    assert seen.multipliers == pytest.approx((2.0, 1.0))
    assert loss.multipliers == dict(zip(loss.multipliers, seen.multipliers, strict=True))
    again = loss.update([[99, 1], [10, 90]])
    assert again.multipliers == pytest.approx((1.75, 1.0))
    assert again.all_kept
    assert again.verdicts[0].budget == Budget.parse("a->b <= 2%")
    for _ in range(10):
        last = loss.update([[100, 0], [0, 100]])
    assert (last.step, last.multipliers) == (12, (1.0, 1.0))
    with pytest.raises(AttributeError):
        last.step = 3


def test_one_matrix_moves_a_multiplier_by_five_steps_at_most() -> None:
    loss = BudgetedLoss(Penalty.from_rules(2, {}), ["0->1 <= 0.1%"], step=0.5)
    assert loss.update([[0, 9], [0, 9]]).multipliers == (3.5,)


def test_a_bound_asks_for_more_than_the_rate() -> None:
    penalty = Penalty.from_rules(["a", "b"], {})
    counts = [[98, 2], [10, 90]]
    by_rate = BudgetedLoss(penalty, ["a->b <= 3%"])
    by_bound = BudgetedLoss(penalty, ["a->b <= 3%"], confidence=0.95)
    assert by_rate.update(counts).all_kept
    seen = by_bound.update(counts)
    assert not seen.all_kept
    assert seen.verdicts[0].upper > 0.03
    assert seen.multipliers[0] > 1


def test_what_was_not_seen_moves_nothing() -> None:
    loss = BudgetedLoss(Penalty.from_rules(["a", "b", "c"], {}), ["a->b <= 2%"])
    loss.update([[1, 9, 0], [0, 5, 0], [0, 0, 5]])
    before = loss.multipliers
    for confidence in (None, 0.9):
        loss.confidence = confidence
        seen = loss.update([[0, 0, 0], [0, 5, 0], [0, 0, 5]])
        assert loss.multipliers == before
        assert seen.kept == (False,)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 10**6), min_size=9, max_size=9), min_size=1, max_size=20),
    st.floats(0, 100),
    st.sampled_from([1e-30, 1.0, 1e28]),
)
def test_multipliers_stay_in_bounds_and_losses_finite(matrices, step, scale) -> None:
    penalty = Penalty.from_rules(3, {(0, 1): 20.0 * scale}, default=scale)
    texts = ["0->1 <= 0%", "zone <= 0 errors", f"expected cost <= {scale * 1e-3!r}"]
    loss = BudgetedLoss(penalty, texts, step=step, cap=500.0)
    for matrix in matrices:
        loss.update(np.reshape(matrix, (3, 3)))
        assert all(1.0 <= m <= 500.0 for m in loss.multipliers.values())
    z = torch.tensor([[-50.0, 50.0, 0.0], [1.0, 2.0, 3.0]], requires_grad=True)
    value = loss(z, torch.tensor([0, 2]))
    value.backward()
    assert value.isfinite()
    assert z.grad.isfinite().all()


def test_state_is_restored_exactly_and_only_to_the_same_budgets() -> None:
    penalty = Penalty.from_rules(3, {(0, 1): 20.0})
    loss = BudgetedLoss(penalty, ["0->1 <= 1%", "zone <= 2%"])
    loss.update([[5, 4, 1], [0, 9, 1], [0, 0, 9]])
    file = io.BytesIO()
    torch.save(loss.state_dict(), file)
    state = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    # Another limit is no other budget.
    twin = BudgetedLoss(penalty, ["0->1 <= 3%", "zone <= 2%"])
    twin.load_state_dict(state)
    assert list(twin.multipliers.values()) == list(loss.multipliers.values())
    assert twin.update(np.eye(3, dtype=int)).step == 2
    other = BudgetedLoss(penalty, ["0->2 <= 1%", "zone <= 2%"])
    with pytest.raises(RuntimeError, match="that of a BudgetedLoss with other budgets"):
        other.load_state_dict(state)
    assert set(other.multipliers.values()) == {1.0}
    for copied in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert copied.multipliers == loss.multipliers
        assert copied.update(np.eye(3, dtype=int)) == copy.deepcopy(loss).update(
            np.eye(3, dtype=int)
        )


def test_half_precision_and_devices_leave_multipliers_exact() -> None:
    loss = BudgetedLoss(Penalty.from_rules(2, {}), ["0->1 <= 3%"])
    loss.update([[90, 10], [0, 9]])
    before = loss.multipliers
    assert loss.half().to("cpu").multipliers == before
    assert loss.to("meta").costs.multipliers.is_meta


def test_a_compiled_loss_follows_the_multipliers(draw, penalties) -> None:
    torch._dynamo.reset()
    z, y = draw(4, K, dtype=torch.float32)
    loss = BudgetedLoss(penalties["rules"], TEXTS["rules"])
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    first = compiled(z, y)
    for _ in range(12):  # more updates than the compiler would recompile for
        loss.update(CONFUSED)
        torch.testing.assert_close(compiled(z, y), loss(z, y))
    assert not torch.equal(compiled(z, y), first)


def test_many_classes_make_no_matrix() -> None:
    k = 50_000
    penalty = Penalty.from_rules(k, {(0, 1): 50.0})
    groups = {"low": [str(i) for i in range(k // 2)], "high": [str(i) for i in range(k // 2, k)]}
    budgets = ["0->1 <= 1%", "low->high <= 1%", "across groups <= 1%", "zone <= 1%"]
    loss = BudgetedLoss(penalty, budgets, groups=groups)
    assert sum(b.numel() for b in loss.buffers()) < 40 * k
    z = torch.zeros(2, k, requires_grad=True)
    loss(z, torch.tensor([0, k - 1])).backward()
    assert z.grad.isfinite().all()


@pytest.mark.parametrize(
    ("budgets", "options", "message"),
    [
        (["0->9 <= 1%"], {}, "unknown class '9'"),
        (["0->1 < 1%"], {}, "at character 6, '< 1%': expected \"<=\""),
        ([], {}, "`budgets` is empty"),
        (["0->1 <= 1%", "0->1 <= 1%"], {}, "is given twice"),
        (["0->1 <= 1%"], {"loss": "linear"}, "`loss` must be 'bilinear' or 'log-bilinear'; got"),
        (["0->1 <= 1%"], {"step": -1.0}, "`step` must be at least 0; got -1"),
        (["0->1 <= 1%"], {"cap": 0.5}, "`cap` must be at least 1; got 0.5"),
        (["0->1 <= 1%"], {"confidence": 95}, "`confidence` must lie in"),
        (["0->1 <= 1%"], {"alpha": 2.0}, "`alpha` must lie in"),
    ],
)
def test_bad_arguments_are_named(budgets, options, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        BudgetedLoss(Penalty.from_rules(3, {}), budgets, **options)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.ones((3, 3), int), "must be about the 3 classes of the data; it is about 2"),
        (np.ones(4, int), r"must be a confusion matrix of shape \(k, k\); got shape \(4,\)"),
        ([[1, -1], [0, 1]], r"none negative\); got -1 at \[0, 1\]"),
        ([[1.0, 0.5], [0, 1]], r"got 0.5 at \[0, 1\]"),
        ([[1, float("nan")], [0, 1]], r"got nan at \[0, 1\]"),
    ],
)
def test_bad_matrices_are_named_and_change_nothing(counts, message) -> None:
    loss = BudgetedLoss(Penalty.from_rules(2, {}), ["0->1 <= 1%"])
    loss.update([[9, 1], [0, 9]])
    state = {name: value.clone() for name, value in loss.state_dict().items()}
    with pytest.raises(ArgumentError, match=message):
        loss.update(counts)
    assert all(torch.equal(value, state[name]) for name, value in loss.state_dict().items())


class Digits:
    """Scikit-learn's digits, a linear model, and a loss with one budget."""

    def __init__(self, *, seed: int = 0, **options) -> None:
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
        self.images = torch.tensor(images / 16, dtype=torch.float32)
        self.labels = torch.tensor(labels)
        self.rng = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(labels), generator=self.rng)
        self.train, self.validation, self.test = order.split([400, 700, 697])
        torch.manual_seed(seed)
        self.network = torch.nn.Linear(64, 10)
        self.loss = BudgetedLoss(Penalty.from_rules(10, {}), ["*->8 <= 1%"], **options)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=0.01)

    def epoch(self) -> None:
        for batch in self.train[torch.randperm(len(self.train), generator=self.rng)].split(50):
            self.optimizer.zero_grad()
            self.loss(self.network(self.images[batch]), self.labels[batch]).backward()
            self.optimizer.step()

    def confusion(self, part: torch.Tensor) -> np.ndarray:
        return confusion_matrix(self.labels[part], self.network(self.images[part]).argmax(1), 10)

    def rate(self, part: torch.Tensor) -> float:
        return self.loss.budgets[0].rate(self.confusion(part))


def test_on_real_digits_a_confusion_over_budget_falls_under_it() -> None:
    plain, held = Digits(), Digits(confidence=0.9)
    for _ in range(50):
        plain.epoch()
        held.epoch()
        held.loss.update(held.confusion(held.validation))
    assert plain.rate(plain.validation) > 0.01
    assert plain.rate(plain.test) > 0.01
    assert held.rate(held.validation) <= 0.01
    assert held.rate(held.test) <= 0.01
    right = [d.confusion(d.test).trace() / 697 for d in (plain, held)]
    assert right[1] > right[0] - 0.03


def test_a_run_resumed_half_way_goes_on_as_if_undisturbed() -> None:
    undisturbed, first, second = Digits(), Digits(), Digits(seed=1)
    for _ in range(4):
        undisturbed.epoch()
        undisturbed.loss.update(undisturbed.confusion(undisturbed.validation))
    for _ in range(2):
        first.epoch()
        first.loss.update(first.confusion(first.validation))
    parts = ("network", "loss", "optimizer")
    saved = {part: copy.deepcopy(getattr(first, part).state_dict()) for part in parts}
    second.train, second.validation = first.train, first.validation
    second.rng.set_state(first.rng.get_state())
    for part in parts:
        getattr(second, part).load_state_dict(saved[part])
    for _ in range(2):
        second.epoch()
        seen = second.loss.update(second.confusion(second.validation))
    assert seen.step == 4
    assert second.loss.multipliers == undisturbed.loss.multipliers != {"*->8 <= 1%": 1.0}
    assert torch.equal(second.network.weight, undisturbed.network.weight)
