"""Every method of the comparison trains, and its outputs are read as its paper says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from untrue.decision import calibrate, decide, invert
from untrue.errors import HierarchyError
from untrue.hierarchy import Hierarchy
from untrue.lab import methods, scoring
from untrue.lab.data import Dataset, load
from untrue.lab.records import METHODS, DatasetInfo, PenaltySpec, RunConfig, Setup
from untrue.lab.splits import describe, split
from untrue.lab.training import train
from untrue.losses import HierarchicalLoss, registry
from untrue.metrics import ece
from untrue.training import Settings

GROUPS = PenaltySpec("groups", 1.0, 5.0, normalization="max")
COSTS = dataclasses.replace(GROUPS, normalization="none")
SETUP = Setup("digits", "digits", Settings(epochs=6), validation=200)
BASELINE = RunConfig(SETUP, seed=3, score_on=(COSTS,), calibrate=True)


def config_of(method: str, strength: float = 0.5) -> RunConfig:
    if method == "ce":
        return BASELINE
    if method in registry.MIXED:
        return dataclasses.replace(BASELINE, loss=method, alpha=strength, penalty=GROUPS)
    entry = registry.find(method)
    return dataclasses.replace(
        BASELINE,
        loss=method,
        strength=None if entry.knob is None else strength,
        penalty=GROUPS if entry.needs else None,
    )


@pytest.fixture(scope="module")
def digits() -> Dataset:
    groups = {"low": list("01234"), "high": list("56789")}
    data = load("digits")
    return dataclasses.replace(data, hierarchy=Hierarchy.from_groups(groups, classes=data.classes))


@pytest.fixture(scope="module")
def info(digits: Dataset) -> DatasetInfo:
    return describe(digits)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_the_digits(method: str, digits: Dataset) -> None:
    strengths = {"soft-labels": 8.0, "sosr": 3.0}
    result = train(config_of(method, strengths.get(method, 0.5)), digits).result
    assert result.status == "ok"
    # Cost regression learns slowly.
    least = 0.5 if method == "sosr" else 0.8
    assert result.confusion.trace() > least * result.confusion.sum()
    assert result.confusion.sum() == len(digits.test_labels)
    if method == "sosr":
        assert (result.decisions, result.temperature, result.ece) == ((), None, None)
        assert result.test_loss is None
    else:
        kept = [decision.rule for decision in result.decisions]
        assert kept[:2] == ["least-cost", "least-cost-calibrated"]
        assert result.temperature is not None
        assert result.test_loss is not None


def test_cost_regression_answers_by_the_least_output(digits: Dataset, info: DatasetInfo) -> None:
    method = methods.build(config_of("sosr", 2.0), info)
    outputs = torch.tensor([[0.1, *[5.0] * 9], [9.0, -3.0, *[0.0] * 8]])
    scored = methods.score(method, config_of("sosr", 2.0), info, outputs, np.array([0, 1]))
    assert scored.confusion[0, 0] == scored.confusion[1, 1] == 1
    # The scale multiplies the costs, normalised to at most 1.
    assert method.objective.scale == 2.0
    assert method.objective.penalty.matrix().max() == 1.0


def test_the_conditional_softmax_has_an_output_for_each_node(info: DatasetInfo) -> None:
    method = methods.build(config_of("conditional-softmax"), info)
    assert method.n_outputs == 12
    probs = method.scores(torch.randn(4, 12)).exp()
    assert probs.shape == (4, 10)
    assert torch.allclose(probs.sum(1), torch.ones(4), atol=1e-5)


def test_hierarchical_cross_entropy_weighs_coarse_decisions_most(info: DatasetInfo) -> None:
    method = methods.build(config_of("hxe", 2.0), info)
    logits, target = torch.randn(5, 10), torch.arange(5)
    published = HierarchicalLoss(scoring.hierarchy(GROUPS, info), decay=2.0, by="depth")
    assert torch.equal(method.objective(logits, target), published(logits, target))


@pytest.mark.parametrize(
    ("method", "weak"),
    [("class-weighted", 1e-9), ("cost-smoothed", 1e-9), ("squared-emd", 1e-9), ("hxe", 1e-9)],
)
def test_at_no_strength_a_rival_is_cross_entropy(
    method: str, weak: float, info: DatasetInfo
) -> None:
    logits, target = torch.randn(20, 10), torch.arange(20) % 10
    loss = methods.build(config_of(method, weak), info).objective
    assert torch.allclose(loss(logits, target), F.cross_entropy(logits, target), atol=1e-6)


def test_the_calibrated_decision_uses_the_temperature_of_the_validation_images(
    digits: Dataset, info: DatasetInfo
) -> None:
    # Soft labels spread their weight: calibration must sharpen them.
    config = config_of("soft-labels", 4.0)
    trained = train(config, digits)
    result, labels = trained.result, digits.test_labels
    assert result.temperature is not None
    assert result.temperature < 0.9
    assert result.ece is not None
    assert result.ece[1] < result.ece[0] / 2
    assert result.ece[0] == pytest.approx(ece(trained.probs, labels))
    with torch.inference_mode():
        watched = split(config, digits).validation
        pixels = torch.from_numpy(digits.train_images[watched]).float() / 255
        logits = trained.network(pixels)
        test = trained.network(torch.from_numpy(digits.test_images).float() / 255)
    found = calibrate(logits, torch.from_numpy(digits.train_labels[watched]))
    assert found.temperature == pytest.approx(result.temperature, rel=1e-4)
    predicted = decide(found(test.numpy()), scoring.penalty(COSTS, info))
    expected = np.zeros((10, 10), dtype=int)
    np.add.at(expected, (labels, predicted), 1)
    calibrated = result.decision(COSTS, calibrated=True)
    assert calibrated is not None
    assert np.abs(calibrated - expected).sum() <= 2  # rounding may part a tie the other way
    raw = result.decision(COSTS)
    assert raw is not None
    assert not np.array_equal(raw, calibrated)


@pytest.mark.parametrize("loss", registry.MIXED)
def test_a_loss_by_costs_is_also_decided_on_the_posterior_calibrated_after(
    loss: str, digits: Dataset, info: DatasetInfo
) -> None:
    config = config_of(loss, 0.7)
    trained = train(config, digits)
    result, labels = trained.result, digits.test_labels
    with torch.inference_mode():
        watched = split(config, digits).validation
        pixels = torch.from_numpy(digits.train_images[watched]).float() / 255
        held_back = trained.network(pixels).double().softmax(1).numpy()
        test = trained.network(torch.from_numpy(digits.test_images).float() / 255)
    penalty, costs = scoring.penalty(GROUPS, info), scoring.penalty(COSTS, info)
    behind = {}
    for name, probs in (("watched", held_back), ("test", test.double().softmax(1).numpy())):
        inverse = invert(probs, penalty, 0.7, loss)
        kept = np.where(inverse.outside[:, None], probs, inverse.probs)
        behind[name] = np.log(np.maximum(kept, 1e-12))
    found = calibrate(behind["watched"], digits.train_labels[watched])
    expected = np.zeros((10, 10), dtype=int)
    np.add.at(expected, (labels, decide(found(behind["test"]), costs)), 1)
    made = {decision.rule: decision.confusion for decision in result.decisions}
    assert list(made) == ["least-cost", "least-cost-calibrated", "posterior"]
    assert np.abs(made["posterior"] - expected).sum() <= 2
    assert result.clipped is not None
    assert 0.0 <= result.clipped <= 1.0
    assert [each.rule for each in result.validated] == ["argmax", *made]
    answers = decide(found(behind["watched"]), costs)
    truth = digits.train_labels[watched]
    assert result.validated[3].error == pytest.approx((answers != truth).mean(), abs=0.011)
    charged = costs.matrix()[truth, answers].mean()
    assert result.validated[3].cost == pytest.approx(charged, abs=0.05)
    first = (held_back.argmax(1) != truth).mean()
    assert result.validated[0].error == pytest.approx(first)


def test_other_losses_have_no_posterior_of_their_own(digits: Dataset) -> None:
    for method, softened in (("ce", 3), ("soft-labels", 0)):
        result = train(config_of(method, 8.0), digits).result
        rules = ["least-cost", "least-cost-calibrated", *["softened-cost"] * softened]
        assert [d.rule for d in result.decisions] == rules
        assert result.clipped is None
        assert [each.rule for each in result.validated] == ["argmax", *rules]


def test_a_temperature_of_one_changes_nothing_and_none_changes_the_order() -> None:
    probs = np.array([[0.7, 0.2, 0.1], [0.0, 0.4, 0.6]], dtype=np.float32)
    assert np.allclose(scoring.tempered(probs, 1.0), probs, atol=1e-7)
    cooled = scoring.tempered(probs, 0.25)
    assert (np.argsort(cooled) == np.argsort(probs)).all()
    assert cooled[0, 0] > 0.99
    assert np.isfinite(scoring.tempered(probs, 50.0)).all()


def test_a_matrix_may_bring_its_tree_and_a_zone_has_none(info: DatasetInfo) -> None:
    tree = scoring.hierarchy(GROUPS, info)
    spec = PenaltySpec("matrix", costs=((0.0,),), edges=tuple(tree.edges()))
    assert scoring.hierarchy(spec, info) == tree
    with pytest.raises(HierarchyError, match="A penalty by a zone has no hierarchy"):
        scoring.hierarchy(PenaltySpec("zone", 10.0, 1.0, ((0, 1),)), info)
