"""Warm-up of alpha: starting at full alpha is a known cause of collapse."""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol

from untrue.checks import check_choice, check_count
from untrue.errors import ArgumentError

Shape = Literal["linear", "cosine"]


def check_schedule(steps: int, shape: str) -> None:
    check_count("steps", steps)
    check_choice("shape", shape, ("linear", "cosine"))


def progress_share(step: int, steps: int, shape: Shape) -> float:
    """How far something has come after `step` of `steps` steps, 0 to 1."""
    share = min(max(step / steps, 0.0), 1.0)
    return (
        (1.0 - math.cos(math.pi * share)) / 2.0
        if 0.0 < share < 1.0 and shape == "cosine"
        else share
    )


class HasAlpha(Protocol):
    alpha: float


class AlphaSchedule:
    """Raise `loss.alpha` from `start` to `final` over `steps` calls of `step()`, then hold it.

    How far it has come is kept in the loss, as `loss.alpha_steps`, and our losses have it in their
    state with alpha: where the loss is part of the module that is saved and loaded, the schedule
    continues where it was, whether it is made before or after the state is loaded. `resume=False`
    starts again after a state was loaded. For other losses there is `state_dict`.

    >>> from untrue import BilinearLoss, Penalty
    >>> loss = BilinearLoss(Penalty.from_ordinal(3))
    >>> schedule = AlphaSchedule(loss, final=0.8, steps=4)
    >>> loss.alpha
    0.0
    >>> for _ in range(2):
    ...     schedule.step()
    >>> loss.alpha
    0.4
    """

    def __init__(
        self,
        loss: HasAlpha,
        *,
        final: float,
        steps: int,
        start: float = 0.0,
        shape: Shape = "linear",
        resume: bool = True,
    ) -> None:
        if not hasattr(loss, "alpha"):
            raise ArgumentError(
                "`loss` must have an `alpha`, as BilinearLoss and LogBilinearLoss do; "
                f"got {type(loss).__name__}."
            )
        check_schedule(steps, shape)
        for name, value in (("start", start), ("final", final)):
            if not 0.0 <= value <= 1.0:
                raise ArgumentError(f"`{name}` must lie in [0, 1]; got {value}.")
        self.loss, self.start, self.final, self.steps, self.shape = loss, start, final, steps, shape
        resuming = resume and getattr(loss, "resumed", False)
        self.done = self.done if resuming else 0

    @property
    def done(self) -> int:
        """Steps taken; setting it sets alpha."""
        return int(getattr(self.loss, "alpha_steps", 0))

    @done.setter
    def done(self, steps: int) -> None:
        loss: Any = self.loss
        loss.alpha_steps, loss.resumed = steps, False
        loss.alpha = self.alpha_at(steps)

    def alpha_at(self, step: int) -> float:
        """Alpha after `step` steps."""
        share = progress_share(step, self.steps, self.shape)
        return self.final if share == 1.0 else self.start + (self.final - self.start) * share

    def step(self) -> None:
        """Call after each batch or epoch, whichever `steps` counts."""
        self.done += 1

    def state_dict(self) -> dict[str, int]:
        return {"done": self.done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.done = int(state["done"])
