"""Settings are checked where they are made, and say what was used."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from untrue.errors import ArgumentError
from untrue.training import OWN_DATA, Settings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epochs": 0}, "`epochs` must be at least 1; got 0"),
        ({"epochs": 2.5}, "`epochs` must be a whole number of at least 1; got 2.5"),
        ({"epochs": True}, "`epochs` must be a whole number"),
        ({"batch_size": 0}, "`batch_size` must be at least 1; got 0"),
        ({"learning_rate": 0.0}, "`learning_rate` must be positive; got 0.0"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be positive; got nan"),
        (
            {"optimizer": "adma"},
            "`optimizer` must be 'adam', 'adamw' or 'sgd'; got 'adma'; did",
        ),
        ({"momentum": 1.0}, "`momentum` must lie in"),
        ({"weight_decay": -1.0}, "`weight_decay` must be at least 0; got -1.0"),
        ({"schedule": "linear"}, "`schedule` must be 'constant', 'cosine' or 'one-cycle'"),
        ({"patience": -1}, "`patience` must be at least 0; got -1"),
        ({"shift": -1}, "`shift` must be at least 0; got -1"),
        ({"warmup": 1.5}, r"`warmup` must lie in \[0, 1\]; got 1.5"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Settings(**({"epochs": 1} | wrong))


def test_they_travel_as_json() -> None:
    assert Settings.from_dict(json.loads(json.dumps(OWN_DATA.to_dict()))) == OWN_DATA
    with pytest.raises(TypeError):
        Settings.from_dict({**OWN_DATA.to_dict(), "epoch": 3})


def test_the_line_names_the_optimizer_that_is_used() -> None:
    assert OWN_DATA.optimizer_line() == "AdamW 0.001, constant, weight decay 0.0001"
    cycle = dataclasses.replace(OWN_DATA, optimizer="sgd", schedule="one-cycle", learning_rate=0.4)
    assert cycle.optimizer_line().startswith("SGD 0.4, rising in a line and falling to 0")
    assert "momentum 0.9" in cycle.optimizer_line()
