"""What `tune` calls kept is truly kept, in all but a few draws of the data, whatever it tried.

Without training: a model is a table of probabilities for a large pool, whose rates are the truth.
The models of the repetitions are not quite the one that is kept, as in life.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from untrue import Penalty
from untrue.budgets import resolve_all
from untrue.tools.fitting.model import answers
from untrue.tools.tuning.judging import Judge, too_few
from untrue.tools.tuning.parts import part
from untrue.tools.tuning.search import search
from untrue.tools.tuning.setting import Setting, decision_costs
from untrue.tools.tuning.trainer import Recipe

CLASSES = ["tumour", "cyst", "benign"]
COSTS = Penalty.from_rules(CLASSES, {("tumour", "benign"): 5.0}, default=1.0)
POOL, N = 20_000, 1200


@dataclass(frozen=True)
class Pool:
    """Labels, and for each loss the probabilities of the repetitions' models and the last one's."""

    true: np.ndarray
    models: dict[str, tuple[np.ndarray, np.ndarray]]


def scores(true: np.ndarray, rng: np.random.Generator, skill: float) -> tuple[np.ndarray, ...]:
    common = skill * np.eye(3)[true] + rng.normal(0, 0.9, (len(true), 3))
    found = []
    # The last model is more sure of itself, and thinks less of tumours.
    for sure, shift in ((1.3, 0.0), (2.0, -0.5)):
        logits = sure * (common + rng.normal(0, 0.3, common.shape) + shift * np.eye(3)[0])
        found.append(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
    return tuple(found)


@pytest.fixture(scope="module")
def pool() -> Pool:
    rng = np.random.default_rng(0)
    true = rng.choice(3, size=POOL, p=[0.3, 0.3, 0.4])
    models = {"cross-entropy": scores(true, rng, 1.6), "bilinear": scores(true, rng, 1.7)}
    return Pool(true, models)  # type: ignore[arg-type]


@dataclass
class Trained:
    """Stands for the trainer: probabilities of the drawn examples that are tuned on."""

    pool: Pool
    rows: np.ndarray

    def cross_fitted(self, recipe: Recipe) -> np.ndarray:
        return self.pool.models[recipe.loss][0][self.rows]


def tuned(pool: Pool, seed: int, texts: list[str], max_drop: float) -> tuple[bool, bool, bool]:
    """(kept, kept and a limit is truly broken, the same by looking at the rates alone)."""
    drawn = np.random.default_rng(1000 + seed).integers(0, POOL, N)
    labels = pool.true[drawn]
    parts = part(labels, repetitions=2, test_share=0.5, watch_share=0.2, given=None, seed=seed)
    own, last = drawn[parts.development], drawn[parts.held_out]
    budgets = resolve_all(texts, COSTS, examples=len(last))
    provable = tuple(too_few(budget, pool.true[last], 0.95) is None for budget in budgets)
    judge = Judge(pool.true[own], COSTS, budgets, len(last), provable, 0.95, max_drop)
    found = search(Trained(pool, own), judge, losses=("bilinear",), trials=1)  # type: ignore[arg-type]
    final = pool.models[found.chosen.recipe.loss][1]
    plain = pool.models["cross-entropy"][1].argmax(axis=1)
    outcome = judge.confirm(found.chosen, final[last], pool.true[last], plain=plain[last])
    setting = Setting(found.chosen.recipe, found.chosen.base, outcome.multipliers)

    def rates(setting: Setting, rows: np.ndarray | slice) -> np.ndarray:
        predicted = answers(final[rows], decision_costs(setting, COSTS, budgets, COSTS))
        cm = np.zeros((3, 3), dtype=np.int64)
        np.add.at(cm, (pool.true[rows], predicted), 1)
        return np.array([budget.rate(cm) for budget in budgets])

    limits = judge.limits
    # What was tested is what the model does.
    np.testing.assert_allclose(
        rates(setting, last), [v.rate for v in outcome.guarantee(path_examples=1, seed=0).verdicts]
    )
    # As it was: chosen by bounds on the examples tuned on, confirmed by the held-out rate.
    looked = [t for t in found.chosen.trials if all(v.kept for v in t.verdicts)]
    naive = max(looked, key=lambda t: t.accuracy, default=found.chosen.trials[0]).setting
    seen, truth = rates(naive, last), rates(naive, slice(None))
    broken = bool((rates(setting, slice(None)) > limits).any())
    return (
        outcome.holds,
        outcome.holds and broken,
        bool((seen <= limits).all() and (truth > limits).any()),
    )


@pytest.mark.parametrize(
    ("texts", "max_drop", "draws"),
    [
        (["tumour->benign <= 5%"], 10.0, 100),
        (["tumour->benign <= 6%", "benign<-* <= 14%"], 20.0, 40),
    ],
)
def test_kept_is_truly_kept_in_all_but_a_few_draws(
    pool: Pool, texts: list[str], max_drop: float, draws: int
) -> None:
    found = np.array([tuned(pool, seed, texts, max_drop) for seed in range(draws)])
    kept, broken, naive = found.mean(axis=0)
    # 5 %, and three standard errors of so many draws.
    most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)
    assert broken <= most
    # It is no empty promise, and looking at the rates is not enough.
    assert kept > 0.5
    assert naive > max(0.1, broken)


def test_the_held_out_part_is_drawn_at_random_and_not_by_class() -> None:
    """Numbers of a class in it scatter as those of a random draw do."""
    labels = np.repeat([0, 1], [900, 100])
    rare = [
        int(
            labels[
                part(
                    labels, repetitions=2, test_share=0.4, watch_share=0.2, given=None, seed=seed
                ).held_out
            ].sum()
        )
        for seed in range(200)
    ]
    # Hypergeometric: 400 of 1000, 100 of which are rare.
    assert np.mean(rare) == pytest.approx(40, abs=1.5)
    assert np.var(rare) == pytest.approx(0.4 * 0.6 * 100 * 900 / 999, rel=0.35)
