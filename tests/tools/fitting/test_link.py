"""A model trained by costs gives the class probabilities behind its scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import untrue
from untrue.penalty import Penalty
from untrue.tools.fitting.link import Link, class_probs, many_outside
from untrue.tools.fitting.model_folder import load_model
from untrue.tools.tuning.trainer import link_of


@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
def test_the_probabilities_are_the_posterior_and_the_scores_keep_their_order(loss: str) -> None:
    costs = Penalty.from_rules(["a", "b", "c"], {("a", "b"): 4.0})
    scores = np.array([[1.0, 0.5, -1.0], [0.0, 0.0, 0.0]])
    probs = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    found = class_probs(scores, Link(loss, 0.4, costs), 1.0)
    expected = untrue.posterior(probs, costs, 0.4, loss)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_nothing_moves_without_costs_in_training() -> None:
    costs = Penalty.from_rules(2, {})
    scores = np.array([[1.0, 0.0]])
    for link in (None, Link("cross-entropy", 0.5, costs), Link("bilinear", 0.0, costs)):
        assert class_probs(scores, link, 1.0)[0, 0] == pytest.approx(1 / (1 + np.exp(-1)))


def test_a_fitted_model_remembers_and_so_does_its_folder(
    patients_csv: Path, patient_costs: Penalty, tmp_path: Path
) -> None:
    found = untrue.fit(
        patients_csv,
        target="diagnosis",
        penalty=patient_costs,
        alpha=0.3,
        model="lightgbm",
        rounds=10,
        baseline=False,
    )
    assert found.model.link == Link("bilinear", 0.3, patient_costs)
    folder = found.save(tmp_path / "m")
    assert load_model(folder).link == found.model.link
    by_cost = untrue.predict(folder, patients_csv, decision="cost")
    np.testing.assert_array_equal(by_cost.predicted, untrue.decide(by_cost.probs, patient_costs))


def test_scores_that_stand_for_no_probabilities_are_worth_a_note_once_they_are_many() -> None:
    costs = Penalty.from_rules(3, {("0", "1"): 30.0})
    scores = np.random.default_rng(0).normal(0, 3, size=(200, 3))
    _, some = Link("log-bilinear", 0.95, costs).read(scores)
    note = many_outside(some, 0.95, "held-out examples")
    assert note is not None
    assert note.startswith(f"for {100 * some:.0f} % of the held-out examples the scores do not")
    _, none = Link("log-bilinear", 0.1, costs).read(scores / 10)
    assert many_outside(none, 0.1, "held-out examples") is None


def test_scores_that_stand_for_no_probabilities_keep_the_model_s_own() -> None:
    costs = Penalty.from_rules(3, {("0", "1"): 30.0})
    scores = np.random.default_rng(0).normal(0, 3, size=(200, 3))
    own = class_probs(scores, None, 1.0)
    found = untrue.decision.invert(own, costs, 0.95, "log-bilinear")
    behind = class_probs(scores, Link("log-bilinear", 0.95, costs), 1.0)
    assert 0 < found.outside.sum() < 200
    np.testing.assert_allclose(behind[found.outside], own[found.outside], atol=1e-9)
    np.testing.assert_allclose(behind[~found.outside], found.probs[~found.outside], atol=1e-9)


@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
def test_a_few_examples_without_a_posterior_do_not_flatten_all_the_others(loss: str) -> None:
    """With the nearest posterior, one of twenty examples had a class of no probability that was
    true all the same, and a temperature above 200 made up for it."""
    rng = np.random.default_rng(1)
    costs = Penalty.random_zone(10, 20, seed=1)
    scores = rng.normal(0, 2.5, size=(2000, 10))
    own = class_probs(scores, None, 1.0)
    truth = (rng.random((len(own), 1)) < own.cumsum(axis=1)).argmax(axis=1)
    logits, outside = Link(loss, 0.8, costs).read(scores)
    assert outside > 0.04
    assert 0.8 < untrue.calibrate(logits, truth).temperature < 1.2


def test_costs_of_each_example_move_each_back_by_its_own() -> None:
    """As the models of `tune` are read: by the costs they were trained with, already scaled."""
    costs = Penalty.from_rules(["a", "b"], {})
    each = costs.per_example({("a", "b"): np.array([1.0, 4.0, 9.0])})
    scores = np.random.default_rng(0).normal(size=(2, 2))
    link, own = link_of("bilinear", 0.3, each, np.array([2, 0]))
    for n, example in enumerate((2, 0)):
        wanted = Link("bilinear", 0.3, each.penalty(example)).logits(scores[n : n + 1])
        np.testing.assert_allclose(link.logits(scores, own)[n : n + 1], wanted)
