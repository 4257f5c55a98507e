"""Each rival loss against loops that say its formula aloud, and at the ends of its parameters."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from untrue import (
    BilinearLoss,
    ClassWeightedLoss,
    ConditionalSoftmaxLoss,
    CostRegressionLoss,
    CostSmoothedLoss,
    HierarchicalLoss,
    Hierarchy,
    Penalty,
    SoftLabelLoss,
    SquaredEMDLoss,
    UntrueWarning,
)
from untrue.errors import ArgumentError, UntrueError
from untrue.losses import soft_labels
from untrue.losses.emd import squared_emd_loss
from untrue.losses.hierarchical import conditional_softmax_loss, hierarchical_loss
from untrue.losses.regression import cost_regression_loss
from untrue.losses.soft_labels import cost_smoothed_loss
from untrue.losses.weighted import class_weights

K = 7


def softmax(scores: list[float]) -> list[float]:
    top = max(scores)
    total = math.fsum(math.exp(s - top) for s in scores)
    return [math.exp(s - top) / total for s in scores]


def mean_of(losses: list[float]) -> pytest.approx:
    return pytest.approx(sum(losses) / len(losses), rel=1e-11)


def ways_up(tree: Hierarchy) -> list[list[str]]:
    """Nodes from each class to the root; a class at an inner node is a leaf of its own below it."""
    up = {child: parent for parent, child in tree.edges()}
    ways = []
    for name in tree.classes:
        way = [name]
        while way[-1] in up:
            way.append(up[way[-1]])
        if name not in tree.leaves:
            way = [f"{name} itself", *way]
        ways.append(way)
    return ways


def heights(tree: Hierarchy) -> dict[str, int]:
    known = dict(zip(tree.names, tree.heights.tolist(), strict=True))
    return known | {f"{name} itself": 0 for name in tree.classes}


# Class-weighted cross-entropy


def test_class_weights_are_row_sums_over_their_mean(penalties, draw) -> None:
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


# Cost-smoothed and soft labels


@pytest.mark.parametrize(("epsilon", "gamma"), [(0.1, 1.0), (0.6, 3.0), (1.0, 0.5)])
def test_cost_smoothed_labels(penalties, draw, epsilon, gamma) -> None:
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
def test_soft_labels(tree, draw, beta) -> None:
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


# Hierarchical cross-entropy


def naive_hxe(tree: Hierarchy, z: list[float], y: int, decay: float, by: str) -> float:
    """Explicit paths, and the mass of a node as a sum over the classes whose path has it."""
    ways, h, p = ways_up(tree), heights(tree), softmax(z)
    mass = {
        node: math.fsum(p[i] for i, way in enumerate(ways) if node in way)
        for node in itertools.chain(*ways)
    }
    total = 0.0
    for step, (low, high) in enumerate(itertools.pairwise(ways[y])):
        edges_to_root = len(ways[y]) - 1 - (step + 1)
        factor = math.exp(-decay * (h[low] if by == "height" else edges_to_root))
        total -= factor * math.log(mass[low] / mass[high])
    return total


@pytest.mark.parametrize("by", ["height", "depth"])
@pytest.mark.parametrize("decay", [0.0, 0.3, 2.0])
def test_hxe_along_explicit_paths(tree, draw, by, decay) -> None:
    z, y = draw(9, K)
    losses = [naive_hxe(tree, z[n].tolist(), int(y[n]), decay, by) for n in range(9)]
    assert HierarchicalLoss(tree, decay=decay, by=by)(z, y).item() == mean_of(losses)


@st.composite
def trees(draw) -> Hierarchy:
    """Any tree of up to a dozen nodes; its classes are its leaves and some of its inner nodes."""
    n = draw(st.integers(2, 12))
    edges = [(f"v{draw(st.integers(0, child - 1))}", f"v{child}") for child in range(1, n)]
    leaves = Hierarchy.from_edges(edges).leaves
    inner = sorted({parent for parent, _ in edges})
    some = draw(st.lists(st.sampled_from(inner), unique=True))
    return Hierarchy.from_edges(edges, classes=draw(st.permutations([*leaves, *some])))


@given(trees(), st.floats(0, 3), st.sampled_from(["height", "depth"]), st.integers(0, 99))
def test_hxe_on_any_tree(any_tree, decay, by, seed) -> None:
    k = any_tree.n_classes
    z = torch.randn(k, k, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 3
    found = HierarchicalLoss(any_tree, decay=decay, by=by, reduction="none")(z, torch.arange(k))
    expected = [naive_hxe(any_tree, z[i].tolist(), i, decay, by) for i in range(k)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    flat = HierarchicalLoss(any_tree, decay=0.0, reduction="none")(z, torch.arange(k))
    np.testing.assert_allclose(flat, F.cross_entropy(z, torch.arange(k), reduction="none"))


@given(trees(), st.integers(0, 99))
def test_conditional_softmax_on_any_tree(any_tree, seed) -> None:
    loss, k = ConditionalSoftmaxLoss(any_tree, reduction="none"), any_tree.n_classes
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(3, loss.n_outputs, generator=generator, dtype=torch.float64) * 3
    probs = loss.probs(z)
    np.testing.assert_allclose(probs.sum(1), np.ones(3))
    for i in range(k):
        np.testing.assert_allclose(loss(z, torch.full((3,), i)), -probs[:, i].log(), atol=1e-12)
    assert loss.n_outputs < 2 * k


def test_hxe_keeps_its_digits_deep_in_an_unlikely_subtree() -> None:
    """Near 10,000 float32 goes in steps of a thousandth; differences of logits do not."""
    tree = Hierarchy.from_dict({"all": {"far": {"p": ["a", "b"], "c": None}, "near": ["d", "e"]}})
    z = torch.tensor([[-1e4, -1e4 - 1, -1e4, 1e4, 0.0]])
    assert tree.classes == ("a", "b", "c", "d", "e")
    # So much decay that only the decision between "c" and "p" is left.
    loss = HierarchicalLoss(tree, decay=50.0)(z, torch.tensor([2]))
    assert loss.item() == pytest.approx(math.log(2 + math.exp(-1)), rel=1e-6)


def test_classes_ruled_out_by_minus_infinity_have_no_part(tree, draw) -> None:
    z, _ = draw(3, K)
    y = torch.tensor([3, 3, 5])
    z[:, [0, 1, 6]] = -torch.inf  # the only class below "b", and both below "d"
    z.requires_grad_()
    for decay in (0.0, 0.7):
        value = HierarchicalLoss(tree, decay=decay)(z, y)
        (gradient,) = torch.autograd.grad(value, z)
        assert value.isfinite()
        assert gradient.isfinite().all()
        assert (gradient[:, [0, 1, 6]] == 0).all()
    torch.testing.assert_close(HierarchicalLoss(tree, decay=0.0)(z, y), F.cross_entropy(z, y))


def test_hxe_holds_nothing_of_k_times_k() -> None:
    k = 20_000
    tree = Hierarchy.from_groups({f"g{g}": [f"c{g}.{i}" for i in range(100)] for g in range(200)})
    loss = HierarchicalLoss(tree)
    assert sum(buffer.numel() for buffer in loss.buffers()) < 12 * k
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.append(t.numel()) or t, lambda t: t
    ):
        z = torch.randn(2, k, requires_grad=True)
        loss(z, torch.tensor([0, k - 1])).backward()
    assert sum(saved) < 2 * 12 * k


# Conditional softmax


def test_conditional_softmax_among_named_siblings(tree, draw) -> None:
    loss = ConditionalSoftmaxLoss(tree, reduction="none")
    assert loss.outputs[:K] == tree.classes
    assert sorted(loss.outputs[K:]) == ["a", "c (inner)", "d"]  # "b" holds one class alone
    z, y = draw(9, K, loss=loss)
    # Who competes with whom, by hand.
    rounds = [["x", "a", "c (inner)"], ["s", "t"], ["c", "d", "e"], ["d1", "d2"]]
    way = {"x": ["x"], "s": ["a", "s"], "t": ["a", "t"], "c": ["c (inner)", "c"]}
    way |= {"e": ["c (inner)", "e"], "d1": ["c (inner)", "d", "d1"], "d2": ["c (inner)", "d", "d2"]}
    for n in range(9):
        score = dict(zip(loss.outputs, z[n].tolist(), strict=True))
        chance = {}
        for siblings in rounds:
            shares = softmax([score[s] for s in siblings])
            chance |= dict(zip(siblings, shares, strict=True))
        expected = -sum(math.log(chance[v]) for v in way[tree.classes[y[n]]])
        assert loss(z, y)[n].item() == pytest.approx(expected, rel=1e-12)


def test_conditional_softmax_gives_probabilities_of_classes(tree, draw) -> None:
    loss = ConditionalSoftmaxLoss(tree)
    for shape in [(K,), (4, K), (2, K, 3)]:
        z, y = draw(*shape, loss=loss)
        probs = loss.probs(z)
        assert probs.shape == shape
        torch.testing.assert_close(
            probs.sum(0 if len(shape) == 1 else 1), torch.ones_like(y).double()
        )
        torch.testing.assert_close(F.nll_loss(loss.log_probs(z), y), loss(z, y))
    half = loss.probs(draw(4, K, loss=loss, dtype=torch.bfloat16)[0])
    assert half.dtype == torch.bfloat16
    with pytest.raises(ArgumentError, match=r"wants 10 logits an example.* have 7 in dimension 1"):
        loss.probs(torch.zeros(2, K))


def test_two_levels_of_siblings_without_groups_are_a_plain_softmax() -> None:
    flat = Hierarchy.from_dict({"all": ["a", "b", "c"]})
    z, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 1])
    torch.testing.assert_close(ConditionalSoftmaxLoss(flat)(z, y), F.cross_entropy(z, y))
    torch.testing.assert_close(HierarchicalLoss(flat, decay=2.0)(z, y), F.cross_entropy(z, y))


# Cost regression


def test_cost_regression(penalties, draw) -> None:
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


def test_cost_regression_learns_to_avoid_a_dear_mistake() -> None:
    """Two equally likely truths, one of them dear to miss: the cheap answer is never said."""
    penalty = Penalty.from_rules(["ill", "well"], {("ill", "well"): 9.0}, default=1.0)
    loss, r = CostRegressionLoss(penalty), torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.SGD([r], lr=0.3)
    for _ in range(200):
        optimizer.zero_grad()
        loss(r.expand(2, 2), torch.tensor([0, 1])).backward()
        optimizer.step()
    assert loss.decide(r) == 0


# Squared EMD


@pytest.mark.parametrize(("strength", "mu"), [(1.0, 0.0), (0.3, 0.5), (2.0, -0.2)])
def test_squared_emd_term(penalties, draw, strength, mu) -> None:
    z, y = draw(5, K)
    for penalty in penalties.values():
        matrix, losses = penalty.matrix(), []
        for n in range(5):
            p = softmax(z[n].tolist())
            term = sum(p[j] ** 2 * (matrix[y[n], j] - mu) for j in range(K))
            losses.append(-math.log(p[y[n]]) + strength * term)
        assert SquaredEMDLoss(penalty, strength=strength, mu=mu)(z, y).item() == mean_of(losses)


def test_without_strength_the_squared_emd_loss_is_cross_entropy(penalties, draw) -> None:
    for soft in (False, True):
        z, y = draw(5, K, soft=soft)
        loss = SquaredEMDLoss(penalties["tree"], strength=0.0, mu=0.4)
        torch.testing.assert_close(loss(z, y), F.cross_entropy(z, y))


def test_the_wasserstein_term_without_squares_is_the_bilinear_loss(penalties, draw) -> None:
    """Why there is no Wasserstein rival: from one class, all weight has one way to go."""
    z, y = draw(4, K)
    plan = z.softmax(1) * torch.tensor(penalties["dense"].matrix())[y]
    torch.testing.assert_close(BilinearLoss(penalties["dense"], 1.0)(z, y), plan.sum(1).mean())


# Functions, and what is refused


def test_functions_are_the_modules(tree, penalties, draw) -> None:
    penalty, matrix = penalties["dense"], torch.tensor(penalties["dense"].matrix())
    z, y = draw(4, K)
    pairs = [
        (cost_smoothed_loss, CostSmoothedLoss, {"epsilon": 0.4, "gamma": 2.0}),
        (cost_regression_loss, CostRegressionLoss, {}),
        (squared_emd_loss, SquaredEMDLoss, {"strength": 2.0, "mu": 0.1}),
    ]
    for function, module, options in pairs:
        expected = module(penalty, **options)(z, y)
        assert torch.equal(function(z, y, penalty, **options), expected)
        assert torch.equal(function(z, y, matrix, **options), expected)
    expected = HierarchicalLoss(tree, decay=0.3)(z, y)
    with torch.inference_mode():
        hierarchical_loss(z, y, tree, decay=0.3)
    ours = hierarchical_loss(z.requires_grad_(), y, tree, decay=0.3)
    ours.backward()  # also after a first call without gradients
    assert torch.equal(ours, expected)
    z, y = draw(4, K, loss=ConditionalSoftmaxLoss(tree))
    expected = ConditionalSoftmaxLoss(tree)(z, y)
    assert torch.equal(conditional_softmax_loss(z, y, penalties["tree"]), expected)


@pytest.mark.parametrize("loss", [HierarchicalLoss, SoftLabelLoss, ConditionalSoftmaxLoss])
def test_a_tree_may_come_as_a_penalty_and_nothing_else(loss, tree, penalties, draw) -> None:
    z, y = draw(4, K, loss=loss(tree))
    assert torch.equal(loss(penalties["tree"])(z, y), loss(tree)(z, y))
    with pytest.raises(ArgumentError, match=r"made from one .*; got a penalty in rules form"):
        loss(penalties["rules"])
    with pytest.raises(ArgumentError, match=r"`tree` must be a Hierarchy.*; got dict"):
        loss({"a": ["b"]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p, t: ClassWeightedLoss(p, power=-1), "`power` must be 0 or more; got -1.0"),
        (lambda p, t: CostSmoothedLoss(p, epsilon=1.2), r"`epsilon` must lie in \[0, 1\]; got 1.2"),
        (lambda p, t: CostSmoothedLoss(p, gamma=math.nan), "`gamma` must be 0 or more; got nan"),
        (lambda p, t: SoftLabelLoss(t, beta=math.inf), "`beta` must be 0 or more; got inf"),
        (lambda p, t: HierarchicalLoss(t, decay="much"), "`decay` must be a number; got 'much'"),
        (lambda p, t: HierarchicalLoss(t, by="width"), "'height' or 'depth'; got 'width'"),
        (lambda p, t: SquaredEMDLoss(p, strength=-0.5), "`strength` must be 0 or more; got -0.5"),
        (lambda p, t: SquaredEMDLoss(p, mu=math.inf), "`mu` must be finite; got inf"),
        (lambda p, t: CostRegressionLoss([[0.0, -1.0], [1.0, 0.0]]), "-1"),
    ],
)
def test_bad_parameters_are_named(make, message, penalties, tree) -> None:
    with pytest.raises(UntrueError, match=message):
        make(penalties["dense"], tree)


def test_one_class_cannot_be_confused() -> None:
    alone = Hierarchy.from_edges([("root", "only")])
    one = Penalty.from_rules(1, {})
    losses = [HierarchicalLoss(alone), ConditionalSoftmaxLoss(alone), SoftLabelLoss(alone)]
    losses += [ClassWeightedLoss(one), CostSmoothedLoss(one), SquaredEMDLoss(one)]
    for loss in losses:
        z = torch.randn(3, 1, requires_grad=True)
        value = loss(z, torch.zeros(3, dtype=torch.long))
        value.backward()
        assert value == 0
        assert (z.grad == 0).all()
