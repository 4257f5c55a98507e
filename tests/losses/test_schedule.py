"""Warm-up of alpha."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

from untrue import AlphaSchedule, BilinearLoss, BudgetedLoss, LogBilinearLoss, Penalty
from untrue.errors import ArgumentError
from untrue.losses.bilinear import MixedLoss


def alphas(**options) -> list[float]:
    loss = BilinearLoss(Penalty.from_ordinal(3), alpha=0.5)
    schedule = AlphaSchedule(loss, **options)
    seen = [loss.alpha]
    for _ in range(6):
        schedule.step()
        seen.append(loss.alpha)
    return seen


def test_linear_rises_evenly_and_holds() -> None:
    assert alphas(final=0.8, steps=4) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 0.8, 0.8])


def test_cosine_starts_and_ends_gently() -> None:
    seen = alphas(final=0.8, steps=4, shape="cosine")
    assert seen[:3] == pytest.approx([0, 0.8 * 0.1464466, 0.4], abs=1e-6)
    assert seen[4:] == [0.8, 0.8, 0.8]


def test_may_fall_from_a_start() -> None:
    assert alphas(start=0.9, final=0.1, steps=2)[:4] == pytest.approx([0.9, 0.5, 0.1, 0.1])


def test_goes_on_from_its_state() -> None:
    loss = BilinearLoss(Penalty.from_ordinal(3))
    first = AlphaSchedule(loss, final=0.8, steps=4)
    first.step()
    state = first.state_dict()
    second = AlphaSchedule(loss, final=0.8, steps=4)
    assert loss.alpha == 0.0
    second.load_state_dict(state)
    assert loss.alpha == pytest.approx(0.2)


class Trained(torch.nn.Module):
    """A module as people write them: network, loss and schedule made when it is made."""

    def __init__(self, kind: type[MixedLoss], *, scheduled: bool = True) -> None:
        super().__init__()
        self.network = torch.nn.Linear(2, 3)
        options = {"budgets": "0->1 <= 1%"} if kind is BudgetedLoss else {}
        self.loss = kind(Penalty.from_ordinal(3), alpha=0.5, **options)
        self.schedule = schedule_of(self.loss) if scheduled else None


def schedule_of(loss: MixedLoss, **options: Any) -> AlphaSchedule:
    return AlphaSchedule(loss, final=0.8, steps=4, **options)


def saved(module: torch.nn.Module) -> dict[str, Any]:
    """The state, through a file."""
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("kind", [BilinearLoss, LogBilinearLoss, BudgetedLoss])
@pytest.mark.parametrize("made", ["before", "after"])
def test_survives_a_checkpoint_of_the_module_around_it(kind: type[MixedLoss], made: str) -> None:
    first = Trained(kind)
    first.schedule.step()
    first.schedule.step()
    second = Trained(kind, scheduled=made == "before")
    second.load_state_dict(saved(first))
    assert second.loss.alpha == pytest.approx(0.4)
    schedule = second.schedule or schedule_of(second.loss)
    assert second.loss.alpha == pytest.approx(0.4)
    schedule.step()
    assert (schedule.done, second.loss.alpha) == (3, pytest.approx(0.6))


def test_a_second_schedule_starts_anew_unless_a_state_was_just_loaded() -> None:
    module = Trained(BilinearLoss)
    module.schedule.step()
    state = saved(module)
    assert schedule_of(module.loss).done == 0
    module.load_state_dict(state)
    assert schedule_of(module.loss, resume=False).done == 0
    module.load_state_dict(state)
    schedule_of(module.loss).step()
    assert schedule_of(module.loss).done == 0


def test_an_alpha_that_was_set_is_in_the_state() -> None:
    loss = BilinearLoss(Penalty.from_ordinal(3), alpha=0.3)
    other = BilinearLoss(Penalty.from_ordinal(3), alpha=0.7)
    other.load_state_dict(saved(loss))
    assert other.alpha == 0.3


@pytest.mark.parametrize("state", [torch.zeros(3), {"alpha": 0.5}, torch.tensor([0.5, -1.0])])
def test_a_state_that_is_none_is_refused(state: Any) -> None:
    loss = BilinearLoss(Penalty.from_ordinal(3))
    with pytest.raises(ArgumentError, match="holds alpha and a number of steps; got"):
        loss.load_state_dict(loss.state_dict() | {"_extra_state": state})
    with pytest.raises(ArgumentError, match=r"`alpha` must lie in \[0, 1\]; got 7"):
        loss.set_extra_state(torch.tensor([7.0, 0.0]))
    assert loss.alpha == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"final": 1.2, "steps": 3}, r"`final` must lie in \[0, 1\]; got 1.2"),
        ({"final": 0.5, "steps": 0}, "`steps` must be at least 1; got 0"),
        ({"final": 0.5, "steps": 3, "shape": "cubic"}, "'linear' or 'cosine'; got 'cubic'"),
    ],
)
def test_bad_schedules_are_refused(options, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        AlphaSchedule(BilinearLoss(Penalty.from_ordinal(3)), **options)


def test_a_loss_without_alpha_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"`loss` must have an `alpha`.*got CrossEntropyLoss"):
        AlphaSchedule(torch.nn.CrossEntropyLoss(), final=0.5, steps=2)  # type: ignore[arg-type]
