"""The runs behind a page, kept beside it: results alone, and no word about a machine."""

from __future__ import annotations

import dataclasses
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

from untrue.lab.merging import merge
from untrue.lab.store import FILE, Store
from untrue.lab.warm import BASELINE

# Where things are on one machine is of no use on another.
PLACES = {"--data-dir": "DATA", "--out": "DIR", "--start-from": "NETWORKS"}


def keep_runs(store: Path, place: Path) -> Path:
    """The file of the runs, with no word about where things were on this machine."""
    merge([store], place, results_only=True)
    with Store.write(place) as kept:
        for sweep in kept.sweeps():
            command = without_places(sweep.command)
            kept.add_sweep(dataclasses.replace(sweep, command=command))
    with closing(sqlite3.connect(place / FILE)) as db:
        db.execute("PRAGMA journal_mode = DELETE")  # one file, also while it is read
        db.execute("VACUUM")  # what was replaced is not in it any more
    return place / FILE


def without_places(command: str) -> str:
    """A command with other words for where data and results are.

    >>> without_places("untrue compare --data german --start-from baseline --out /tmp/x")
    'untrue compare --data german --start-from baseline --out DIR'
    """
    words = shlex.split(command)
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in PLACES and equals:
            words[at] = f"{name}={_place(name, value)}"
        elif name in PLACES and at + 1 < len(words):
            words[at + 1] = _place(name, words[at + 1])
    return shlex.join(words)


def _place(option: str, value: str) -> str:
    return value if value == BASELINE else PLACES[option]
