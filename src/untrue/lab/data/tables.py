"""Two public tables with official costs: KDD Cup 1999 and Statlog's German credit."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.errors import DataError
from untrue.lab.data.download import files_of
from untrue.lab.data.places import Files
from untrue.lab.data.sources import Download, source
from untrue.penalty import Penalty
from untrue.tools.reading.features import Features, Schema

# Kinds of attack by category, as the task's description lists them; `normal` is its own.
KDD_CATEGORIES = {
    "normal": ("normal",),
    "probe": ("ipsweep", "mscan", "nmap", "portsweep", "saint", "satan"),
    "dos": (
        *("apache2", "back", "land", "mailbomb", "neptune", "pod", "processtable"),
        *("smurf", "teardrop", "udpstorm"),
    ),
    "u2r": (
        *("buffer_overflow", "httptunnel", "loadmodule", "perl", "ps", "rootkit", "sqlattack"),
        "xterm",
    ),
    "r2l": (
        *("ftp_write", "guess_passwd", "imap", "multihop", "named", "phf", "sendmail"),
        *("snmpgetattack", "snmpguess", "spy", "warezclient", "warezmaster", "worm", "xlock"),
        "xsnoop",
    ),
}
KDD_COLUMNS = (
    *("duration", "protocol_type", "service", "flag", "src_bytes", "dst_bytes", "land"),
    *("wrong_fragment", "urgent", "hot", "num_failed_logins", "logged_in", "num_compromised"),
    *("root_shell", "su_attempted", "num_root", "num_file_creations", "num_shells"),
    *("num_access_files", "num_outbound_cmds", "is_host_login", "is_guest_login", "count"),
    *("srv_count", "serror_rate", "srv_serror_rate", "rerror_rate", "srv_rerror_rate"),
    *("same_srv_rate", "diff_srv_rate", "srv_diff_host_rate", "dst_host_count"),
    *("dst_host_srv_count", "dst_host_same_srv_rate", "dst_host_diff_srv_rate"),
    *("dst_host_same_src_port_rate", "dst_host_srv_diff_host_rate", "dst_host_serror_rate"),
    *("dst_host_srv_serror_rate", "dst_host_rerror_rate", "dst_host_srv_rerror_rate"),
)
KDD_TEXT = ("protocol_type", "service", "flag")
# The official costs, true class first: one row per class, in the order of `KDD_CATEGORIES`.
KDD_COSTS = ((0, 1, 2, 2, 2), (1, 0, 2, 2, 2), (2, 1, 0, 2, 2), (3, 2, 2, 0, 2), (4, 2, 2, 2, 0))
GERMAN_COLUMNS = tuple(f"attribute_{j}" for j in range(1, 21))
# The attributes that the description calls qualitative, counted from 1.
GERMAN_TEXT = tuple(f"attribute_{j}" for j in (1, 3, 4, 6, 7, 9, 10, 12, 14, 15, 17, 19, 20))
GERMAN_COSTS = ((0, 1), (5, 0))
# Rows whose numbers are kept as Python's at a time: those take many times the memory.
BLOCK = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class TableData:
    """A table with official costs, `penalty`; labels are positions in its classes.

    kinds: a finer name of each training row (of KDD Cup 1999 the attack); test: none where the
    custom is cross-validation
    """

    name: str
    train: Features
    labels: IntArray
    kinds: tuple[str, ...]
    test: Features | None
    test_labels: IntArray | None
    penalty: Penalty


def official_costs(name: str) -> Penalty:
    """The costs that are published with a table, true class first."""
    if name == "german":
        return Penalty.from_matrix(GERMAN_COSTS, ["good", "bad"])
    return Penalty.from_matrix(KDD_COSTS, list(KDD_CATEGORIES))


def distinct_rows(data: TableData) -> IntArray:
    """(n,) Positions of the training rows, the first of those that are the same to their label."""
    coded = [column.codes for column in data.train.words]
    _, kind = np.unique(np.array(data.kinds), return_inverse=True)
    whole = np.column_stack([data.train.numbers, *coded, kind])
    # As bytes, which are sorted much faster than rows of numbers. -0.0 is the same value as 0.0.
    lines = np.ascontiguousarray(whole + 0.0)
    _, first = np.unique(lines.view([("", f"V{lines.shape[1] * 8}")]), return_index=True)
    return np.sort(first).astype(np.int64)


def load_table(name: str, data_dir: str | Path | None = None) -> TableData:
    """ "kdd99" or "german": from their files, downloaded when there are none."""
    wanted = source(name)
    if wanted is None or wanted.form != "table":
        raise DataError(f"{name!r} is not a table; there are kdd99 and german.")
    return read_table_data(wanted, files_of(wanted, data_dir))


def read_table_data(wanted: Download, files: Files) -> TableData:
    """Read and check the files of a table."""
    if wanted.name == "german":
        train, marks = _read(files.train[0], GERMAN_COLUMNS, GERMAN_TEXT, delimiter=None)
        return TableData(
            "german",
            train,
            _positions(marks, {"1": 0, "2": 1}, files.train[0]),
            tuple(marks),
            None,
            None,
            official_costs("german"),
        )
    category = {
        f"{kind}.": place for place, kinds in enumerate(KDD_CATEGORIES.values()) for kind in kinds
    }
    train, marks = _read(files.train[0], KDD_COLUMNS, KDD_TEXT, delimiter=",")
    test, test_marks = _read(files.test[0], KDD_COLUMNS, KDD_TEXT, delimiter=",")
    return TableData(
        "kdd99",
        train,
        _positions(marks, category, files.train[0]),
        tuple(mark.removesuffix(".") for mark in marks),
        test,
        _positions(test_marks, category, files.test[0]),
        official_costs("kdd99"),
    )


def _read(
    path: Path, columns: tuple[str, ...], text: tuple[str, ...], *, delimiter: str | None
) -> tuple[Features, list[str]]:
    """Features and the last column, row by row; a row of another length is an error."""
    numbers = tuple(name for name in columns if name not in text)
    at_numbers = [columns.index(name) for name in numbers]
    at_text = [columns.index(name) for name in text]
    values: list[list[float]] = []
    blocks: list[FloatArray] = []
    words: list[list[str]] = []
    marks: list[str] = []
    # The same word is kept once, however many rows have it.
    known: dict[str, str] = {}
    for line, row in enumerate(_rows(path, delimiter), start=1):
        if len(row) != len(columns) + 1:
            raise DataError(
                f"{path} is corrupt: line {line:,} has {len(row)} columns, not {len(columns) + 1}."
            )
        try:
            values.append([float(row[j]) for j in at_numbers])
        except ValueError:
            raise DataError(f"{path} is corrupt: line {line:,} has text among numbers.") from None
        if len(values) == BLOCK:
            blocks.append(np.array(values))
            values.clear()
        words.append([known.setdefault(row[j], row[j]) for j in at_text])
        marks.append(known.setdefault(row[-1], row[-1]))
    if not marks:
        raise DataError(f"{path} has no rows.")
    blocks += [np.array(values)] if values else []
    found = np.concatenate(blocks)
    features = Features.of(Schema(numbers, text), found, np.array(words, dtype=object))
    return features, marks


def _rows(path: Path, delimiter: str | None) -> Iterator[list[str]]:
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            for line in file:
                yield line.rstrip("\n").split(delimiter)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"{path} is not readable ({error}).") from None


def _positions(marks: list[str], known: dict[str, int], path: Path) -> IntArray:
    found = np.array([known.get(mark, -1) for mark in marks])
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        raise DataError(f"{path} is corrupt: line {row + 1:,} has an unknown label {marks[row]!r}.")
    return found
