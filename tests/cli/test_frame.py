"""The `untrue` command: every command has help with an example, errors are one line, codes hold."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from tests.cli.untrue_process import run_untrue

import untrue
from untrue import cli

MODULES = Path(cli.__file__).parent


def all_commands() -> list[tuple[str, ...]]:
    """Every command and subcommand there is, as the words that call it."""
    found: list[tuple[str, ...]] = [()]
    for name in cli.COMMANDS:
        found.append((name,))
        whole = typer.main.get_command(cli.build(name))
        inner = getattr(getattr(whole, "commands", {})[name], "commands", {})
        found += [(name, each) for each in inner]
    return found


@pytest.mark.parametrize("words", all_commands(), ids=lambda words: " ".join(words) or "untrue")
def test_every_command_has_help_with_an_example(words: tuple[str, ...]) -> None:
    done = run_untrue(*words, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: untrue" in done.stdout
    assert "Example" in done.stdout
    assert "untrue " + " ".join(words) in " ".join(done.stdout.split())


def test_the_table_and_the_modules_agree() -> None:
    there = {path.stem for path in MODULES.glob("*.py") if path.stem in cli.COMMANDS}
    assert set(cli.COMMANDS) == there
    fixed = (
        "run, report, status, merge, data, fit, predict, export, audit, explore, calibrate, "
        "control, decide, tune, compare, penalty"
    )
    assert ", ".join(cli.COMMANDS) == fixed
    listed = run_untrue("--help").stdout
    for line in cli.COMMANDS.values():
        assert line in listed
    assert "data" in there


def options_of(name: str) -> set[str]:
    """All options of a command and its subcommands."""
    whole = getattr(typer.main.get_command(cli.build(name)), "commands", {})[name]
    parts = [whole, *getattr(whole, "commands", {}).values()]
    return {option for part in parts for param in part.params for option in param.opts}


def test_commands_that_messages_name_have_the_options_they_show() -> None:
    shown = set()
    for path in MODULES.parent.rglob("*.py"):
        for name, rest in re.findall(r"untrue ([a-z]+) ([^`\"\n]*)", path.read_text()):
            shown |= {(name, option) for option in re.findall(r"--[a-z][a-z-]*", rest)}
    assert ("penalty", "--classes") in shown
    assert {pair for pair in shown if pair[1] not in options_of(pair[0])} == set()


def test_help_imports_no_command_and_nothing_heavy() -> None:
    script = (
        "import sys; from untrue.cli import exit_code; code = exit_code(['--help'])\n"
        "heavy = {'torch', 'numpy', 'pandas', 'sklearn', 'untrue.lab', 'untrue.report'}\n"
        "heavy |= {f'untrue.cli.{name}' for name in __import__('untrue.cli').cli.COMMANDS}\n"
        "sys.exit(f'imported {found}' if (found := heavy & set(sys.modules)) else code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_words_it_shows_its_help() -> None:
    done = run_untrue()
    assert done.returncode == 0
    assert done.stdout == run_untrue("--help").stdout


def test_the_version_is_reported() -> None:
    done = run_untrue("--version")
    assert (done.returncode, done.stdout) == (0, f"untrue {untrue.__version__}\n")


def test_the_installed_program_is_the_same() -> None:
    program = Path(sys.executable).parent / "untrue"
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert done.stdout == run_untrue("--version").stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nonsense"], "error: No such command 'nonsense'. (see `untrue --help`)"),
        (["--nonsense"], "error: No such option: --nonsense (see `untrue --help`)"),
        (["data", "nix"], "error: No such command 'nix'. (see `untrue data --help`)"),
        (["data", "get"], "error: Missing argument 'name'. (see `untrue data get --help`)"),
        (["data", "list", "-x"], "error: No such option: -x (see `untrue data list --help`)"),
        (
            ["compare", "my.csv", "--out", "x"],
            "error: Got unexpected extra argument(s) (my.csv); the data of this command come with "
            "--data (see `untrue compare --help`)",
        ),
    ],
)
def test_misuse_is_one_line_and_code_2(words: list[str], line: str) -> None:
    done = run_untrue(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{line}\n")


def test_our_errors_and_the_systems_are_one_line_and_code_2() -> None:
    done = run_untrue("data", "get", "minst")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: Unknown data set 'minst'; did you mean 'mnist'?")
    assert done.stderr.count("\n") == 1
    done = run_untrue("data", "get", "mnist", "--data-dir", "/dev/null/x")
    assert done.returncode == 2
    assert done.stderr == "error: Not a directory (/dev/null/x/mnist)\n"


def test_a_full_disk_is_an_error_with_a_way_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The system's error about a full disk names no file.
    monkeypatch.chdir(tmp_path)
    real = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        real(path, content[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert cli.exit_code(["penalty", "new", "--classes", "a,b", "--out", "costs.toml"]) == 2
    assert capsys.readouterr().err == (
        "error: No space left on device: free some, or write to another disk.\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_group_without_a_subcommand_shows_its_help() -> None:
    done = run_untrue("data")
    assert (done.returncode, done.stderr) == (2, "")
    assert "Usage: untrue data" in done.stdout


@pytest.fixture
def one_and_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two more commands: a module with one command, a module with two."""
    (tmp_path / "one.py").write_text(
        "import typer\nfrom untrue.errors import DataError\napp = typer.Typer()\n"
        "@app.command(epilog='Example: `untrue one 3`')\n"
        "def anything(number: int) -> None:\n"
        "    'Say a number.'\n"
        "    if number == 0: raise DataError('Line one\\n  and two.')\n"
        "    if number == 1: raise KeyboardInterrupt\n"
        "    if number == 2: raise OSError(28, 'No space left on device', 'out/runs.db')\n"
        "    if number == 4: raise typer.Exit(4)\n"
        "    print('number', number)\n"
    )
    (tmp_path / "two.py").write_text(
        "import typer\napp = typer.Typer()\n"
        "@app.command()\ndef a() -> None: print('a')\n"
        "@app.command()\ndef b() -> None: print('b')\n"
    )
    monkeypatch.setattr(cli, "__path__", [*cli.__path__, str(tmp_path)])
    monkeypatch.setitem(cli.COMMANDS, "one", "One.")
    monkeypatch.setitem(cli.COMMANDS, "two", "Two.")


