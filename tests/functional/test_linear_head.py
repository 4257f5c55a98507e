"""The linear layer and the loss together are what they are apart, without the logits."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.nn import functional as F

from untrue import AlphaSchedule, Hierarchy, LinearHeadLoss, Penalty, functional
from untrue.errors import ArgumentError
from untrue.functional import head_blocks

PAIRS = {
    "bilinear": (functional.linear_bilinear_loss, functional.bilinear_loss),
    "log-bilinear": (functional.linear_log_bilinear_loss, functional.log_bilinear_loss),
}
every_loss = pytest.mark.parametrize("name", PAIRS)
N, D, K = 23, 5, 8
NAMES = [f"c{i}" for i in range(K)]
FORMS = {
    "dense": Penalty.from_matrix(torch.arange(float(K * K)).view(K, K).fill_diagonal_(0.0)),
    "rules": Penalty.from_rules(K, {(0, 1): 5.0, (3, 2): 0.1}),
    "tree": Penalty.from_hierarchy(Hierarchy.from_groups({"a": NAMES[:3], "b": NAMES[3:]})),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch) -> None:
    """Blocks of four rows, the last of three."""
    monkeypatch.setattr(head_blocks, "MOST_ROWS", 4)


def draw(dtype=torch.float64, learned=(True, True, True)):
    torch.manual_seed(0)
    given = [torch.randn(N, D), torch.randn(K, D), torch.randn(K)]
    y = torch.arange(N) % K
    return [
        x.to(dtype).requires_grad_(is_learned) for x, is_learned in zip(given, learned, strict=True)
    ], y


def results(loss, given, *, upstream=1.0):
    """Value and gradients; `upstream` multiplies the value, or each of several."""
    inputs = [x for x in given if x is not None and x.requires_grad]
    value = loss(*given)
    return [value, *torch.autograd.grad((value * upstream).sum(), inputs)]


def assert_same(name, given, y, penalty, *, upstream=1.0, near=None, **options) -> None:
    fused, plain = PAIRS[name]
    class_weight = options.pop("class_weight", None)
    found = results(
        lambda f, w, b: fused(f, w, b, y, penalty, class_weight=class_weight, **options),
        given,
        upstream=upstream,
    )
    wanted = results(
        lambda f, w, b: plain(F.linear(f, w, b), y, penalty, weight=class_weight, **options),
        given,
        upstream=upstream,
    )
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True, **(near or {}))


@every_loss
@pytest.mark.parametrize("form", FORMS)
def test_every_form_and_option(name, form) -> None:
    given, y = draw()
    cases = itertools.product(
        (0.0, 0.4, 1.0), (None, torch.linspace(0.3, 2.0, K).double()), (-100, 3), (0.0, 0.1)
    )
    for alpha, class_weight, ignored, smoothing in cases:
        for reduction in ("mean", "sum", "none"):
            assert_same(
                name,
                given,
                y,
                FORMS[form],
                alpha=alpha,
                class_weight=class_weight,
                ignore_index=ignored,
                reduction=reduction,
                label_smoothing=smoothing,
                upstream=torch.linspace(-1.0, 2.0, N) if reduction == "none" else -1.5,
            )


@every_loss
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_probabilities_as_targets(name, reduction) -> None:
    given, _ = draw()
    assert_same(
        name, given, torch.rand(N, K).softmax(1).double(), FORMS["tree"], reduction=reduction
    )


@every_loss
@pytest.mark.parametrize("learned", list(itertools.product([True, False], repeat=3)))
def test_what_is_frozen_has_no_gradient(name, learned) -> None:
    given, y = draw(learned=learned)
    if any(learned):
        assert_same(name, given, y, FORMS["dense"])
    value = PAIRS[name][0](*given, y, FORMS["dense"])
    assert value.requires_grad == any(learned)
    value = value if any(learned) else value.requires_grad_()
    value.backward()
    assert [x.grad is not None for x in given] == list(learned)


@every_loss
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4), (2, 3, 2)])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_any_shape_of_examples(name, shape, reduction) -> None:
    (_, weight, _), _ = draw()
    features = torch.randn(*shape, D, dtype=torch.float64, requires_grad=True)
    y = torch.randint(0, K, shape)
    fused, plain = PAIRS[name]
    value = fused(features, weight, None, y, FORMS["tree"], reduction=reduction)
    assert value.shape == (shape if reduction == "none" else ())
    flat = plain(
        F.linear(features, weight).reshape(-1, K), y.reshape(-1), FORMS["tree"], reduction=reduction
    )
    torch.testing.assert_close(value.reshape(-1), flat.reshape(-1), equal_nan=True)
    value.sum().backward()
    assert features.grad.shape == features.shape


@every_loss
def test_no_gradient_is_computed_where_none_is_wanted(name) -> None:
    given, y = draw()
    fused, plain = PAIRS[name]
    with torch.no_grad():
        value = fused(*given, y, FORMS["rules"])
        torch.testing.assert_close(value, plain(F.linear(*given), y, FORMS["rules"]))
    assert not value.requires_grad


@every_loss
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_gradients_by_differences(name, reduction) -> None:
    given, y = draw()
    y[3] = -100

    def loss(*x):
        return PAIRS[name][0](*x, y, FORMS["tree"], reduction=reduction)

    assert torch.autograd.gradcheck(loss, given)


@every_loss
def test_second_derivatives_are_those_of_the_formula(name) -> None:
    given, y = draw()
    found = []
    for loss in (
        lambda: PAIRS[name][0](*given, y, FORMS["tree"]),
        lambda: PAIRS[name][1](F.linear(*given), y, FORMS["tree"]),
    ):
        first = torch.autograd.grad(loss(), given, create_graph=True)
        found.append(torch.autograd.grad(sum(g.square().sum() for g in first), given))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


@every_loss
def test_a_graph_may_be_used_again(name) -> None:
    given, y = draw()
    value = PAIRS[name][0](*given, y, FORMS["dense"])
    first = torch.autograd.grad(3.0 * value, given, retain_graph=True)
    second = torch.autograd.grad(value, given)
    for ours, theirs in zip(first, second, strict=True):
        torch.testing.assert_close(ours, 3.0 * theirs)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(value, given)


@every_loss
@pytest.mark.parametrize("of", ["logits", "head"])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_class_weights_may_be_learned(name, of, reduction) -> None:
    given, y = draw()
    y[0] = -100
    head, plain = PAIRS[name]
    logits = F.linear(*given).detach()
    options = {"alpha": 0.4, "reduction": reduction}

    def loss(weight):
        if of == "logits":
            return plain(logits, y, FORMS["dense"], weight=weight, **options)
        return head(*given, y, FORMS["dense"], class_weight=weight, **options)

    weight = torch.linspace(0.5, 2.0, K, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, weight)
    logits.requires_grad_()
    assert torch.autograd.gradcheck(loss, weight)


@every_loss
def test_probabilities_as_targets_may_have_a_gradient(name) -> None:
    given, _ = draw()
    soft = torch.rand(N, K, dtype=torch.float64).softmax(1).requires_grad_()
    found = PAIRS[name][0](*given, soft, FORMS["dense"])
    wanted = PAIRS[name][1](F.linear(*given), soft, FORMS["dense"])
    torch.testing.assert_close(*(torch.autograd.grad(each, soft)[0] for each in (found, wanted)))


@every_loss
def test_gradients_may_be_changed_while_the_graph_is_kept(name) -> None:
    given, y = draw()
    value = PAIRS[name][0](*given, y, FORMS["dense"])
    first = torch.autograd.grad(value, given, retain_graph=True)
    kept = [slope.clone() for slope in first]
    for slope in first:  # as clipping does, and as a second backward pass adds to `grad`
        slope.mul_(100.0)
    for ours, theirs in zip(torch.autograd.grad(value, given), kept, strict=True):
        torch.testing.assert_close(ours, theirs)


@every_loss
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halves_are_computed_in_single_precision(name, dtype) -> None:
    given, y = draw(dtype)
    assert_same(name, given, y, FORMS["tree"], near={"rtol": 0.02, "atol": 0.02})
    value = PAIRS[name][0](*given, y, FORMS["tree"])
    assert value.dtype == dtype
    value.backward()
    assert all(x.grad.dtype == dtype for x in given)


@every_loss
def test_autocast(name) -> None:
    given, y = draw(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert_same(name, given, y, FORMS["tree"], near={"rtol": 0.02, "atol": 0.02})
        value = PAIRS[name][0](*given, y, FORMS["tree"])
    assert value.dtype == torch.float32
    value.backward()
    assert all(x.grad.dtype == torch.float32 for x in given)


@every_loss
def test_transforms_and_recorders_see_plain_operations(name) -> None:
    given, y = draw(learned=(False,) * 3)

    def loss(w):
        return PAIRS[name][0](given[0], w, given[2], y, FORMS["tree"])

    weight = given[1].clone().requires_grad_()
    loss(weight).backward()
    torch.testing.assert_close(torch.func.grad(loss)(given[1]), weight.grad)
    compiled = torch.compile(loss, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(given[1]), loss(given[1]))


@every_loss
def test_nothing_counts(name) -> None:
    given, _ = draw()
    value = PAIRS[name][0](*given, torch.full((N,), -100), FORMS["dense"])
    assert value.isnan()
    assert all((g == 0.0).all() for g in torch.autograd.grad(value, given))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": torch.zeros(N, D + 1)}, r"`weight` must have shape \(8, 6\).*got \(8, 5\)"),
        ({"features": torch.zeros(N, D).long()}, "`features` must be floating point"),
        ({"weight": torch.zeros(K + 1, D)}, r"`weight` must have shape \(8, 5\).*got \(9, 5\)"),
        ({"bias": torch.zeros(K + 1)}, r"`bias` must be None or have shape \(8,\); got \(9,\)"),
        ({"bias": 1.0}, r"`bias` must be None or have shape \(8,\); got float"),
        (
            {"target": torch.zeros(N + 1).long()},
            r"`target` as class indices must have shape \(23,\)",
        ),
        ({"target": torch.zeros(N)}, r"`target` as probabilities must have shape \(23, 8\)"),
        ({"alpha": 1.5}, "`alpha` must lie in"),
        ({"reduction": "max"}, "`reduction` must be"),
        ({"class_weight": torch.ones(3)}, r"`weight` must have shape \(8,\); got \(3,\)"),
        ({"penalty": FORMS["dense"].per_example({(0, 1): [1.0]})}, "those of each example"),
    ],
)
def test_bad_arguments(change, message) -> None:
    (features, weight, bias), y = draw(torch.float32)
    given = {"features": features, "weight": weight, "bias": bias, "target": y}
    with pytest.raises(ArgumentError, match=message):
        functional.linear_bilinear_loss(**{**given, "penalty": FORMS["dense"], **change})


@every_loss
@pytest.mark.parametrize("class_weight", [None, torch.ones(K)])
def test_a_target_that_is_no_class(name, class_weight) -> None:
    given, y = draw()
    y[17] = K
    with pytest.raises(IndexError, match=r"^Target 8 is out of bounds\.$"):
        PAIRS[name][0](*given, y, FORMS["dense"], class_weight=class_weight)


class TestLinearHeadLoss:
    @every_loss
    def test_it_is_its_layer_and_its_loss(self, name) -> None:
        torch.manual_seed(0)
        options = {"weight": torch.linspace(0.5, 1.0, K), "label_smoothing": 0.1, "ignore_index": 2}
        head = LinearHeadLoss(D, FORMS["tree"], 0.3, loss=name, **options)
        features, y = torch.randn(N, D), torch.arange(N) % K
        wanted = PAIRS[name][1](head.logits(features), y, FORMS["tree"], alpha=0.3, **options)
        torch.testing.assert_close(head(features, y), wanted)
        head(features, y).backward()
        assert head.linear.weight.grad.abs().sum() > 0
        assert head.linear.bias.grad.abs().sum() > 0

    def test_its_state_has_layer_alpha_and_schedule(self) -> None:
        head = LinearHeadLoss(D, FORMS["tree"], bias=False)
        schedule = AlphaSchedule(head, final=0.8, steps=4)
        schedule.step()
        other = LinearHeadLoss(D, FORMS["tree"], bias=False)
        other.load_state_dict(head.state_dict())
        assert other.alpha == head.alpha > 0
        assert other.alpha_steps == 1
        assert other.resumed
        assert torch.equal(other.linear.weight, head.linear.weight)
        assert head.penalty == FORMS["tree"]

    def test_what_it_refuses(self) -> None:
        with pytest.raises(ArgumentError, match="`loss` must be 'bilinear' or 'log-bilinear'"):
            LinearHeadLoss(D, FORMS["tree"], loss="focal")
        with pytest.raises(ArgumentError, match="`binary` is about one logit"):
            LinearHeadLoss(D, Penalty.from_ordinal(2), binary=True)
        for given, rule in ((0, "at least 1"), ("16", "a whole number of at least 1")):
            with pytest.raises(ArgumentError, match=f"`in_features` must be {rule}; got"):
                LinearHeadLoss(given, FORMS["tree"])
        head = LinearHeadLoss(D, FORMS["tree"])
        with pytest.raises(ArgumentError, match=rf"for `features` of shape \(2, {D + 1}\); got"):
            head(torch.randn(2, D + 1), torch.tensor([0, 1]))
