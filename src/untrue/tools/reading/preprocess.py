"""From the values of a table to the inputs of a network, by preprocessing that is plain numbers.

scikit-learn's transformers find it (`fit_table`); NumPy applies it (`TablePreprocessing.apply`), so
that a stored model holds nothing that runs code, and predicting needs no scikit-learn.

numbers      the median for what is missing, a 0/1 column that says so where training data had
             gaps, all brought to mean 0 and variance 1
categories   one 0/1 column for each; a rare or an unseen one is "other", which has a column of its
             own where training data had rare ones, and else is all zeros; missing is a category
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray
from untrue.errors import DataError, UntrueWarning, listed
from untrue.optional import need
from untrue.tools.reading.features import Features, Schema
from untrue.tools.reading.tables import where

MISSING = "(missing)"
# A category seen less often cannot be distinguished from noise.
LEAST_SEEN = 5
MOST_CATEGORIES = 64
# Of n values none lies farther than sqrt(n - 1) standard deviations from their mean: only values
# that training has not seen come near this.
FARTHEST = 1e4

Inputs = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NumberScaling:
    """For m number columns, of which those at `gaps` get a column that says what was missing.

    mean and scale have m + len(gaps) entries.
    """

    names: tuple[str, ...]
    median: tuple[float, ...]
    gaps: tuple[int, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CategoryEncoding:
    """Categories with a column of their own, in order; `rare` ones share one more, "other"."""

    name: str
    categories: tuple[str, ...]
    rare: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return len(self.categories) + bool(self.rare)


@dataclass(frozen=True, slots=True)
class TablePreprocessing:
    """All that turns a table into inputs (N, width)."""

    numbers: NumberScaling
    categories: tuple[CategoryEncoding, ...]

    @property
    def schema(self) -> Schema:
        return Schema(self.numbers.names, tuple(rule.name for rule in self.categories))

    @property
    def width(self) -> int:
        return len(self.numbers.mean) + sum(rule.width for rule in self.categories)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The shape of one example."""
        return (self.width,)

    def apply(self, features: Features) -> Inputs:
        """Inputs (N, width), float32. Unseen categories are "other", with a warning for each."""
        blocks = [_numbers(self.numbers, features.numbers)]
        for j, rule in enumerate(self.categories):
            blocks.append(_one_hot(rule, features.words[j].text()))
        return np.concatenate(blocks, axis=1).astype(np.float32)

    def as_json(self) -> dict[str, Any]:
        return {"kind": "table", **asdict(self)}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> TablePreprocessing:
        """Back from `as_json`; a wrong shape is an error."""
        try:
            part = content["numbers"]
            numbers = NumberScaling(
                tuple(map(str, part["names"])),
                tuple(map(float, part["median"])),
                tuple(map(int, part["gaps"])),
                tuple(map(float, part["mean"])),
                tuple(map(float, part["scale"])),
            )
            categories = tuple(
                CategoryEncoding(
                    str(rule["name"]),
                    tuple(map(str, rule["categories"])),
                    tuple(map(str, rule["rare"])),
                )
                for rule in content["categories"]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"The preprocessing of the model is not readable ({error}).") from None
        m = len(numbers.names)
        fits = len(numbers.median) == m and all(0 <= gap < m for gap in numbers.gaps)
        lengths = {m + len(numbers.gaps), len(numbers.mean), len(numbers.scale)}
        if not fits or len(lengths) > 1:
            raise DataError("The preprocessing of the model is not readable: its lengths differ.")
        every = (*numbers.median, *numbers.mean, *numbers.scale)
        if not all(map(math.isfinite, every)) or not all(scale > 0 for scale in numbers.scale):
            raise DataError(
                "The preprocessing of the model is not readable: medians, means and scales must be "
                "finite, and scales positive."
            )
        return cls(numbers, categories)


