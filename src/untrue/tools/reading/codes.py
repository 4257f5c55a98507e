"""A table for boosted trees: numbers as they are, categories as codes, gaps as NaN.

Trees split on the order of values, so nothing is scaled, and they send missing values their own
way. A category that training has not seen is a gap too.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.errors import DataError, UntrueWarning, listed
from untrue.tools.reading.features import Features, Schema, Words

LARGEST = 1e38


@dataclass(frozen=True, slots=True)
class Categories:
    """The categories of a column; the code of each is its position."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableCodes:
    """All that turns a table into inputs (N, width) of numbers and codes, float32."""

    numbers: tuple[str, ...]
    categories: tuple[Categories, ...]

    @property
    def schema(self) -> Schema:
        return Schema(self.numbers, tuple(column.name for column in self.categories))

    @property
    def inputs(self) -> tuple[int, ...]:
        """The shape of one example."""
        return (len(self.numbers) + len(self.categories),)

    @property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the columns that hold codes."""
        return tuple(range(len(self.numbers), *self.inputs))

    def apply(self, features: Features) -> npt.NDArray[np.float32]:
        """Inputs (N, width); unseen categories become gaps, with a warning for each column."""
        m, width = len(self.numbers), self.inputs[0]
        inputs = np.empty((len(features), width), dtype=np.float32)
        # Trees ask only on which side of a limit a value lies, so values may be clipped to float32.
        begin = 0
        for block in features.blocks():
            end = begin + len(block)
            np.clip(block, -LARGEST, LARGEST, out=inputs[begin:end, :m], casting="same_kind")
            begin = end
        for j, (column, words) in enumerate(zip(self.categories, features.words, strict=True)):
            inputs[:, m + j] = _codes(column, words)
        return inputs

    def as_json(self) -> dict[str, Any]:
        return {"kind": "codes", **asdict(self)}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> TableCodes:
        """Back from `as_json`; a wrong shape is an error."""
        try:
            return cls(
                tuple(map(str, content["numbers"])),
                tuple(
                    Categories(str(column["name"]), tuple(map(str, column["values"])))
                    for column in content["categories"]
                ),
            )
        except (KeyError, TypeError) as error:
            raise DataError(f"The preprocessing of the model is not readable ({error}).") from None


def fit_codes(features: Features, train: IntArray | None = None) -> TableCodes:
    """The categories of training data, each column's in sorted order; `train`: rows to look at."""
    words = features.words if train is None else [each.rows(train) for each in features.words]
    return TableCodes(
        features.schema.numbers,
        tuple(
            Categories(
                name,
                tuple(sorted(compress(column.values, column.counts()))),
            )
            for name, column in zip(features.schema.categories, words, strict=True)
        ),
    )


def _codes(column: Categories, words: Words) -> npt.NDArray[np.float32]:
    code = {value: float(i) for i, value in enumerate(column.values)}
    # A missing value has the code -1, so that the last is taken.
    own = np.array([*(code.get(word, -1.0) for word in words.values), np.nan], dtype=np.float32)
    found = own[words.codes]
    unseen = found < 0
    if unseen.any():
        names = [words.values[i] for i in np.unique(words.codes[unseen]).tolist()]
        warnings.warn(
            f"column {column.name!r} holds categories not seen in training "
            f"({listed(map(repr, names), 3)}) in {int(unseen.sum()):,} of {len(found):,} rows; "
            "they are taken as missing",
            UntrueWarning,
            stacklevel=4,
        )
        found[unseen] = np.nan
    return found
