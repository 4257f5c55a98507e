"""What a tuning found: a model, the setting behind it, and how the budgets stand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray
from untrue.budgets import Budget, Guarantee, ResolvedBudget, Verdict
from untrue.metrics import Cells, Interval
from untrue.tools.fitting.model import Model
from untrue.tools.fitting.model_folder import check_target, save_model
from untrue.tools.fitting.predict import predict
from untrue.tools.tuning.judging import Trial, points
from untrue.tools.tuning.search import SearchStep
from untrue.tools.tuning.setting import Setting


@dataclass(frozen=True, slots=True)
class BudgetVerdict:
    """One budget at the end.

    validation   of the tuned rule on the examples tuned on, by cross-fitting: an estimate
    held_out     of the tuned model on the held-out part, which tested it; its bounds are for this
                 budget by itself
    plain        of the plain model's most probable class, on the same held-out examples
    """

    validation: Verdict
    held_out: Verdict
    plain: Verdict

    @property
    def budget(self) -> Budget:
        return self.held_out.budget


@dataclass(frozen=True, slots=True, eq=False)
class TuneResult:
    """What `tune` found.

    model        all it takes to label data; it decides as was tested
    guarantee    what holds, with what confidence, and every rule that was tested
    why          where the budgets are not kept: the reason, and what it would take
    trials       some of the rules that were looked at on the examples tuned on, in order
    trial        the rule that was taken, on the examples tuned on
    steps        what was tried, and why the search continued; step: the position of the one it is
                 from; stopped: why the search ended
    accuracy     of the tuned model on the held-out part; change: minus the plain model's, paired
    trained      settings trained beyond the plain one
    notes        what a reader must know, such as budgets that so few examples cannot show
    labels       (k,) what `predict` answers for each class: of the kind of `y`
    """

    model: Model
    source: str
    guarantee: Guarantee
    why: str | None
    trials: tuple[Trial, ...]
    trial: Trial
    steps: tuple[SearchStep, ...]
    step: int
    budgets: tuple[ResolvedBudget, ...]
    verdicts: tuple[BudgetVerdict, ...]
    max_accuracy_drop: float | None
    accuracy: float
    change: Interval
    confusion: Cells
    plain_confusion: Cells
    repetitions: int
    trained: int
    stopped: str
    notes: tuple[str, ...]
    labels: npt.NDArray[Any]
    seconds: float

    @property
    def kept(self) -> bool:
        """Every budget holds, with `guarantee.confidence` all together, and so does the accuracy.

        What holds are the true rates, on all cases like these. The loss of accuracy is what was
        seen on the held-out part.
        """
        return self.guarantee.holds

    @property
    def confidence(self) -> float:
        return self.guarantee.confidence

    @property
    def sizes(self) -> tuple[int, int]:
        """Examples tuned on, and held out."""
        return self.guarantee.path_examples, self.guarantee.test_examples

    @property
    def setting(self) -> Setting:
        """How the tuned model is trained and decides."""
        return self.trial.setting

    @property
    def drop(self) -> float:
        """Points of accuracy lost on the held-out part."""
        return -100 * self.change.value

    def predict(self, data: Any) -> npt.NDArray[Any]:
        """The answers (N,) for examples like those tuned on, by the tuned decision."""
        return np.asarray(self.labels[predict(self.model, data).predicted])

    def probs(self, data: Any) -> FloatArray:
        """Calibrated probabilities (N, k), by the classes of `model.classes`."""
        return predict(self.model, data).probs

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model as a folder that `untrue predict` takes."""
        check_target(Path(folder), overwrite=overwrite)
        return save_model(Path(folder), self.model)

    def __repr__(self) -> str:
        n = len(self.verdicts)
        held = "kept" if self.kept else "not kept"
        budgets = f"{n} budget{'s' * (n != 1)} {held}"
        return f"TuneResult({self.setting.name!r}, {budgets}, accuracy {points(-self.drop)})"
