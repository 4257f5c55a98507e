"""What a run is given and what it gives back, as frozen records. No torch, no files.

A `RunConfig` holds everything that determines a trained model; `RunConfig.run_id` is a hash of
it. A `RunResult` is what came out: the confusion matrix, the losses, where and with what it ran.
A `Sweep` is a named list of configs. All of them travel as JSON (`to_dict`, `from_dict`);
matrices stand beside it as plain arrays.

Two runs are *paired* when they share `config.seed`: same split, same first weights, same order
of the images, same dropout, and, for masked zones, the same zones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

from untrue.array_types import FloatArray, IntArray
from untrue.lab.design import Setup
from untrue.lab.run_config import METHODS, RunConfig, Start
from untrue.lab.specs import NORMALIZATIONS, DatasetInfo, PenaltySpec, fields_of

__all__ = [
    "HIGH",
    "METHODS",
    "NORMALIZATIONS",
    "Confidence",
    "DatasetInfo",
    "Decision",
    "EarlyStop",
    "ExitResult",
    "PenaltySpec",
    "Provenance",
    "Rule",
    "RunConfig",
    "RunResult",
    "Setup",
    "Start",
    "Sweep",
    "Validated",
]

Rule = Literal["argmax", "least-cost", "least-cost-calibrated", "softened-cost", "posterior"]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """Test confusion matrix (k, k) when each image gets the label of least expected cost.

    calibrated: the probabilities were brought to `RunResult.temperature` first. posterior: they
    are those behind what a loss by costs taught (`untrue.posterior`), at a temperature of theirs.
    share: below 1 the costs were softened to it (`Penalty.softened`) to decide by.
    """

    costs: PenaltySpec
    confusion: IntArray
    calibrated: bool = False
    posterior: bool = False
    share: float = 1.0

    @property
    def rule(self) -> Rule:
        """What the rows of a report call it."""
        if self.posterior:
            return "posterior"
        if self.share < 1.0:
            return "softened-cost"
        return "least-cost-calibrated" if self.calibrated else "least-cost"


@dataclasses.dataclass(frozen=True, slots=True)
class Validated:
    """A way to decide on the validation images: share of errors, mean cost by `score_on[0]`.

    share: as of `Decision`.
    """

    rule: Rule
    error: float
    cost: float
    share: float = 1.0


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Confidence:
    """How sure the answers are, the test images by [true, predicted] (most probable label).

    total (k, k): the sum of the probabilities of the answers. high (k, k): how many answers have
    one above `HIGH`.
    """

    total: FloatArray
    high: IntArray


HIGH = 0.9


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ExitResult:
    """One exit on all test images. work: multiplications for one image up to it, its head and
    those before it included. confusion: by the most probable label. temperature: that suits its
    probabilities of the validation images; 1 without such images.
    """

    work: float
    confusion: IntArray
    temperature: float


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class EarlyStop:
    """The test images, each answered by least expected cost at the first exit where that is below
    the threshold. seconds: it took, all images, with later stages run on what remained. by_exit:
    how many stopped at each. saved: share of the multiplications.
    """

    threshold: float
    seconds: float
    saved: float
    by_exit: tuple[int, ...]
    confusion: IntArray


@dataclasses.dataclass(frozen=True, slots=True)
class Provenance:
    """Where, when and with what a run was made. It does not change what was computed."""

    seconds: float
    finished_at: str
    device: str
    threads: int
    hardware: str
    versions: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """What one run gave.

    status "ok": `confusion[true, predicted]` counts the test images by the most probable label (of
    SOSR, which has no probabilities: by the label of least regressed cost, its only answer);
    `decisions` holds one confusion matrix per matrix of `config.score_on` (least expected cost),
    and one more with `config.calibrate`: `temperature` is the one under which the validation
    images are most probable, `ece` the expected calibration error on the test images before and
    after (a temperature does not change which label is the most probable);
    `train_losses` (empty of trees) and `validation_losses` (empty without validation) have one
    value per epoch;
    `best_epoch` (from 1) is the one whose weights were scored; `test_loss` is the mean
    cross-entropy on the test images; `train_images` were trained on after split and limits.
    `confidence` is how sure the answers of `confusion` are; `train_confusion` is the same matrix
    for training images, as they are, at most as many as there are test images. Of a loss by costs
    scored with `calibrate`: `clipped`, the share of test images whose probabilities stand for no
    posterior; and for every loss `validated`, how each way to decide does on validation images.
    `exits` and `stops` (by the costs of `score_on`) are those of a network with several exits, and
    everything else is about its last exit.
    status "failed": `error` is the traceback, the numbers are empty.
    """

    config: RunConfig
    status: Literal["ok", "failed"]
    provenance: Provenance
    confusion: IntArray
    decisions: tuple[Decision, ...] = ()
    train_losses: tuple[float, ...] = ()
    validation_losses: tuple[float, ...] = ()
    best_epoch: int = 0
    test_loss: float | None = None
    train_images: int = 0
    parameters: int = 0
    error: str = ""
    temperature: float | None = None
    ece: tuple[float, float] | None = None
    exits: tuple[ExitResult, ...] = ()
    stops: tuple[EarlyStop, ...] = ()
    confidence: Confidence | None = None
    train_confusion: IntArray | None = None
    validated: tuple[Validated, ...] = ()
    clipped: float | None = None

    @property
    def run_id(self) -> str:
        return self.config.run_id

    @property
    def epochs_run(self) -> int:
        return max(len(self.train_losses), len(self.validation_losses))

    @property
    def reason(self) -> str:
        """Why it failed: the last line of the traceback."""
        lines = self.error.strip().splitlines()
        return lines[-1] if lines else "no reason was stored"

    def decision(self, costs: PenaltySpec, *, calibrated: bool = False) -> IntArray | None:
        """The confusion matrix of the least-expected-cost decision under `costs`, if scored."""
        rule = "least-cost-calibrated" if calibrated else "least-cost"
        found = (d.confusion for d in self.decisions if (d.costs, d.rule) == (costs, rule))
        return next(found, None)

    def with_decisions(self, more: Iterable[Decision]) -> Self:
        """The run, decided in more ways; a decision that was there is replaced."""
        found = {(d.costs, d.rule, d.share): d for d in (*self.decisions, *more)}
        return dataclasses.replace(self, decisions=tuple(found.values()))


@dataclasses.dataclass(frozen=True, slots=True)
class Sweep:
    """An experiment as a list of runs, in the order they are made.

    name: what the store calls it, 'masked-zone/mnist'. expected: how many models it has in all
    (more than `configs` while later runs wait for the results of earlier ones). command: what
    to type to make or continue it.
    """

    experiment: str
    data: str
    scale: str
    command: str
    expected: int
    configs: tuple[RunConfig, ...]

    @property
    def name(self) -> str:
        return f"{self.experiment}/{self.data}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {**fields_of(self), "configs": [config.to_dict() for config in self.configs]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        configs = tuple(RunConfig.from_dict(config) for config in content["configs"])
        return cls(**{**content, "configs": configs})
