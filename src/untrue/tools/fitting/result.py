"""What `untrue.fit` gives back: a model, and how it does beside the plain one. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray
from untrue.metrics import Cells, Summary
from untrue.metrics.pairing import PairedChange
from untrue.tools.fitting.model import Model
from untrue.tools.fitting.model_folder import check_target, save_model
from untrue.tools.fitting.predict import Predictions, predict
from untrue.training.progress import History

LEAST_COST = " + least cost"


@dataclass(frozen=True, slots=True)
class Variant:
    """A model with a decision, evaluated on the test part.

    name     "bilinear, alpha 0.5", or "+ least cost" when it decides by least expected cost
    change   paired, against the plain variant; None for that itself, or without a baseline
    """

    name: str
    summary: Summary
    confusion: Cells
    change: PairedChange | None

    @property
    def by_cost(self) -> bool:
        """Whether it decides by least expected cost."""
        return self.name.endswith(LEAST_COST)


@dataclass(frozen=True, slots=True, eq=False)
class FitResult:
    """A model and how it does beside the plain one.

    variants   the plain model first (when there is one), then the model that is kept
    chosen     position in `variants` of the model that is kept, deciding by the most probable class
    zone_above errors that cost more are in the zone
    sizes      examples trained on, stopped and calibrated by, and tested on
    why        why this kind of model, in words
    notes      reasons not to trust it
    labels     (k,) what `predict` answers for each class: of the kind of `y`
    """

    model: Model
    source: str
    variants: tuple[Variant, ...]
    chosen: int
    zone_above: float
    history: History
    baseline_history: History | None
    sizes: tuple[int, int, int]
    why: str
    labels: npt.NDArray[Any]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def variant(self) -> Variant:
        """The model that is kept."""
        return self.variants[self.chosen]

    def predict(self, data: Any, **options: Any) -> npt.NDArray[Any]:
        """The answers (N,) for examples like those fitted to; options as in `untrue.predict`."""
        found = self.predictions(data, **options)
        if found.actions is not None:
            return np.array(found.actions)[found.predicted]
        if not found.abstained:
            return np.asarray(self.labels[found.predicted])
        answers = self.labels.astype(object)[found.predicted]
        answers[found.predicted < 0] = None
        return np.asarray(answers)

    def probs(self, data: Any) -> FloatArray:
        """Calibrated probabilities (N, k), by the classes of `model.classes`."""
        return self.predictions(data).probs

    def predictions(self, data: Any, **options: Any) -> Predictions:
        """As `untrue.predict` gives them."""
        return predict(self.model, data, **options)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model as a folder that `untrue predict` takes."""
        check_target(Path(folder), overwrite=overwrite)
        return save_model(Path(folder), self.model)

    def __str__(self) -> str:
        lines = [f"{self.model.predictor.words()} ({self.why}), on {self.sizes[2]:,} test examples"]
        for variant in self.variants:
            found = variant.summary
            cost = "" if found.expected_cost is None else f", cost {found.expected_cost:.4g}"
            mark = "  <- kept" if variant is self.variant else ""
            lines.append(f"  {variant.name}: accuracy {100 * found.accuracy:.1f} %{cost}{mark}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"FitResult({self.variant.name!r}, {self.model.predictor.words()!r})"
