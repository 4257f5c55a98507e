"""Warm-up of alpha."""

from __future__ import annotations

import pytest
import torch

from untrue import AlphaSchedule, BilinearLoss, Penalty
from untrue.errors import ArgumentError


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
    second = AlphaSchedule(loss, final=0.8, steps=4)
    assert loss.alpha == 0.0
    second.load_state_dict(first.state_dict())
    assert loss.alpha == pytest.approx(0.2)


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
