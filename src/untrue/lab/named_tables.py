"""The lab's two tables with official costs as data to compare methods on. No torch.

A row that stands in a training file several times counts once: a copy of it among the validation
examples would be answered from memory, and say nothing about when to stop or how to calibrate. KDD
Cup 1999 has a test file, which is taken as it is. German credit has none, so that each repetition
draws its own test part.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from untrue.lab.compare_scales import own_settings
from untrue.lab.data.tables import distinct_rows, load_table
from untrue.lab.own_data import VALIDATION_SHARE, Opened
from untrue.tools.reading.features import Features
from untrue.tools.reading.sources import Labels, TableSource

# Training and test examples of a repetition, as the published files give them.
SIZES = {"kdd99": (145_586, 311_029), "german": (800, 200)}
# A test part of 200 says little: German credit is repeated often, which takes seconds.
REPETITIONS = {
    "kdd99": {"smoke": 1, "desk": 5, "paper": 10},
    "german": {"smoke": 2, "desk": 20, "paper": 50},
}


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table of the lab. data_dir: where its files are looked for first."""

    name: str
    data_dir: Path | None = None

    def open(self) -> Opened:
        """Read all of it."""
        data = load_table(self.name, self.data_dir)
        kept = distinct_rows(data)
        parts, labels = [data.train.rows(kept)], [data.labels[kept]]
        test = None
        if data.test is not None and data.test_labels is not None:
            parts.append(data.test)
            labels.append(data.test_labels)
            test = np.arange(len(kept) + len(data.test)) >= len(kept)
        whole, found = _stacked(parts), np.concatenate(labels)
        classes = tuple(data.penalty.classes)
        marked = Labels(found.astype(np.int32), classes, "class")
        table = TableSource(Path(self.name), whole, marked, test=test)
        return Opened(self, table, classes, found)

    def fingerprint(self, opened: Opened) -> str:
        """Of every value and label."""
        assert isinstance(opened.source, TableSource)
        features = opened.source.features
        digest = hashlib.sha256(repr((opened.classes, features.schema)).encode())
        digest.update(np.ascontiguousarray(features.numbers).data)
        for column in features.words:
            digest.update(repr(column.values).encode())
            digest.update(np.ascontiguousarray(column.codes).data)
        digest.update(np.ascontiguousarray(opened.labels).data)
        return digest.hexdigest()[:16]


def table_settings(name: str, scale: str, train: int) -> dict[str, Any]:
    """The options of a comparison's `Design` that suit a table of this many training examples."""
    return {
        **own_settings(train, scale),
        "network": "mlp",
        "validation": max(1, round(train * VALIDATION_SHARE)),
        "repetitions": REPETITIONS[name][scale],
    }


def _stacked(parts: list[Features]) -> Features:
    if len(parts) == 1:
        return parts[0]
    return Features.of(
        parts[0].schema,
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.text for part in parts]),
    )
