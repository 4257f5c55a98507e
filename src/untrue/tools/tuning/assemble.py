"""What a tuning ends with: the model that answers as was tested, and the record of it."""

from __future__ import annotations

import math
import time
from typing import Any

from untrue.array_types import IntArray
from untrue.budgets import Guarantee
from untrue.budgets.outcome import Outcome
from untrue.budgets.shortfall import shortfall
from untrue.metrics import confusion_cells
from untrue.metrics.pairing import paired_change
from untrue.tools.fitting.learners import load_predictor
from untrue.tools.fitting.link import many_outside
from untrue.tools.fitting.model import Model, answers, argmax
from untrue.tools.fitting.setup import training_record
from untrue.tools.reading.sources import Preprocessing, label_column
from untrue.tools.tuning.judging import Judge
from untrue.tools.tuning.problem import Problem
from untrue.tools.tuning.record import TrainedOutputs
from untrue.tools.tuning.result import BudgetVerdict, TuneResult
from untrue.tools.tuning.search import Search
from untrue.tools.tuning.setting import Setting, decision_costs
from untrue.tools.tuning.trainer import CachingTrainer


def finish(
    problem: Problem,
    preprocessing: Preprocessing,
    trainer: CachingTrainer,
    judge: Judge,
    found: Search,
    plain: TrainedOutputs,
    made: TrainedOutputs,
    *,
    notes: tuple[str, ...],
    labels: Any,
    started: float,
) -> TuneResult:
    """Test the rules of the chosen model on the held-out part, and put all of it together.

    plain, made  the plain model and the chosen one, which have learned from all other examples
    labels       as `answer_labels` has them; started: by `time.perf_counter()`
    """
    recipe, held_out = found.chosen.recipe, problem.parts.held_out
    true = problem.labels[held_out]
    probs, before = trainer.probs(recipe, made, held_out), argmax(plain.logits)
    own = None if problem.rows is None else problem.rows.take(held_out)
    outcome = judge.confirm(found.chosen, probs, true, own, before)
    many = many_outside(trainer.outside(recipe, made, held_out), recipe.alpha, "held-out examples")
    notes += () if many is None else (f"{many[0].upper()}{many[1:]}.",)
    setting = Setting(recipe, found.chosen.base, outcome.multipliers)
    model = _tuned_model(problem, preprocessing, trainer, judge, made, setting, outcome)
    predicted = answers(probs, model.decision, own)
    k, trial = judge.penalty.n_classes, found.chosen.trials[outcome.chosen]
    cells, plain_cells = (confusion_cells(true, each, k) for each in (predicted, before))
    development = len(problem.parts.development)
    guarantee = outcome.guarantee(path_examples=development, seed=trainer.seed)
    verdicts = tuple(
        BudgetVerdict(seen, tested, budget.judge(plain_cells, judge.confidence))
        for budget, seen, tested in zip(
            judge.budgets, trial.verdicts, guarantee.verdicts, strict=True
        )
    )
    why = None
    if not outcome.holds:
        why = _why(outcome, guarantee, judge, problem.labels, held_out, before)
    return TuneResult(
        model=model,
        source=str(problem.source.path),
        trials=found.trials,
        trial=trial,
        steps=found.steps,
        step=found.step,
        budgets=judge.budgets,
        verdicts=verdicts,
        guarantee=guarantee,
        why=why,
        max_accuracy_drop=judge.max_drop,
        accuracy=float((predicted == true).mean()),
        change=paired_change(true, before, predicted, judge.penalty, above=math.inf).accuracy,
        confusion=cells,
        plain_confusion=plain_cells,
        repetitions=len(problem.parts.folds),
        trained=found.trained,
        stopped=found.stopped,
        notes=notes,
        labels=labels,
        seconds=time.perf_counter() - started,
    )


def _tuned_model(
    problem: Problem,
    preprocessing: Preprocessing,
    trainer: CachingTrainer,
    judge: Judge,
    made: TrainedOutputs,
    setting: Setting,
    outcome: Outcome,
) -> Model:
    """The model that answers as was tested."""
    assert made.weights is not None
    source, recipe = problem.source, setting.recipe
    return Model(
        kind=source.kind,
        penalty=judge.penalty,
        preprocessing=preprocessing,
        predictor=load_predictor(made.description, made.weights),
        temperature=made.temperature,
        target=label_column(source),
        training={
            **training_record(
                recipe.loss,
                recipe.alpha,
                trainer.learner,
                trainer.seed,
                made.history["best_epoch"],
                problem.parts.final,
            ),
            "tuned": {
                "setting": setting.name,
                "budgets": [str(budget) for budget in judge.budgets],
                "max_accuracy_drop": judge.max_drop,
                "confidence": judge.confidence,
                "held_out": "at random" if source.test is None else "as given",
                "kept": outcome.holds,
            },
        },
        decision=decision_costs(setting, judge.stated, judge.budgets, judge.penalty),
        link=problem.link(recipe),
        costs=None if judge.rows is None else judge.rows.stated,
    )


def _why(
    outcome: Outcome,
    guarantee: Guarantee,
    judge: Judge,
    labels: IntArray,
    held_out: IntArray,
    before: IntArray,
) -> str:
    """Why nothing is kept: no rule passed, or none that did within the accuracy drop."""
    if not outcome.shown:
        return shortfall(
            judge.budgets,
            guarantee.verdicts,
            labels,
            held_out,
            confidence=judge.confidence,
            part="held-out part",
        )
    tested = outcome.tested
    most = int(tested.counts.right[tested.passed].max())
    lost = 100 * (int((before == labels[held_out]).sum()) - most) / len(held_out)
    return (
        f"The budgets can be kept with {100 * judge.confidence:g} % confidence, but at a price of "
        f"{lost:.1f} points of accuracy; at most {judge.max_drop:g} may be lost "
        "(`max_accuracy_drop`, --max-accuracy-drop)."
    )
