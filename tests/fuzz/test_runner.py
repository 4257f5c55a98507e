"""The fuzzer finds what it looks for: errors, crashes, hangs, memory, warnings, silence."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from fuzz.__main__ import TARGETS
from fuzz.commands import commands, judge
from fuzz.runner import Limits, Outcome, run, target_of

from fuzz import values
from untrue.cli import COMMANDS
from untrue.errors import DataError, UntrueWarning

QUICK = Limits(cpu=0.5, wall=5.0, memory=2**27)


def outcomes(target: Callable[[Random, Path], str | None], cases: int = 1) -> list[Outcome]:
    return list(run({"it": (target, 1)}, seed=0, cases=cases, limits=QUICK))


def accept(_: Random, place: Path) -> None:
    (place / "file").write_text("")
    warnings.warn("ours", UntrueWarning, stacklevel=1)


def refuse(_: Random, place: Path) -> None:
    raise DataError(f"{place} is not readable.")


def absent(_: Random, place: Path) -> None:
    (place / "nowhere").read_text()


@pytest.mark.parametrize(
    ("target", "result"), [(accept, "accepted"), (refuse, "refused"), (absent, "refused")]
)
def test_what_is_accepted_or_refused_in_a_sentence_is_clean(
    target: Callable[[Random, Path], None], result: str
) -> None:
    assert outcomes(target, 3) == [Outcome(i, "it", result) for i in range(3)]


def fail(_: Random, __: Path) -> None:
    raise KeyError("bug")


def speechless(_: Random, __: Path) -> None:
    raise DataError("")


def compute(_: Random, __: Path) -> None:
    while True:
        pass


def swallow(_: Random, __: Path) -> None:
    while True:
        try:
            sum(range(10_000))
        except Exception:  # noqa: BLE001 - as a reader would
            continue


def wait(_: Random, place: Path) -> None:
    os.mkfifo(place / "pipe")
    (place / "pipe").read_text()


def crash(_: Random, __: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fill(_: Random, __: Path) -> None:
    bytearray(b"x") * 2**28


def remark(_: Random, __: Path) -> None:
    warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)


@pytest.mark.parametrize(
    ("target", "detail"),
    [
        (fail, "KeyError: 'bug'"),
        (speechless, "DataError without a word"),
        (compute, "more than 0.5 seconds"),
        (swallow, "more than 0.5 seconds"),
        (wait, "the process hung for 5 seconds"),
        (crash, "the process ended"),
        (fill, "MB of memory"),
        (remark, "a warning of a library: overflow encountered"),
    ],
)
def test_anything_else_is_a_finding(target: Callable[[Random, Path], None], detail: str) -> None:
    found = outcomes(target, 2)
    assert [(each.case, each.result) for each in found] == [(0, "finding"), (1, "finding")]
    assert detail in found[0].detail


def test_a_case_is_made_again_from_its_seed_and_number() -> None:
    drawn = [target_of(TARGETS, 7, case) for case in (3, 3, 4)]
    assert drawn[0][0] == drawn[1][0]
    texts = [[values.mutated(rng, b"content") for _ in range(9)] for _, rng in drawn]
    assert texts[0] == texts[1] != texts[2]


def test_every_command_but_the_one_that_asks_the_network_is_tried() -> None:
    tried = commands()
    assert {path.partition(" ")[0] for path in tried} == set(COMMANDS)
    assert "data get" not in tried
    words = {option.word for option in tried["fit"]}
    assert {"--seed", "--epochs", "--penalty", "--overwrite"} <= words


@pytest.mark.parametrize(
    ("code", "output", "errors"),
    [
        (1, "", "Traceback (most recent call last):"),
        (2, "", ""),
        (2, "", "error: one\nerror: two\n"),
        (0, "name\x1b[2J", ""),
        (0, "", "/lib/x.py:3: RuntimeWarning: overflow\n"),
        (-11, "", ""),
    ],
)
def test_a_command_that_says_it_otherwise_is_a_finding(code: int, output: str, errors: str) -> None:
    judge(["fit"], 2, "", "warning: odd\nerror: one sentence.\n")
    with pytest.raises(AssertionError):
        judge(["fit"], code, output, errors)
