"""The `untrue` command: parse, call, print, exit code.

One module per command, imported only when that command is called, so that `untrue --help` answers
at once. To add a command, write `untrue/cli/NAME.py` with a `typer.Typer` called `app` (with one
command it becomes `untrue NAME`, with several `untrue NAME SUBCOMMAND`), and add one line to
`COMMANDS`:

    "NAME": "What it does, in one line.",

A command raises; it does not print errors. `main` turns every `UntrueError`, `OSError` and misuse
into one line on stderr and exit code 2 (`BudgetError`: 1, since what was given is not wrong), and
Ctrl-C into exit code 130. Every command has an example in its help:
`@app.command(epilog="Example: untrue NAME ...")`.

A command saves first and prints then. Printing never fails: what standard output does not take is
dropped, and exit code 3 says so when the disk is full or broken (a reader that left is no error).
"""

from __future__ import annotations

import errno
import importlib
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import untrue
from untrue.errors import BudgetError, UntrueError, UntrueWarning
from untrue.input_files import visible
from untrue.optional import own_process

__all__ = ["COMMANDS", "build", "main"]

COMMANDS = {
    "run": "Train the models of one of the paper's experiments.",
    "report": "Draw the figures, tables and page of a sweep.",
    "status": "Show how far a sweep has come.",
    "merge": "Put the runs of several directories into one.",
    "data": "List, fetch and check the data sets.",
    "fit": "Train a classifier on your own data by what mistakes cost.",
    "predict": "Label data with a fitted model.",
    "export": "Write a fitted model as one ONNX graph.",
    "audit": "Show what the mistakes in a file of predictions cost.",
    "explore": "Write a page to find out what mistakes should cost.",
    "calibrate": "Calibrate the probabilities in a file.",
    "control": "Find the decision rule that keeps your error budgets.",
    "decide": "Answer a file of probabilities by a decision rule.",
    "tune": "Find the weakest intervention that keeps your error budgets.",
    "compare": "Compare the ways to make fewer costly mistakes.",
    "penalty": "Show, check, convert and start files of costs.",
}

# All complaints about usage are of this class, which has no public name in typer.
MISUSE: type[Exception] = typer.BadParameter.__mro__[1]
INTERRUPTED = 130
NOT_KEPT = 1
UNPRINTED = 3
# Single words that always mean an option in a message; `classes`, say, may be a key of a file.
SETTINGS = {
    *("alpha", "confidence", "delimiter", "device", "epochs", "examples", "gpus", "jobs", "loss"),
    *("optimizer", "patience", "repetitions", "resamples", "rounds", "schedule", "seed"),
    *("threads", "trials", "validation", "width"),
}
# Of an error: names and numbers in it may be of any length.
LONGEST_LINE = 2000


def build(wanted: str | None = None) -> typer.Typer:
    """The whole command line: the command `wanted` loaded, the others as one line of help each."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(
        invoke_without_command=True,
        help=(untrue.__doc__ or "").partition("\n")[0],
        epilog="Example: `untrue data list`. Every command takes `--help`.",
    )(start)
    for name, line in COMMANDS.items():
        if name == wanted:
            attach(app, name)
        else:
            app.command(name, help=line)(lambda: None)
    return app


def show_version(value: bool) -> None:
    if value:
        typer.echo(f"untrue {untrue.__version__}")
        raise typer.Exit


def start(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - acted on by its callback
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def attach(app: typer.Typer, name: str) -> None:
    """Load the module of a command, and make it the command `name` of `app`."""
    part: typer.Typer = importlib.import_module(f"untrue.cli.{name}").app
    if len(part.registered_commands) == 1 and part.registered_callback is None:
        single = part.registered_commands[0]
        single.name = name
        app.registered_commands.append(single)
    else:
        app.add_typer(part, name=name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; the entry point of `untrue` and `python -m untrue`."""
    from untrue.cli import streams

    own_process()
    warnings.formatwarning = one_line_warning
    output = streams.protect()
    code = exit_code(sys.argv[1:] if arguments is None else list(arguments))
    why = streams.lost(output)
    if why is not None:
        complain(f"standard output was not written: {why}; files that were made are whole.")
        code = code or UNPRINTED
    sys.exit(code)


# Not called `run`: importing the command's module `untrue.cli.run` would take the name's place.
def exit_code(arguments: list[str]) -> int:
    """The exit code of `untrue ARGUMENTS`: 0 done, 2 wrong use or data, 130 interrupted.

    Of some commands also 1: nothing is wrong with what was given, but runs failed, or budgets are
    broken or cannot be shown to be kept.
    """
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    try:
        code = build(wanted)(arguments, prog_name="untrue", standalone_mode=False)
    except MISUSE as error:
        # Without a subcommand that it needs, typer has shown the help already.
        return complain(usage_line(error)) if str(error) else 2
    except BudgetError as error:
        complain(by_options(str(error), wanted))
        return NOT_KEPT
    except UntrueError as error:
        return complain(by_options(str(error), wanted))
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return complain('this needs torch, which is missing: pip install "untrue[torch]".')
    except OSError as error:
        return complain(system_line(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED:
        print("interrupted", file=sys.stderr)
    return code if isinstance(code, int) else 0


def by_options(message: str, wanted: str | None) -> str:
    """A message that names an argument of Python's, `test_share`, names the option instead."""
    command = getattr(typer.main.get_command(build(wanted)), "commands", {}).get(wanted)
    options = {param.name: param.opts[0] for param in getattr(command, "params", ())}

    def named(found: re.Match[str]) -> str:
        name = found[1]
        # After a colon a word is a key of the file that the message is about.
        of_file = message.endswith(": ", 0, found.start())
        meant = "_" in name or (name in SETTINGS and not of_file)
        return f"`{options.get(name, name) if meant else name}`"

    return re.sub(r"`([a-z]+(?:_[a-z]+)*)`(?! \(--)(?!, --)", named, message)


def complain(message: str) -> int:
    line = visible(" ".join(message.split()))
    line = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."
    print("error:", line, file=sys.stderr)
    return 2


def system_line(error: OSError) -> str:
    """What the system says, about which file, and the way out of a full disk."""
    place = f"({error.filename})" if error.filename else ""
    line = " ".join(filter(None, [error.strerror or str(error), place]))
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{line}: free some, or write to another disk." if full else line


def usage_line(error: Any) -> str:
    context = error.ctx
    path = context.command_path if context is not None else "untrue"
    message = error.format_message()
    # What most commands take as an argument is an option of some.
    has_option = context is not None and any("--data" in p.opts for p in context.command.params)
    if has_option and "unexpected extra argument" in message:
        message += "; the data of this command come with --data"
    return f"{message} (see `{path} --help`)"


def one_line_warning(
    message: Warning | str, category: type[Warning], *place: Any, **options: Any
) -> str:
    """Ours are sentences for the user; other packages' keep the usual form with file and line."""
    if issubclass(category, UntrueWarning):
        return f"warning: {visible(' '.join(str(message).split()))}\n"
    return _format_warning(message, category, *place, **options)


_format_warning = warnings.formatwarning
