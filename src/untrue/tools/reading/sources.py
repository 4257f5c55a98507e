"""Data to learn from or to label: a table, a folder of images, or an .npz file with X and y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.errors import DataError
from untrue.optional import need
from untrue.tools.reading.codes import TableCodes, fit_codes
from untrue.tools.reading.cost_columns import array_columns, file_columns
from untrue.tools.reading.features import (
    Features,
    Schema,
    read_features,
)
from untrue.tools.reading.images import (
    ImageFiles,
    ImagePreprocessing,
    fit_images,
    read_images,
)
from untrue.tools.reading.labels import positions
from untrue.tools.reading.preprocess import TablePreprocessing, fit_table
from untrue.tools.reading.tables import (
    PURPOSE,
    TableFile,
)

Encoding = Literal["scaled", "codes"]
Preprocessing = TablePreprocessing | TableCodes | ImagePreprocessing


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The label of each example as codes (N,) and the text of each code, from `column`."""

    codes: npt.NDArray[np.int32]
    names: tuple[str, ...]
    column: str


class Source(Protocol):
    """Examples in a fixed order. labels is None when there are none."""

    path: Path
    kind: str
    labels: Labels | None
    test: BoolArray | None

    def __len__(self) -> int: ...

    def fit_preprocessing(self, train: IntArray, encoding: Encoding = "scaled") -> Preprocessing:
        """How to turn values into inputs, learned from the examples at `train` alone.

        encoding, of a table: "scaled" numbers and 0/1 columns, or numbers and "codes" as they are.
        """
        ...

    def inputs(self, preprocessing: Preprocessing) -> npt.NDArray[Any]:
        """All inputs: (N, width), or (N, C, H, W)."""
        ...

    def columns(self, names: Sequence[str]) -> dict[str, FloatArray]:
        """Columns (N,) of numbers, whether learned from or not; missing values are nan."""
        ...

    def ids(self) -> tuple[str, tuple[str, ...]] | None:
        """A column that names the examples, (column name, values), where they have names."""
        ...

    def release(self) -> None:
        """Let values go that can be read again, once they are inputs."""
        ...


@dataclass(slots=True, eq=False)
class TableSource:
    """A CSV or Parquet table, or an array of numbers. file: where other columns are, if it has."""

    path: Path
    values: Features | None
    labels: Labels | None
    kind: str = "table"
    test: BoolArray | None = None
    file: TableFile | None = None
    schema: Schema = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        assert self.values is not None
        self.schema, self.size = self.values.schema, len(self.values)

    def __len__(self) -> int:
        return self.size

    @property
    def features(self) -> Features:
        """The values; those that were let go are read again."""
        if self.values is None:
            assert self.file is not None
            self.values, _ = read_features(self.file, self.schema)
        return self.values

    def release(self) -> None:
        if self.file is not None:
            self.values = None
            need("pyarrow", PURPOSE).default_memory_pool().release_unused()

    def fit_preprocessing(self, train: IntArray, encoding: Encoding = "scaled") -> Preprocessing:
        if encoding == "codes":
            return fit_codes(self.features, train)
        return fit_table(self.features.rows(train))

    def inputs(self, preprocessing: Preprocessing) -> npt.NDArray[Any]:
        assert isinstance(preprocessing, TablePreprocessing | TableCodes)
        # A file was read by the names of the preprocessing; an array has numbered columns only.
        given, wanted = len(self.schema.names), len(preprocessing.schema.names)
        if given != wanted:
            raise DataError(
                f"{self.path}: the model learned from {wanted} columns; 'X' has {given}."
            )
        return preprocessing.apply(self.features)

    def columns(self, names: Sequence[str]) -> dict[str, FloatArray]:
        if self.file is None:
            return array_columns(self.path, names, len(self))
        return file_columns(self.file, names)

    def ids(self) -> None:
        return None


@dataclass(slots=True, eq=False)
class FolderSource:
    """A folder of images."""

    path: Path
    images: ImageFiles
    labels: Labels | None
    test: BoolArray | None = None
    size: int | None = None
    kind: str = "images"

    def __len__(self) -> int:
        return len(self.images.files)

    def fit_preprocessing(
        self,
        train: IntArray,
        encoding: Encoding = "scaled",  # noqa: ARG002 - of tables
    ) -> Preprocessing:
        return fit_images([self.images.files[i] for i in train.tolist()], size=self.size)

    def inputs(self, preprocessing: Preprocessing) -> npt.NDArray[Any]:
        assert isinstance(preprocessing, ImagePreprocessing)
        return read_images(self.images.files, preprocessing)

    def columns(self, names: Sequence[str]) -> dict[str, FloatArray]:
        raise DataError(
            f"{self.path} is a folder of images and has no column {names[0]!r}, which the costs "
            "need. An .npz file may hold the images as X and such columns beside it."
        )

    def release(self) -> None:
        pass

    def ids(self) -> tuple[str, tuple[str, ...]]:
        return "file", self.images.names


@dataclass(slots=True, eq=False)
class ArrayImages:
    """An .npz file whose X holds images, already (N, C, H, W)."""

    path: Path
    pixels: npt.NDArray[Any]
    labels: Labels | None
    kind: str = "npz images"
    test: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.pixels)

    def fit_preprocessing(
        self,
        train: IntArray,  # noqa: ARG002 - nothing to learn
        encoding: Encoding = "scaled",  # noqa: ARG002 - of tables
    ) -> Preprocessing:
        return ImagePreprocessing(*self.pixels.shape[1:])

    def inputs(self, preprocessing: Preprocessing) -> npt.NDArray[Any]:
        assert isinstance(preprocessing, ImagePreprocessing)
        wanted = (preprocessing.channels, preprocessing.height, preprocessing.width)
        if self.pixels.shape[1:] != wanted:
            raise DataError(
                f"{self.path}: the model takes images of {wanted} (channels, height, width); X "
                f"holds {self.pixels.shape[1:]}."
            )
        return self.pixels

    def columns(self, names: Sequence[str]) -> dict[str, FloatArray]:
        return array_columns(self.path, names, len(self))

    def release(self) -> None:
        pass

    def ids(self) -> None:
        return None


def label_column(source: Source) -> str | None:
    """The column of the labels, by which new data may have them; folders of images have none."""
    return source.labels.column if source.labels and source.kind != "images" else None


def class_positions(labels: Labels, classes: Sequence[str], source: str) -> IntArray:
    """The class of each example to learn from, by its name in the costs."""
    return positions(
        labels.codes,
        labels.names,
        classes,
        column=labels.column,
        source=source,
        hint=" Those are the classes of the costs: add it there, or leave such rows out.",
    )
