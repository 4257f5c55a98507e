"""Opening what a person has: a table on disk or in memory, a folder of images, arrays."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_files import read_npz
from untrue.errors import ArgumentError, DataError, UntrueWarning, listed
from untrue.input_files import reading
from untrue.penalty.stated import class_names
from untrue.tools.reading.cost_columns import ARRAYS
from untrue.tools.reading.features import (
    Features,
    Schema,
    check_size,
    learned_features,
    read_features,
)
from untrue.tools.reading.images import (
    ImageFiles,
    check_entry,
    has_split,
    list_classes,
    list_images,
)
from untrue.tools.reading.labels import is_whole, plain_labels
from untrue.tools.reading.sources import (
    ArrayImages,
    FolderSource,
    Labels,
    Source,
    TableSource,
)
from untrue.tools.reading.tables import (
    TableFile,
    codes,
    held_table,
    is_frame,
    is_table,
    open_table,
    spreadsheet_hint,
)


def open_source(
    path: Path,
    *,
    target: str | None = None,
    schema: Schema | None = None,
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
    delimiter: str | None = None,
    image_size: int | None = None,
    classes: Sequence[str] | None = None,
) -> Source:
    """Read what `path` is. With a `schema` (of a model) labels may be absent; else they are needed.

    A folder with `train/` and `test/` keeps that split. classes: the names that labels 0, 1, ...
    stand for.
    """
    of_tables = {"categorical": categorical, "ignore": ignore, "delimiter": delimiter}
    if path.is_dir():
        # A model of a table has its own target, and a folder is of another kind than it.
        asked = None if schema is not None else target
        _check_no_effect(path, of_tables | {"target": asked, "classes": classes})
        return _open_folder(path, image_size, labelled=schema is None)
    if not path.exists():
        raise DataError(f"There is no file or folder {path}.")
    if image_size is not None:
        raise ArgumentError(
            f"`image_size` (--image-size) belongs to a folder of images; {path} is a file, where "
            "it has no effect."
        )
    if path.suffix.lower() == ".npz":
        _check_no_effect(path, of_tables)
        return _open_arrays(path, target or "y", needed=schema is None, classes=classes)
    if not is_table(path):
        raise DataError(
            f"{path} is neither a table (.csv, .tsv, .csv.gz, .tsv.gz, .parquet), nor an .npz "
            f"file, nor a folder of images.{spreadsheet_hint(path)}"
        )
    return table_source(
        open_table(path, delimiter=delimiter),
        target=target,
        schema=schema,
        categorical=categorical,
        ignore=ignore,
        classes=classes,
    )


def _check_no_effect(path: Path, given: Mapping[str, object]) -> None:
    """Refuse options of tables on a folder of images, whose labels are its folders, or arrays."""
    for name, value in given.items():
        if value:
            what = "a folder of images" if path.is_dir() else "a file of arrays"
            raise ArgumentError(
                f"`{name}` (--{name}) has no effect on {path}, {what}: leave it out."
            )


def table_source(
    file: TableFile,
    *,
    target: str | None = None,
    schema: Schema | None = None,
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
    classes: Sequence[str] | None = None,
) -> TableSource:
    """A table on disk or in memory; see `open_source`."""
    learning = schema is None
    if schema is None:
        if target is None:
            raise ArgumentError(
                f"Name the column to learn, `target` (--target). {file.path} has: "
                f"{listed(file.names)}."
            )
        found, column = learned_features(file, target, categorical=categorical, ignore=ignore)
    else:
        found, column = read_features(file, schema, target)
    labels = None
    if target is not None and target in file.names:
        if learning or not column[target].null_count:
            own, names = codes(column, target, file)
            labels = Labels(own, tuple(class_names(names, classes)), target)
        else:
            warnings.warn(
                f"column {target!r} has empty cells; it is not copied as the truth",
                UntrueWarning,
                stacklevel=2,
            )
    return TableSource(file.path, found, labels, file=file)


def _open_folder(path: Path, size: int | None, *, labelled: bool) -> Source:
    listing = list_classes if labelled else list_images
    held_out = None
    if has_split(path, alone=not labelled):
        for part in ("train", "test"):
            check_entry(path / part, inside=path)
        train, test = listing(path / "train"), listing(path / "test")
        images = ImageFiles(path, train.files + test.files, train.folders + test.folders)
        held_out = np.arange(len(images.files)) >= len(train.files)
    else:
        images = listing(path)
    labels = _folder_labels(images) if all(images.folders) else None
    return FolderSource(path, images, labels, test=held_out, size=size)


def _folder_labels(images: ImageFiles) -> Labels:
    names, found = np.unique(np.array(images.folders), return_inverse=True)
    return Labels(found.astype(np.int32), tuple(names.tolist()), "folder")


def _open_arrays(path: Path, target: str, *, needed: bool, classes: Sequence[str] | None) -> Source:
    arrays, held = read_npz(path, ("X", target))
    if "X" not in arrays:
        raise DataError(f"{path} must hold an array 'X'; it holds {listed(held) or 'nothing'}.")
    if target not in arrays and needed:
        raise DataError(f"{path} must hold labels as {target!r}; it holds {listed(held)}.")
    labels = plain_labels(arrays[target]) if target in arrays else None
    return array_source(arrays["X"], labels, path=path, target=target, classes=classes)


def array_source(
    x: npt.NDArray[Any],
    y: npt.NDArray[Any] | None,
    *,
    path: Path,
    target: str = "y",
    classes: Sequence[str] | None = None,
) -> Source:
    """Arrays as data: numbers (N, features) or images; `path` is what messages call them."""
    labels = _array_labels(path, target, y, len(x), classes) if x.ndim else None
    if x.dtype.kind not in "fiub" or x.ndim not in (2, 3, 4) or not x.size:
        raise DataError(
            f"{path}: 'X' must hold numbers of shape (N, features), (N, height, width) or "
            f"(N, height, width, channels); got {x.dtype} of shape {x.shape}."
        )
    if x.dtype.kind == "f" and x.ndim > 2:
        odd = ~(np.abs(x) <= np.finfo(np.float32).max)
        if odd.any():
            place = tuple(np.argwhere(odd)[0].tolist())
            raise DataError(
                f"{path}: 'X' holds {x[place]} at {place}; images must be finite, in float32."
            )
    if x.ndim == 2:
        values = x.astype(np.float64)
        schema = Schema(tuple(f"x{j}" for j in range(x.shape[1])), ())
        for j, name in enumerate(schema.numbers):
            check_size(values[:, j], name, str(path))
        return TableSource(path, Features(schema, (values,), ()), labels, kind="npz table")
    return ArrayImages(path, _channels_first(path, x), labels)


def _channels_first(path: Path, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if x.ndim == 3:
        x = x[:, None]
    elif x.shape[3] in (1, 3):
        x = x.transpose(0, 3, 1, 2)
    elif x.shape[1] not in (1, 3):
        raise DataError(
            f"{path}: images in 'X' must have 1 or 3 channels, first or last; got shape {x.shape}."
        )
    keep = x.dtype == np.uint8
    return np.ascontiguousarray(x if keep else x.astype(np.float32))


def _array_labels(
    path: Path, name: str, y: npt.NDArray[Any] | None, n: int, classes: Sequence[str] | None
) -> Labels | None:
    if y is None:
        return None
    if y.ndim == 1 and y.dtype.kind == "f" and len(y) == n:
        row = int(np.argmin(is_whole(y)))
        raise DataError(
            f"{path}: {name!r} must hold {n} class names or whole numbers; row {row} has {y[row]}."
        )
    if y.ndim != 1 or len(y) != n or y.dtype.kind not in "iuUSb":
        raise DataError(
            f"{path}: {name!r} must hold {n} class names or whole numbers, one for each row of "
            f"'X'; got {y.dtype} of shape {y.shape}."
        )
    with reading(path, f"{name!r}, class names in UTF-8"):
        text = np.char.decode(y, "utf-8") if y.dtype.kind == "S" else y
    names, found = np.unique(text, return_inverse=True)
    return Labels(found.astype(np.int32), tuple(class_names(names.tolist(), classes)), name)


def as_source(
    data: Any, y: Any, *, target: str | None = None, classes: Sequence[str] | None = None
) -> Source:
    """Arrays with labels, a path, or a source as it is."""
    if y is not None:
        if target is not None:
            raise ArgumentError(
                "Give `y` or `target`, not both: `target` names a column of the data."
            )
        labels = plain_labels(y)
        if labels.dtype.kind == "O":
            one_of_each = {type(label): repr(label) for label in labels.ravel().tolist()}
            raise DataError(
                "`y` must hold class names or whole numbers; got "
                f"{' and '.join(one_of_each.values())}."
            )
        if is_frame(data):
            _array_labels(ARRAYS, "y", labels, len(data), classes)  # checks them
            target = "y"
            while target in data.columns:
                target += "_"
            more = {target: labels.astype(str)}
            return table_source(held_table(data, ARRAYS, more=more), target=target, classes=classes)
        return array_source(np.asarray(data), labels, path=ARRAYS, classes=classes)
    if isinstance(data, str | Path):
        return open_source(Path(data), target=target, classes=classes)
    if is_frame(data):
        return table_source(held_table(data, ARRAYS), target=target, classes=classes)
    if hasattr(data, "fit_preprocessing"):
        source: Source = data
        return source
    raise ArgumentError(
        "`y` must hold the labels of the examples; only a file, a folder or a table has its own."
    )
