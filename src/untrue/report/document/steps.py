"""Confusion matrices that a slider moves through: one figure, several steps, on the page only."""

from __future__ import annotations

from dataclasses import dataclass

from untrue.errors import ArgumentError
from untrue.report.document.confusion_figure import ConfusionFigure


@dataclass(frozen=True, slots=True)
class SliderStep:
    """A place of the slider: its name, "0.5", and what it shows, in a sentence."""

    name: str
    sentence: str


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionSteps:
    """A slider over matrices that stand side by side, in one colour scale.

    figure  its panels are those of the first step, then those of the second, ...: as many of each
    label   of the slider
    first   the step that is shown at first
    """

    figure: ConfusionFigure
    label: str
    steps: tuple[SliderStep, ...]
    first: int = 0

    def __post_init__(self) -> None:
        panels = len(self.figure.panels)
        if not self.steps or panels % len(self.steps):
            raise ArgumentError(
                f"`steps` must share out the {panels} panels evenly; got {len(self.steps)}."
            )
        if not 0 <= self.first < len(self.steps):
            raise ArgumentError(
                f"`first` must be one of {len(self.steps)} steps, from 0; got {self.first}."
            )
