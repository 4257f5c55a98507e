"""Whole command lines: a valid one of each command, with options that its parser declares.

The commands and their options are read from the program, so that a new one is tried without a word
here; only what makes a command useful (files, budgets) stands in `BASES`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import io
import os
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from typer.models import ArgumentInfo

from fuzz import files, folders, rules, values
from fuzz.files import Target, check
from untrue import Penalty
from untrue.cli import COMMANDS, exit_code
from untrue.penalty import FormulaPenalty

# A line that works, where there is one.
BASES: dict[str, list[str]] = {
    "fit": ["data.csv", "--target", "kind", "--penalty", "costs.json", "--out", "out"],
    "predict": ["model", "new.csv", "--out", "out.csv"],
    "audit": ["answers.csv", "--penalty", "costs.json", "--out", "out"],
    "control": ["answers.csv", "--budget", "a->b <= 90%", "--out", "out.json"],
    "decide": ["rule.json", "answers.csv", "--out", "out.csv"],
    "tune": ["data.csv", "--target", "kind", "--budget", "a->b <= 90%", "--out", "out"],
    "compare": [
        "--data",
        "data.csv",
        "--target",
        "kind",
        "--penalty",
        "costs.json",
        "--out",
        "out",
    ],
    "run": ["demo", "--data", "digits", "--out", "out"],
    "report": ["store"],
    "status": ["store"],
    "calibrate": ["answers.csv", "--out", "out.csv"],
    "explore": ["answers.csv", "--out", "out.html"],
    "data list": [],
    "data check": [],
    "data show": ["digits"],
    "penalty show": ["costs.json"],
    "penalty check": ["costs.json"],
    "penalty convert": ["costs.json", "out.toml"],
    "penalty new": ["--classes", "a,b,c", "--out", "out.toml"],
    "penalty suggest": ["--confusion", "cm.csv", "--out", "out.csv"],
}
# Drawn often: cheap. The others train or draw, and take a second each.
QUICK = (
    *("penalty show", "penalty check", "penalty convert", "penalty new", "penalty suggest"),
    *("predict", "audit", "status", "data list", "data show", "run", "compare", "calibrate"),
    *("explore", "control", "decide"),
)
# Last on the line, so that a run ends whatever was drawn.
ALWAYS = {"run": ["--dry-run"], "compare": ["--dry-run"], "fit": ["--no-baseline"]}
# Options whose large values are allowed and take long: small ones, or none that is allowed.
COUNTS = ["0", "-1", "1", "2", "2.5", "x", "", str(2**63), "9" * 5000]
SLOW = ("--epochs", "--repetitions", "--trials", "--resamples", "--patience", "--image-size")
FEW = {"fit": ["--epochs", "2"], "tune": ["--epochs", "1", "--trials", "0", "--repetitions", "2"]}
WORDS = [
    *(
        "bilinear",
        "log-bilinear",
        "cross-entropy",
        "mlp",
        "linear",
        "cnn",
        "cost",
        "argmax",
        "tuned",
        "node",
        "lightgbm",
        "xgboost",
    ),
    *(
        "distance",
        "frequency",
        "zone:2",
        "zone:99999",
        "hierarchy",
        "digits",
        "smoke",
        "desk",
        "rows",
    ),
    *(
        "max",
        "none",
        "ce",
        "cpu",
        "cuda:9",
        "kind",
        "x",
        "a,b",
        "a,b,c",
        "truth",
        "prob_",
        ";",
        "\\t",
    ),
    *(
        "a->b=3",
        "a->b <= 5%",
        "zone <= 3 errors",
        "adam",
        "sgd",
        "cosine",
        "ordinal",
        "bilinear=.1,.9",
    ),
]
# Files to name: never outside the folder of the case.
PATHS = ["data.csv", "costs.json", "answers.csv", "cm.csv", "model", "store", "new.csv", "nowhere"]
PATHS += ["rule.json", "out.json", "out.html"]
PATHS += ["out", "out.csv", "out.toml", "deep/er/out", "caf\udce9.csv", "tree.csv", "pipe", ".", ""]
# They ask the network.
ASKING = ("data get",)
FORBIDDEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@dataclass(frozen=True, slots=True)
class Option:
    """An option as it is typed, and the types that it declares."""

    word: str
    kinds: frozenset[Any]


def quick(rng: Random, place: Path) -> str | None:
    """A command that only reads."""
    return _run(rng, place, rng.choice(QUICK))


def thorough(rng: Random, place: Path) -> str | None:
    """Any command."""
    return _run(rng, place, rng.choice(sorted(commands())))


def _run(rng: Random, place: Path, command: str) -> str | None:
    work = place / "work"
    work.mkdir()
    prepare(rng, work)
    words = [*command.split(), *line(rng, command)]
    before = fingerprints(work)
    output, errors = io.StringIO(), io.StringIO()
    os.chdir(work)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = exit_code(words)
    finally:
        os.chdir("/")
    judge(words, code, output.getvalue(), errors.getvalue())
    check_folder(work, words, before, code)
    return "refused" if code == 2 else None


def line(rng: Random, command: str) -> list[str]:
    """Arguments for a command: those that work, some changed, and options of its own."""
    words = list(BASES.get(command, []))
    if words and rng.random() < 0.3:
        at = rng.randrange(len(words))
        kinds = rng.choice([values.name, values.number])
        path = rng.choice(PATHS)
        words[at] = path if rng.random() < 0.5 or "out" in words[at] else kinds(rng)
    if words and rng.random() < 0.05:
        del words[rng.randrange(len(words))]
    words += FEW.get(command, [])
    own = commands()[command]
    for option in rng.sample(own, min(rng.choice([0, 1, 1, 2, 3]), len(own))):
        words += given(rng, option)
    return [*words, *ALWAYS.get(command, [])]


def given(rng: Random, option: Option) -> list[str]:
    """An option with a value of its kind, or of none."""
    if bool in option.kinds:
        return [option.word]
    if option.word in SLOW:
        return [option.word, rng.choice(COUNTS)]
    if Path in option.kinds:
        return [option.word, rng.choice(PATHS)]
    if {int, float} & option.kinds and rng.random() < 0.9:
        return [option.word, values.number(rng)]
    texts = [rng.choice(WORDS), rng.choice(WORDS), values.name(rng), values.number(rng)]
    return [option.word, rng.choice(texts)]


@functools.cache
def commands() -> dict[str, list[Option]]:
    """Every command with the options that its function declares."""
    found: dict[str, list[Option]] = {}
    for name in COMMANDS:
        parts = importlib.import_module(f"untrue.cli.{name}").app.registered_commands
        for part in parts:
            path = name if len(parts) == 1 else f"{name} {part.name or part.callback.__name__}"
            if path not in ASKING:
                found[path] = list(_declared(part.callback))
    return found


def _declared(function: Callable[..., Any]) -> Iterator[Option]:
    for name, hint in typing.get_type_hints(function, include_extras=True).items():
        about = getattr(hint, "__metadata__", (None,))[0]
        if name in ("return", "data_dir") or isinstance(about, ArgumentInfo):
            continue
        words = [word for word in getattr(about, "param_decls", None) or () if word[:2] == "--"]
        bare = typing.get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
        kinds = {bare, *typing.get_args(bare)}
        yield Option(words[0] if words else f"--{name.replace('_', '-')}", frozenset(kinds))


def prepare(rng: Random, work: Path) -> None:
    """Files for the commands, most of them in order."""
    classes = files.KNOWN if rng.random() < 0.7 else values.names(rng, 2, 4)
    with contextlib.suppress(Exception):
        Penalty.from_rules(classes, {(classes[0], classes[-1]): 3.0}).save(work / "costs.json")
    if rng.random() < 0.2:
        files.write_penalty(rng, work, classes)
    if rng.random() < 0.15:
        with contextlib.suppress(Exception):
            base = Penalty.from_rules(classes, {})
            by = rng.choice(["x * x + 1", "x", "prob_a + 1", "nowhere", "1 / x"])
            FormulaPenalty(base, {(classes[0], "*"): by}).save(work / "costs.json")
    rows = [["x", "city", "kind"]]
    rows += [
        [f"{rng.gauss(i % 3, 1):.3f}", rng.choice(["Rome", "Oslo"]), classes[i % len(classes)]]
        for i in range(60)
    ]
    content = files.csv_text(Random(0), rows)
    (work / "data.csv").write_bytes(values.spoilt(rng, content, 0.1))
    (work / "new.csv").write_text("x,y,city\n1,2,Rome\n2,3,Oslo\n")
    (work / "cm.csv").write_text(",a,b\na,5,1\nb,2,4\n")
    files.write_predictions(rng, work)
    rules.write_rule(rng, work)
    files.write_tree(rng, work, classes)
    folders.write_model(work / "model")
    (work / "store").mkdir()
    (work / "store" / "runs.sqlite").write_bytes(folders.stored())
    os.mkfifo(work / "pipe")


def judge(words: list[str], code: int, output: str, errors: str) -> None:
    """One line for an error, nothing that steers a terminal, and a code that means something."""
    lines = errors.splitlines()
    check(code in (0, 1, 2), f"exit code {code}")
    check(not FORBIDDEN.search(output + errors), "a control character on the terminal")
    check("Traceback" not in output + errors, "a traceback")
    complaints = [text for text in lines if text.startswith("error: ")]
    shown_help = "Usage: untrue" in output
    check(len(complaints) == int(code == 2 and not shown_help), f"{code}: {complaints}: {words}")
    odd = [text for text in lines if not text.startswith(("error: ", "warning: ", "note: "))]
    check(not odd, f"on standard error: {odd}")


def check_folder(work: Path, words: list[str], before: dict[str, str], code: int) -> None:
    """Nothing half made is left, what was read is as it was, and no answer is NaN."""
    after = fingerprints(work)
    left = [name for name in after if Path(name).name.startswith(".") and ".lock" not in name]
    check(not left, f"left behind: {left}")
    lost = [n for n, print_ in before.items() if after.get(n) != print_ and not _named(n, words)]
    check(not lost, f"changed: {lost}")
    if code == 2:
        made = [name for name in after if name not in before and ".sqlite" not in name]
        check(not made, f"made by a command that was refused: {made}")
    for path in work.glob("out*.csv"):
        if path.is_file() and "predict" in words:
            check(not re.search(r"\bnan\b", path.read_text(errors="replace")), "nan as an answer")


def _named(name: str, words: list[str]) -> bool:
    """A file, or its folder, that the command line names: it may be written there."""
    top = name.split("/")[0]
    return top == "store" or any(word in (name, top, ".", "") for word in words)


def fingerprints(work: Path) -> dict[str, str]:
    found = {}
    for path in sorted(work.rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(work).as_posix()
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


TARGETS: dict[str, tuple[Target, int]] = {
    "quick commands": (quick, 10),
    "all commands": (thorough, 2),
}
