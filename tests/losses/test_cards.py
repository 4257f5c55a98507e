"""docs/losses.md has a card for every loss, and no card is without a loss."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import untrue
from untrue.losses import registry

PAGE = (Path(__file__).parents[2] / "docs" / "losses.md").read_text()
CARDS = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
MODULES = {entry.loss: entry.loss_class for entry in registry.OWN}
FUNCTIONS = {entry.loss: entry.function for entry in registry.OWN}
COMMON = {"weight", "ignore_index", "reduction"}


def test_every_loss_has_a_card_and_every_card_a_loss() -> None:
    assert set(CARDS) == set(MODULES)
    assert len(re.findall("^### ", PAGE, flags=re.MULTILINE)) == len(CARDS)


@pytest.mark.parametrize("name", MODULES)
def test_a_card_says_all_and_names_the_parameters_there_are(name) -> None:
    fields = dict(
        re.findall(
            r"^- \*\*([\w ]+)\*\*: (.*?)(?=^- \*\*|\Z)", CARDS[name], flags=re.MULTILINE | re.DOTALL
        )
    )
    kinds = ["Paper", "Formula", "Function", "Parameters", "Cost", "Wins when", "Not when"]
    assert list(fields) == kinds
    assert all(text.strip() for text in fields.values())
    assert fields["Function"].strip() == f"`untrue.functional.{FUNCTIONS[name]}`"
    own = set(inspect.signature(MODULES[name]).parameters) - COMMON
    named = set(re.findall(r"`(\w+)`", fields["Parameters"]))
    assert own <= named
    assert named - own <= COMMON | {"Penalty", "Hierarchy"}


@pytest.mark.parametrize("name", MODULES)
def test_a_loss_is_found_at_the_top_and_described_in_place(name) -> None:
    assert getattr(untrue, name) is MODULES[name]
    assert name in untrue.__all__
    described = inspect.getdoc(MODULES[name])
    assert re.search(r"^paper\b", described, flags=re.MULTILINE)
    assert re.search(r"^when\b", described, flags=re.MULTILINE)


def test_the_example_runs(tmp_path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Loss ") == 3
