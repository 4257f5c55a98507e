"""What data there are on this machine: where, how big, and whether they are whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from untrue.errors import UntrueError
from untrue.lab.data.builtin import package_file
from untrue.lab.data.dataset import load, read
from untrue.lab.data.download import fetch, sha256
from untrue.lab.data.places import Files, expected, find, plain_name, roots
from untrue.lab.data.sources import BUILT_IN, NAMES, Download, source
from untrue.lab.data.tables import read_table_data


@dataclass(frozen=True, slots=True)
class LocalDataset:
    """A data set as it is on this machine; `where` is None when it is not."""

    name: str
    about: str
    built_in: bool
    where: Path | None
    size: int


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """What reading a data set showed."""

    name: str
    state: Literal["ok", "absent", "bad"]
    detail: str
    where: Path | None = None
    size: int = 0


def get(
    name: str, data_dir: str | Path | None = None, *, mirrors: Sequence[str] | None = None
) -> Path:
    """Where the data set `name` is, after fetching it if need be."""
    wanted = source(name)
    return package_file(name) if wanted is None else fetch(wanted, data_dir, mirrors=mirrors)


def listing(data_dir: str | Path | None = None) -> tuple[LocalDataset, ...]:
    """Every data set there is a name for. Nothing is read or fetched."""
    return tuple(entry(name, data_dir) for name in NAMES)


def entry(name: str, data_dir: str | Path | None) -> LocalDataset:
    wanted = source(name)
    if wanted is None:
        try:
            path = package_file(name)
        except UntrueError:
            return LocalDataset(name, BUILT_IN[name], True, None, 0)
        return LocalDataset(name, BUILT_IN[name], True, path, path.stat().st_size)
    files = find(wanted, data_dir)
    where, size = (None, 0) if files is None else (files.folder, files.size)
    return LocalDataset(name, wanted.about, False, where, size)


def check(
    data_dir: str | Path | None = None, *, wanted: Sequence[str] | None = None
) -> Iterator[DatasetCheck]:
    """Read every data set that is there (or those `wanted`) whole, and say what was found."""
    for name in wanted or ():
        source(name)
    for name in wanted or NAMES:
        try:
            yield verdict(name, data_dir)
        except UntrueError as error:
            yield DatasetCheck(name, "bad", str(error))


def verdict(name: str, data_dir: str | Path | None) -> DatasetCheck:
    wanted = source(name)
    if wanted is None:
        data, path = load(name), package_file(name)
        detail = counts(len(data.train_images), len(data.test_images))
        return DatasetCheck(name, "ok", f"{detail}, built in", path, path.stat().st_size)
    files = find(wanted, data_dir)
    if files is None:
        part = incomplete(wanted, data_dir)
        return DatasetCheck(name, "bad", part) if part else DatasetCheck(name, "absent", "not here")
    detail = f"{_read_counts(wanted, files)}, {origin(wanted, files)}"
    return DatasetCheck(name, "ok", detail, files.folder, files.size)


def _read_counts(wanted: Download, files: Files) -> str:
    """Read a data set whole, and say how much there is."""
    if wanted.form == "table":
        table = read_table_data(wanted, files)
        test = "" if table.test is None else f" and {len(table.test):,} test"
        return f"{len(table.train):,} training{test} rows"
    data = read(wanted, files)
    return counts(len(data.train_images), len(data.test_images))


def counts(train: int, test: int) -> str:
    return f"{train:,} training and {test:,} test images"


def origin(source: Download, files: Files) -> str:
    """Whether the files are those of the public mirrors, byte for byte when uncompressed."""
    held = {plain_name(path): sha256([path], plain=True) for path in files.all}
    same = held == dict(source.contents)
    return "as published" if same else "not the published files (a part, or in another order)"


def incomplete(source: Download, data_dir: str | Path | None) -> str | None:
    """A sentence about the first folder that has some of the files but not all."""
    for folder in (root / name for root in roots(data_dir) for name in source.folders):
        files = expected(source, folder)
        if 0 < len(files.lacking) < len(files.all):
            return f"{folder} lacks {', '.join(plain_name(path) for path in files.lacking)}."
    return None
