"""Groups of options: declared once, each field an option of the command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from untrue.cli import options


@dataclass(frozen=True)
class Weather:
    """Two options."""

    wind: Annotated[float | None, typer.Option(help="In metres a second.")] = None
    sky: Annotated[str, typer.Option()] = "grey"


CALM, CLEAR = Weather(), Weather(wind=3.0, sky="clear")


def app(default: Weather) -> typer.Typer:
    made = typer.Typer()

    @made.command()
    @options.grouped
    def sail(to: str, weather: Weather = default, crew: int = 1) -> None:
        """Sail somewhere."""
        typer.echo(f"{to} {weather} {crew}")

    return made


def test_the_fields_of_a_group_are_options_and_come_as_one_record() -> None:
    done = CliRunner().invoke(app(CALM), ["home", "--wind", "2.5", "--crew", "4"])
    assert done.output == "home Weather(wind=2.5, sky='grey') 4\n"
    assert CliRunner().invoke(app(CALM), ["home"]).output == f"home {CALM} 1\n"


def test_the_default_of_the_parameter_gives_the_defaults_of_the_options() -> None:
    assert CliRunner().invoke(app(CLEAR), ["home"]).output == f"home {CLEAR} 1\n"
    shown = CliRunner().invoke(app(CLEAR), ["--help"]).output
    assert "In metres a second." in shown
    assert "3.0" in shown
    assert "clear" in shown
    assert "Sail somewhere." in shown
    assert "weather" not in shown.lower()


def test_only_what_was_given_is_passed_on() -> None:
    assert options.given(options.Training()) == {}
    assert options.given(options.Training(epochs=5, patience=0)) == {"epochs": 5, "patience": 0}


@pytest.mark.parametrize("command", ["run", "compare", "fit", "tune"])
def test_a_commands_module_names_no_setting_of_the_training(command: str) -> None:
    """They stand in `options` alone, so that a new one is a line there."""
    source = (Path(options.__file__).parent / f"{command}.py").read_text()
    for name in ("learning_rate", "batch_size", "patience", "weight_decay", "limit_train"):
        assert name not in source