def _numbers(preprocessing: NumberScaling, values: FloatArray) -> FloatArray:
    missing = np.isnan(values)
    filled = np.where(missing, np.array(preprocessing.median), values)
    gaps = missing[:, list(preprocessing.gaps)].astype(np.float64)
    wide = np.concatenate([filled, gaps], axis=1)
    scaled = np.asarray((wide - np.array(preprocessing.mean)) / np.array(preprocessing.scale))
    far = np.abs(scaled) > FARTHEST
    if far.any():
        row, j = np.argwhere(far)[0].tolist()
        names = (*preprocessing.names, *(preprocessing.names[gap] for gap in preprocessing.gaps))
        warnings.warn(
            f"{where(row, names[j])} is {wide[row, j]:g}, more than {FARTHEST:,.0f} standard "
            f"deviations from what the model learned from; {int(far.sum()):,} values are that far "
            "away and are limited to that distance",
            UntrueWarning,
            stacklevel=3,
        )
    return np.asarray(np.clip(scaled, -FARTHEST, FARTHEST))


def _one_hot(preprocessing: CategoryEncoding, values: npt.NDArray[Any]) -> FloatArray:
    other = len(preprocessing.categories) if preprocessing.rare else -1
    position = {name: j for j, name in enumerate(preprocessing.categories)}
    position |= dict.fromkeys(preprocessing.rare, other)
    names = [MISSING if value is None else value for value in values.tolist()]
    unseen = Counter(name for name in names if name not in position)
    if unseen:
        warnings.warn(
            f"column {preprocessing.name!r} holds categories not seen in training "
            f"({listed(map(repr, unseen), 3)}) in {unseen.total():,} of {len(names):,} rows; they "
            "are taken as 'other'",
            UntrueWarning,
            stacklevel=3,
        )
    at = np.array([position.get(name, other) for name in names])
    columns = np.zeros((len(names), preprocessing.width))
    known = np.flatnonzero(at >= 0)
    columns[known, at[known]] = 1.0
    return columns


def make_transformer(features: Features) -> Any:
    """scikit-learn's transformer of the same preprocessing, fitted; takes `as_frame(features)`."""
    compose = need("sklearn.compose", "Fitting to a table")
    impute = need("sklearn.impute", "Fitting to a table")
    pipeline = need("sklearn.pipeline", "Fitting to a table")
    scaling = need("sklearn.preprocessing", "Fitting to a table")
    m, c = len(features.schema.numbers), len(features.schema.categories)
    numbers = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        scaling.StandardScaler(),
    )
    categories = pipeline.make_pipeline(
        impute.SimpleImputer(missing_values=None, strategy="constant", fill_value=MISSING),
        scaling.OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            min_frequency=LEAST_SEEN,
            max_categories=MOST_CATEGORIES,
            sparse_output=False,
        ),
    )
    transformer = compose.ColumnTransformer(
        [
            *([("numbers", numbers, list(range(m)))] if m else []),
            *([("categories", categories, list(range(m, m + c)))] if c else []),
        ]
    )
    return transformer.fit(as_frame(features))


def as_frame(features: Features) -> Any:
    """The features as a pandas DataFrame, numbers first."""
    pandas = need("pandas", "Fitting to a table")
    numbers = pandas.DataFrame(features.numbers, columns=list(features.schema.numbers))
    text = pandas.DataFrame(features.text, columns=list(features.schema.categories), dtype=object)
    return pandas.concat([numbers, text], axis=1)


def fit_table(features: Features) -> TablePreprocessing:
    """What scikit-learn's transformers find on training data, as plain numbers."""
    parts = make_transformer(features).named_transformers_
    numbers = NumberScaling(features.schema.numbers, (), (), (), ())
    if features.schema.numbers:
        imputer, scaler = (step for _, step in parts["numbers"].steps)
        numbers = NumberScaling(
            features.schema.numbers,
            # A column without any value has no median: scikit-learn fills it with 0.
            tuple(np.nan_to_num(imputer.statistics_, nan=0.0).tolist()),
            tuple(imputer.indicator_.features_.tolist()),
            tuple(scaler.mean_.tolist()),
            tuple(scaler.scale_.tolist()),
        )
    categories: list[CategoryEncoding] = []
    if features.schema.categories:
        encoder = parts["categories"].steps[1][1]
        for name, every, rare in zip(
            features.schema.categories,
            encoder.categories_,
            encoder.infrequent_categories_,
            strict=True,
        ):
            other = () if rare is None else tuple(rare.tolist())
            own = tuple(each for each in every.tolist() if each not in other)
            categories.append(CategoryEncoding(name, own, other))
    return TablePreprocessing(numbers, tuple(categories))
