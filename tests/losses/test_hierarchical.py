"""Losses along explicit paths of any tree: hierarchical cross-entropy and conditional softmax."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from untrue import ConditionalSoftmaxLoss, HierarchicalLoss, Hierarchy
from untrue.errors import ArgumentError

K = 7


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


# Hierarchical cross-entropy


@pytest.fixture(scope="session")
def naive_hxe(softmax):
    def naive(tree: Hierarchy, z: list[float], y: int, decay: float, by: str) -> float:
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

    return naive


@pytest.mark.parametrize("by", ["height", "depth"])
@pytest.mark.parametrize("decay", [0.0, 0.3, 2.0])
def test_hxe_along_explicit_paths(tree, draw, naive_hxe, mean_of, by, decay) -> None:
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
def test_hxe_on_any_tree(naive_hxe, any_tree, decay, by, seed) -> None:
    k = any_tree.n_classes
    z = torch.randn(k, k, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 3
    found = HierarchicalLoss(any_tree, decay=decay, by=by, reduction="none")(z, torch.arange(k))
    expected = [naive_hxe(any_tree, z[i].tolist(), i, decay, by) for i in range(k)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    flat = HierarchicalLoss(any_tree, decay=0.0, reduction="none")(z, torch.arange(k))
    np.testing.assert_allclose(flat, F.cross_entropy(z, torch.arange(k), reduction="none"))


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


def test_conditional_softmax_among_named_siblings(tree, draw, softmax) -> None:
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
    with pytest.raises(ArgumentError, match=r"needs 10 logits per example.* have 7 in dimension 1"):
        loss.probs(torch.zeros(2, K))


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


def test_two_levels_of_siblings_without_groups_are_a_plain_softmax() -> None:
    flat = Hierarchy.from_dict({"all": ["a", "b", "c"]})
    z, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 1])
    torch.testing.assert_close(ConditionalSoftmaxLoss(flat)(z, y), F.cross_entropy(z, y))
    torch.testing.assert_close(HierarchicalLoss(flat, decay=2.0)(z, y), F.cross_entropy(z, y))
