"""Runs cases in child processes, within limits, and says what each came to.

A child takes many cases, one after another, so that libraries are loaded once. It is watched: one
that crashes, or hangs, has its case noted, and another continues with the next.
"""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, NoReturn

from fuzz.files import Target
from untrue.errors import UntrueError, UntrueWarning

BATCH = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one case. cpu: seconds of computing; wall: seconds until it counts as hung."""

    cpu: float = 10.0
    wall: float = 120.0
    memory: int = 2**30


@dataclass(frozen=True, slots=True)
class Outcome:
    """result: "accepted", "refused" or "finding"; detail: the traceback or what was broken."""

    case: int
    target: str
    result: str
    detail: str = ""


class TooSlowError(BaseException):
    """The case took too long. No `Exception`, so that no reader turns it into a sentence."""


def run(
    targets: Mapping[str, tuple[Target, int]],
    *,
    seed: int,
    first: int = 0,
    cases: int | None = None,
    seconds: float | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Iterator[Outcome]:
    """The outcomes of the cases from `first` on, until this many are done or the time is over."""
    started, case = time.monotonic(), first
    end = first + cases if cases is not None else sys.maxsize
    while case < end and (seconds is None or time.monotonic() - started < seconds):
        batch = range(case, min(case + BATCH, end))
        for outcome in _watched(targets, seed, batch, limits):
            case = outcome.case + 1
            yield outcome
            if seconds is not None and time.monotonic() - started >= seconds:
                return


def target_of(
    targets: Mapping[str, tuple[Target, int]], seed: int, case: int
) -> tuple[str, Random]:
    """Which target a case is for, and its random numbers."""
    rng = Random(f"{seed}/{case}")
    weights = [weight for _, weight in targets.values()]
    return rng.choices(list(targets), weights)[0], rng


def _watched(
    targets: Mapping[str, tuple[Target, int]], seed: int, batch: range, limits: Limits
) -> Iterator[Outcome]:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _serve(targets, seed, batch, limits, writer)
    os.close(writer)
    done = batch.start
    try:
        with os.fdopen(reader, "rb") as stream:
            while done < batch.stop:
                ready, _, _ = select.select([stream], [], [], limits.wall)
                text = stream.readline() if ready else b""
                if not text:
                    how = "ended" if ready else f"hung for {limits.wall:g} seconds"
                    name, _ = target_of(targets, seed, done)
                    yield Outcome(done, name, "finding", f"the process {how}")
                    return
                outcome = Outcome(**json.loads(text))
                done = outcome.case + 1
                yield outcome
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _serve(
    targets: Mapping[str, tuple[Target, int]], seed: int, batch: range, limits: Limits, writer: int
) -> NoReturn:
    """In the child: case after case, a line for each; never returns."""
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        signal.signal(signal.SIGPROF, _too_slow)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        hard = size + 3 * limits.memory
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        for case in batch:
            name, rng = target_of(targets, seed, case)
            result, detail = one(targets[name][0], rng, limits)
            outcome = Outcome(case, name, result, detail[-4000:])
            os.write(writer, json.dumps(asdict(outcome)).encode() + b"\n")
    finally:
        os._exit(0)


def one(target: Target, rng: Random, limits: Limits) -> tuple[str, str]:
    """A case within its limits: the result and its detail."""
    place = Path(tempfile.mkdtemp(prefix="untrue-fuzz-"))
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory starts anew
    before = _memory("VmRSS")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            signal.setitimer(signal.ITIMER_PROF, limits.cpu)
            try:
                result = _judged(target, rng, place)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    except TooSlowError:
        return "finding", f"more than {limits.cpu:g} seconds\n{traceback.format_exc()}"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    grown = _memory("VmHWM") - before
    if result[0] != "finding" and grown > limits.memory:
        return "finding", f"{grown / 2**20:,.0f} MB of memory"
    foreign = [str(each.message) for each in caught if not issubclass(each.category, UntrueWarning)]
    if result[0] != "finding" and foreign:
        return "finding", f"a warning of a library: {foreign[0]}"
    return result


def _judged(target: Target, rng: Random, place: Path) -> tuple[str, str]:
    try:
        result = target(rng, place)
    except UntrueError as error:
        said = str(error).strip()
        return ("refused", "") if said else ("finding", f"{type(error).__name__} without a word")
    except OSError as error:
        if error.errno is not None and error.filename is not None:
            return "refused", ""
        return "finding", traceback.format_exc()
    except Exception:  # noqa: BLE001 - whatever it is, it is a finding
        return "finding", traceback.format_exc()
    return result or "accepted", ""


def _memory(which: str) -> int:
    """Bytes: VmRSS, in use now; VmHWM, at the peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(which):
            return int(line.split()[1]) * 1024
    raise LookupError(which)


def _too_slow(*_: Any) -> NoReturn:
    raise TooSlowError
