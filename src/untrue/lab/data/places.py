"""Where on this machine the files of a data set are looked for, and where a download puts them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from untrue.errors import MissingDependencyError
from untrue.lab.data.sources import Download

VARIABLE = "UNTRUE_DATA"


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one data set in one folder; IDX: (images, labels), CIFAR: the batches."""

    folder: Path
    train: tuple[Path, ...]
    test: tuple[Path, ...]

    @property
    def all(self) -> tuple[Path, ...]:
        return (*self.train, *self.test)

    @property
    def lacking(self) -> tuple[Path, ...]:
        return tuple(path for path in self.all if not path.is_file())

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self.all)


def cache() -> Path | None:
    """The user's cache of this package, or None without pooch, which knows where it is."""
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("untrue"))


def roots(data_dir: str | Path | None = None) -> list[Path]:
    """The folders searched, in order: `data_dir`, $UNTRUE_DATA, the user's cache."""
    given = [data_dir, os.environ.get(VARIABLE), cache()]
    return [Path(place).expanduser() for place in given if place]


def find(source: Download, data_dir: str | Path | None = None) -> Files | None:
    """The files of `source` in the first folder that has them all, or None.

    In each root the source's own folders are looked at, then the root itself; last of all, the
    folder of the system's package.
    """
    folders = [root / name for root in roots(data_dir) for name in (*source.folders, "")]
    if source.system_folder is not None:
        folders.append(source.system_folder)
    return first_complete(source, folders)


def find_in(source: Download, root: Path) -> Files | None:
    """As `find`, in one root alone."""
    return first_complete(source, [root / name for name in (*source.folders, "")])


def first_complete(source: Download, folders: Iterable[Path]) -> Files | None:
    each = (expected(source, folder) for folder in folders)
    return next((files for files in each if not files.lacking), None)


def expected(source: Download, folder: Path) -> Files:
    """The files `source` would have in `folder`, whether they are there or not."""
    if source.form == "cifar10":
        batches = sorted(folder.glob("data_batch_*.bin"), key=batch_number)
        train = tuple(batches) or (folder / "data_batch_1.bin",)
        return Files(folder, train, (folder / "test_batch.bin",))
    if source.form == "cifar100":
        return Files(folder, (folder / "train.bin",), (folder / "test.bin",))
    paths = [plain_or_gz(folder / name) for name in source.contents]
    if source.form == "table":
        return Files(folder, (paths[0],), tuple(paths[1:]))
    return Files(folder, tuple(paths[:2]), tuple(paths[2:]))


def plain_or_gz(path: Path) -> Path:
    return path if path.is_file() else path.with_name(f"{path.name}.gz")


def plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz")


def batch_number(path: Path) -> tuple[int, str]:
    """data_batch_10 comes after data_batch_9."""
    digits = re.search(r"(\d+)\.bin$", path.name)
    return int(digits[1]) if digits else 0, path.name


def download_folder(source: Download, data_dir: str | Path | None = None) -> Path:
    """Where `get` puts the files: the source's folder in the first root."""
    places = roots(data_dir)
    if not places:
        raise MissingDependencyError(
            f'{source.name} cannot be downloaded without pooch: `pip install "untrue[lab]"`, or '
            f"put its files into a folder and set {VARIABLE} to it."
        )
    return places[0] / source.folders[0]
