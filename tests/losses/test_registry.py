"""One list of losses, which everything else reads."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import untrue
from untrue import functional, losses
from untrue.cli import build
from untrue.errors import ArgumentError
from untrue.losses import registry
from untrue.report.document.styles import MARKERS, PALETTE

K = 7
SOURCE = Path(untrue.__file__).parent
PAIRED = [entry for entry in registry.OWN if not {"budgets", "losses"} & {*entry.needs}]
COMMON = {"weight", "ignore_index", "reduction"}


def test_every_loss_runs_through_the_list_of_properties(every_loss) -> None:
    assert {entry.loss for entry in registry.OWN} == every_loss


def made_of(entry, tree, penalties):
    return [{"penalty": penalties["dense"], "hierarchy": tree}[need] for need in entry.needs]


@pytest.mark.parametrize("entry", registry.OWN, ids=lambda entry: entry.name)
def test_an_entry_names_what_is_there(entry) -> None:
    assert getattr(untrue, entry.loss) is getattr(losses, entry.loss) is entry.loss_class
    assert callable(getattr(functional, entry.function))
    taken = list(inspect.signature(entry.loss_class).parameters)
    assert taken[: len(entry.needs)] == list(entry.needs)
    own = set() if "losses" in entry.needs else COMMON  # whose losses have them
    assert set(taken) >= {option for option, _ in entry.options} | own
    assert entry.knob is None or entry.knob in taken
    assert bool(entry.strengths) == (entry.knob is not None)


def test_the_list_is_the_public_names() -> None:
    # A linear layer and one of the losses together are no loss of their own.
    names = {name for name in untrue.__all__ if "Loss" in name} - {"LinearHeadLoss"}
    assert {entry.loss for entry in registry.OWN} == names
    functions = {name for name in functional.__all__ if name.endswith("_loss")}
    functions -= {"linear_bilinear_loss", "linear_log_bilinear_loss"}
    assert {entry.function for entry in registry.OWN} == functions
    assert len({entry.name for entry in registry.LOSSES}) == len(registry.LOSSES)
    with pytest.raises(AttributeError, match="has no attribute 'NoLoss'"):
        losses.NoLoss  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'no_loss'"):
        functional.no_loss  # noqa: B018


def test_type_checkers_see_every_loss_and_function() -> None:
    """They cannot look names up: what they read of the registry must name them all."""
    shown = {
        alias.asname
        for node in ast.walk(ast.parse((SOURCE / "losses" / "registry.py").read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    written = {"bilinear_loss", "log_bilinear_loss"}  # in functional itself
    assert shown >= {*registry.CLASSES, *registry.FUNCTIONS, *registry.BESIDE} - written


@pytest.mark.parametrize("entry", PAIRED, ids=lambda entry: entry.name)
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_a_function_is_its_module(entry, reduction, tree, penalties, draw) -> None:
    needs, function = made_of(entry, tree, penalties), getattr(functional, entry.function)
    options = dict(entry.options) | {"reduction": reduction, "weight": torch.linspace(1, 2, K)}
    options |= {} if entry.knob is None else {entry.knob: entry.strengths[0]}
    module = entry.loss_class(*needs, **options)
    z, y = draw(4, K, loss=module)
    y[1] = -100
    with torch.inference_mode():
        function(z, y, *needs, **options)
    expected = module(z.requires_grad_(), y)
    ours = function(z, y, *needs, **options)
    ours.sum().backward()  # also after a first call without gradients
    assert torch.equal(ours, expected)
    if entry.needs == ("penalty",):
        matrix = torch.tensor(penalties["dense"].matrix())
        assert torch.equal(function(z, y, matrix, **options), expected)
    if entry.needs == ("hierarchy",):
        assert torch.equal(function(z, y, penalties["tree"], **options), expected)


@pytest.mark.parametrize("entry", PAIRED, ids=lambda entry: entry.name)
def test_a_function_names_a_weight_of_the_wrong_shape(entry, tree, penalties, draw) -> None:
    needs = made_of(entry, tree, penalties)
    z, y = draw(4, K, loss=entry.loss_class(*needs))
    with pytest.raises(ArgumentError, match=r"`weight` must have shape \(7,\); got \(3,\)"):
        getattr(functional, entry.function)(z, y, *needs, weight=torch.ones(3))


@pytest.mark.parametrize("loss", registry.MIXED)
def test_the_function_with_budgets_takes_multipliers(loss, penalties, draw) -> None:
    z, y = draw(5, K)
    budgets = ["0->1 <= 1%", "zone <= 5%"]
    module = losses.BudgetedLoss(penalties["dense"], budgets, loss=loss, alpha=0.7)
    functions = (functional.budgeted_loss, getattr(functional, registry.find(loss).function))
    plain = [f(z, y, penalties["dense"], alpha=0.7) for f in functions[1:]]
    given = (z, y, penalties["dense"], budgets)
    assert torch.equal(functions[0](*given, loss=loss, alpha=0.7), plain[0])
    module.update(np.full((K, K), 9))
    factors = list(module.multipliers.values())
    assert max(factors) > 1
    scaled = functions[0](*given, multipliers=factors, loss=loss, alpha=0.7)
    torch.testing.assert_close(scaled, module(z, y))
    assert scaled > plain[0]
    with pytest.raises(ArgumentError, match="`multipliers` must be 2 numbers, one per budget"):
        functions[0](*given, multipliers=[2.0], loss=loss)
    with pytest.raises(ArgumentError, match="'bilinear' or 'log-bilinear'; got 'hinge'"):
        functions[0](*given, loss="hinge")


def test_a_loss_is_made_as_the_comparison_wants_it(tree, penalties) -> None:
    made = registry.find("hxe").make(tree, strength=0.7)
    assert (made.decay, made.by) == (0.7, "depth")
    made = registry.find("bilinear").make(penalties["rules"], strength=0.2, reduction="sum")
    assert (made.alpha, made.reduction) == (0.2, "sum")
    assert isinstance(registry.find("cross-entropy").make(), torch.nn.CrossEntropyLoss)


def test_an_unknown_name_is_named_with_the_nearest() -> None:
    with pytest.raises(ArgumentError, match=r"Unknown loss 'bilinar'; did you mean 'bilinear'\?"):
        registry.find("bilinar")
    assert registry.label_of("cross-entropy") == "ce"
    assert registry.label_of("another") == "another"


def test_every_loss_has_a_colour_and_a_marker_of_its_own() -> None:
    styles = [registry.style_of(entry.name) for entry in registry.COMPARED]
    drawn = {(PALETTE[style], MARKERS[style]) for style in styles}
    assert len(drawn) == len(registry.COMPARED)
    assert registry.style_of("cross-entropy") == 0
    assert registry.style_of("another") == len(registry.LOSSES)


@pytest.mark.parametrize("command", ["compare", "fit", "tune", "run"])
def test_the_help_names_the_losses_of_the_list(command) -> None:
    shown = CliRunner(env={"COLUMNS": "300", "NO_COLOR": "1"}).invoke(
        build(command), [command, "--help"]
    )
    words = set(re.findall(r"[\w-]+", shown.output))
    names = [e.label for e in registry.COMPARED] if command == "compare" else registry.MIXED
    assert set(names) <= words


def test_no_other_file_lists_the_losses() -> None:
    """Two names of rivals side by side in a file are a second list."""
    rivals = [e.name for e in registry.COMPARED[1:] if e.name not in registry.MIXED]
    for path in SOURCE.rglob("*.py"):
        if path.name != "registry.py":
            text = path.read_text()
            assert len([name for name in rivals if f'"{name}"' in text]) < 2, path
