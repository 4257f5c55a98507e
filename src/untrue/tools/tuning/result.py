"""What a tuning found: a model, the setting behind it, and how the budgets stand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.budgets import Budget, ResolvedBudget, Verdict
from untrue.metrics import Cells, Interval
from untrue.metrics.inputs import FloatArray
from untrue.tools.fitting.model import Model
from untrue.tools.fitting.model_folder import check_target, save_model
from untrue.tools.fitting.predict import predict
from untrue.tools.tuning.judging import Setting, Trial, points
from untrue.tools.tuning.search import Step


@dataclass(frozen=True, slots=True)
class BudgetVerdict:
    """One budget at the end.

    validation   of the chosen setting on the examples tuned on, by cross-fitting
    held_out     of the kept model on the examples used for nothing else
    plain        of the plain model's most probable class, on the same held-out examples
    met          kept on validation: by the upper bound, or, where too few examples could show it,
                 without a single error
    """

    validation: Verdict
    held_out: Verdict
    plain: Verdict
    met: bool

    @property
    def budget(self) -> Budget:
        return self.validation.budget

    @property
    def confirmed(self) -> bool:
        """The rate on the held-out part is within the limit."""
        return bool(self.held_out.of) and self.held_out.rate <= self.held_out.limit

    @property
    def proved(self) -> bool:
        """And so is its upper bound."""
        return self.held_out.kept

    @property
    def perhaps_by_chance(self) -> bool:
        """Over the limit on the held-out part, by no more than the few examples leave open."""
        return not self.confirmed and bool(self.held_out.of) and not self.held_out.broken


@dataclass(frozen=True, slots=True, eq=False)
class TuneResult:
    """What `tune` found.

    model        all it takes to label data; it decides as the setting says
    trials       every setting that was tried, in order; `chosen` is a position in it
    steps        what was tried, and why it went on; stopped: why the search ended
    met          the chosen setting keeps every budget and the accuracy on validation
    kept         and the held-out part confirms it: each rate within its limit, and the accuracy
    accuracy     of the kept model on the held-out part; change: minus the plain model's, paired
    sizes        examples tuned on, and held out
    trained      settings trained beyond the plain one
    notes        what a reader must know, such as budgets that so few examples cannot prove
    labels       (k,) what `predict` answers for each class: of the kind of `y`
    """

    model: Model
    source: str
    trials: tuple[Trial, ...]
    chosen: int
    steps: tuple[Step, ...]
    budgets: tuple[ResolvedBudget, ...]
    verdicts: tuple[BudgetVerdict, ...]
    max_accuracy_drop: float | None
    confidence: float
    met: bool
    kept: bool
    accuracy: float
    change: Interval
    confusion: Cells
    plain_confusion: Cells
    sizes: tuple[int, int]
    repetitions: int
    trained: int
    stopped: str
    notes: tuple[str, ...]
    labels: npt.NDArray[Any]
    seconds: float

    @property
    def trial(self) -> Trial:
        """The chosen trial."""
        return self.trials[self.chosen]

    @property
    def setting(self) -> Setting:
        """How the kept model is trained and decides."""
        return self.trial.setting

    @property
    def drop(self) -> float:
        """Points of accuracy lost on the held-out part."""
        return -100 * self.change.value

    @property
    def proved(self) -> bool:
        """Every budget's upper bound on the held-out part is within its limit.

        The setting was chosen without that part, so that one which breaks a budget is called proved
        with probability of at most 1 - confidence, all budgets together.
        """
        return all(verdict.proved for verdict in self.verdicts)

    def predict(self, data: Any) -> npt.NDArray[Any]:
        """The answers (N,) for examples like those tuned on, by the tuned decision."""
        return np.asarray(self.labels[predict(self.model, data).predicted])

    def probs(self, data: Any) -> FloatArray:
        """Calibrated probabilities (N, k), by the classes of `model.classes`."""
        return predict(self.model, data).probs

    def save(self, folder: str | Path) -> Path:
        """Write the model as a folder that `untrue predict` takes."""
        check_target(Path(folder))
        return save_model(Path(folder), self.model)

    def __repr__(self) -> str:
        n = len(self.verdicts)
        held = "kept" if self.kept else "not kept"
        budgets = f"{n} budget{'s' * (n != 1)} {held}"
        return f"TuneResult({self.setting.name!r}, {budgets}, accuracy {points(-self.drop)})"