@pytest.mark.usefixtures("one_and_several")
@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        ("one 3", 0, "number 3\n", ""),
        ("one 4", 4, "", ""),
        ("one x", 2, "", "error: Invalid value for 'number': "),
        ("one 0", 2, "", "error: Line one and two.\n"),
        ("one 1", 130, "", "interrupted\n"),
        ("one 2", 2, "", "error: No space left on device (out/runs.db): free some"),
        ("two a", 0, "a\n", ""),
        ("two b", 0, "b\n", ""),
        ("none", 2, "", "error: No such command 'none'."),
    ],
)
def test_one_line_in_the_table_makes_a_command(
    words: str, code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.exit_code(words.split()) == code
    shown = capsys.readouterr()
    assert shown.out == out
    assert shown.err.startswith(err)
    assert shown.err.count("\n") == (1 if err else 0)


def test_our_warnings_are_sentences() -> None:
    script = (
        "import warnings; from untrue import cli; from untrue.errors import UntrueWarning\n"
        "cli.exit_code = lambda words: [warnings.warn('free\\n class', UntrueWarning),"
        " warnings.warn('old')] and 0\n"
        "cli.main([])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0
    first, *others = done.stderr.splitlines()
    assert first == "warning: free class"
    assert "UserWarning: old" in others[0]


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m untrue data list | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""


def test_messages_name_the_options_of_the_command() -> None:
    assert cli.by_options("`test_share` must", "fit") == "`--test-share` must"
    assert cli.by_options("`test_share` must", "decide") == "`test_share` must"
    assert cli.by_options("`abstain_cost` (--abstain-cost)", "predict").startswith(
        "`abstain_cost` ("
    )
    assert cli.by_options("`alpha` must", "fit") == "`--alpha` must"
    assert cli.by_options("`alpha` must", "compare") == "`alpha` must", "which has no such option"
    assert cli.by_options("mine.toml: `alpha` must", "run") == "mine.toml: `alpha` must"
    assert cli.by_options("(in Python, `classes`)", "fit") == "(in Python, `classes`)"


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("run", "alpha epochs seed repetitions jobs device validation"),
        ("fit", "alpha epochs patience seed rounds loss delimiter"),
        ("tune", "trials repetitions confidence epochs"),
        ("audit", "confidence resamples"),
        ("explore", "examples"),
    ],
)
def test_single_words_that_are_options_are_named_so(command: str, names: str) -> None:
    for name in names.split():
        assert cli.by_options(f"`{name}` must", command) == f"`--{name}` must"
