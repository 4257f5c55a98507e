"""One model to train, as a frozen record with an id. No torch, no files."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, Self

from untrue.checks import check_choice, check_number, check_seed
from untrue.errors import ArgumentError
from untrue.lab.design import Setup
from untrue.lab.specs import PenaltySpec, fields_of
from untrue.losses import registry

# What can be compared, by the names people type; "ce" is the loss "cross-entropy".
METHODS = tuple(entry.label for entry in registry.COMPARED)
# Raised when a release trains in a way that gives other numbers for the same config.
FORMAT = 1
# Fields of a config that change what is kept of a run, and not what is trained.
AFTER = ("score_on", "calibrate", "keep_weights")


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """The run whose weights another continues from, and how many epochs it was to have."""

    run_id: str
    epochs: int


@dataclasses.dataclass(frozen=True, slots=True)
class RunConfig:
    """One model to train. All fields but those of `AFTER` determine the result and its `run_id`.

    loss, alpha, penalty: the objective; a baseline is ("cross-entropy", 0, None). Losses whose
    knob is not alpha (`untrue.losses.registry`) have alpha 0 and a `strength`, its value.
    seed: of the split, the first weights, the order, dropout and augmentation.
    small_classes, small_count: these classes keep only `small_count` training images, which are
    repeated up to the original number (0: the classes are not seen at all).
    score_on: cost matrices for the least-expected-cost decision on the test images. They are
    used after training, so a baseline may be scored on more of them later without training.
    calibrate: decide by them once more, at the temperature that suits the validation images.
    exit_costs: with several exits, the penalty of each: "same" at all, or A(l) by the groups of
    the penalty, as the paper's text has it or as it is printed (see `Penalty.for_exit`). Of soft
    labels, which have no penalty, "text" lets their strength (beta) grow with the exit, l / k of
    it at exit l: the earlier the exit, the more weight is spread over the coarse class.
    start: the run it continues from, of the same seed, data and network, for the epochs of `setup`.
    keep_weights: they are stored beside the result, so that others can continue from them.
    """

    setup: Setup
    seed: int
    loss: str = "cross-entropy"
    alpha: float = 0.0
    penalty: PenaltySpec | None = None
    small_classes: tuple[int, ...] = ()
    small_count: int | None = None
    strength: float | None = None
    score_on: tuple[PenaltySpec, ...] = ()
    calibrate: bool = False
    exit_costs: Literal["same", "text", "printed"] = "same"
    start: Start | None = None
    keep_weights: bool = False

    def __post_init__(self) -> None:
        known = [entry.name for entry in registry.COMPARED]
        if self.loss not in known:
            raise ArgumentError(f"`loss` must be one of {', '.join(known)}; got {self.loss!r}.")
        check_number("alpha", self.alpha, 0.0, 1.0)
        check_seed(self.seed)
        self._check_strength()
        baseline = {self.loss == "cross-entropy", self.penalty is None}
        if not self._is_rival and len(baseline | {self.alpha == 0.0}) > 1:
            raise ArgumentError(
                "A baseline has loss 'cross-entropy', alpha 0 and no penalty; any other run has a "
                f"loss, an alpha above 0 and a penalty; got {self.loss!r}, alpha {self.alpha:g}, "
                f"{'a' if self.penalty else 'no'} penalty."
            )
        self._check_exits()
        if self.calibrate and not self.setup.validation:
            raise ArgumentError("`calibrate` needs `validation` examples; got validation 0.")

    def _check_exits(self) -> None:
        check_choice("exit_costs", self.exit_costs, ("same", "text", "printed"))
        several = self.setup.exits > 1
        grouped = self.penalty is not None and self.penalty.kind == "groups"
        if self.exit_costs != "same" and not (several and grouped):
            raise ArgumentError(
                f"`exit_costs` {self.exit_costs!r} needs several exits and a penalty by groups; "
                f"got {self.setup.exits} and {'one' if grouped else 'none'}."
            )
        if self.exit_costs == "printed" and registry.find(self.loss).needs == ("hierarchy",):
            raise ArgumentError(f"The loss {self.loss!r} has no penalty to read as printed.")
        if several and registry.find(self.loss).outputs != "softmax":
            raise ArgumentError(f"The loss {self.loss!r} is for networks with one exit.")

    def _check_strength(self) -> None:
        knob = registry.find(self.loss).knob if self._is_rival else None
        if knob is None and self.strength is not None:
            raise ArgumentError(f"The loss {self.loss!r} has no `strength`; got {self.strength}.")
        if knob is not None and not (self.strength and 0.0 < self.strength < float("inf")):
            raise ArgumentError(
                f"The loss {self.loss!r} needs a positive `strength` (its {knob}); "
                f"got {self.strength}."
            )
        needs = bool(registry.find(self.loss).needs)
        if self._is_rival and (self.alpha or needs != (self.penalty is not None)):
            raise ArgumentError(
                f"The loss {self.loss!r} takes {'a' if needs else 'no'} penalty and no alpha; got "
                f"alpha {self.alpha:g}, {'a' if self.penalty else 'no'} penalty."
            )

    @property
    def method(self) -> str:
        """The name of `METHODS`: the loss, or "ce" for plain cross-entropy."""
        return registry.label_of(self.loss)

    @property
    def knob(self) -> tuple[str, float] | None:
        """The strength of the method with its name: ("alpha", 0.5), ("beta", 10.0), or None."""
        name = registry.find(self.loss).knob
        value = self.alpha if name == "alpha" else self.strength
        return None if name is None or value is None else (name, value)

    @property
    def _is_rival(self) -> bool:
        return self.loss not in (registry.CROSS_ENTROPY, *registry.MIXED)

    @property
    def is_baseline(self) -> bool:
        """Plain cross-entropy: the run every other run of its seed is compared with."""
        return self.loss == registry.CROSS_ENTROPY

    @property
    def run_id(self) -> str:
        """16 hex digits: a hash of every field that determines the result.

        Fields at their defaults are left out, so that one that is new renames no run.
        """
        fields = {"format": FORMAT, **_set_fields(self)}
        for after_training in AFTER:
            fields.pop(after_training, None)
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """A short name for people: 'mnist bilinear alpha=0.9 n=30 seed=2'."""
        parts = [self.setup.data, "baseline" if self.is_baseline else self.loss]
        if self.knob is not None:
            parts.append("{}={:g}".format(*self.knob))
        if self.penalty and self.penalty.kind == "zone":
            parts.append(f"n={self.penalty.zone_size}")
        if self.small_count is not None:
            parts.append(f"small={self.small_count}")
        if self.start is not None:
            parts.append("continued")
        if self.setup.exits > 1:
            parts.append(f"exits={self.setup.exits}")
        if self.exit_costs != "same":
            soft = registry.find(self.loss).needs == ("hierarchy",)
            parts.append("growing" if soft else f"A(l) {self.exit_costs}")
        return " ".join([*parts, f"seed={self.seed}"])

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            **fields_of(self),
            "setup": self.setup.to_dict(),
            "penalty": None if self.penalty is None else self.penalty.to_dict(),
            "score_on": [spec.to_dict() for spec in self.score_on],
            "start": None if self.start is None else fields_of(self.start),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        fields = {**content, "setup": Setup.from_dict(content["setup"])}
        if fields["penalty"] is not None:
            fields["penalty"] = PenaltySpec.from_dict(fields["penalty"])
        fields["score_on"] = tuple(PenaltySpec.from_dict(spec) for spec in fields["score_on"])
        fields["small_classes"] = tuple(fields["small_classes"])
        if fields.get("start") is not None:
            fields["start"] = Start(**fields["start"])
        return cls(**fields)


def _set_fields(record: Any) -> dict[str, Any]:
    """The fields of a record that are not at their defaults, those of records within too."""
    found = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value):
            found[field.name] = _set_fields(value)
        elif value != field.default:
            found[field.name] = value
    return found
