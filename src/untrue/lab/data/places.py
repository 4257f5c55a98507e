"""Where on this machine the files of a data set are looked for, and where a download puts them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from untrue.errors import MissingDependencyError
from untrue.lab.data.sources import Source

__all__ = ["VARIABLE", "Files", "download_folder", "find", "folders", "pick", "plain_name"]

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


def folders(source: Source, data_dir: str | Path | None = None) -> Iterator[Path]:
    """Every folder in which the files of `source` may be: in each root its own, then the root."""
    for root in roots(data_dir):
        yield from (root / name for name in source.folders)
        yield root
    if source.system_folder is not None:
        yield source.system_folder


def find(source: Source, data_dir: str | Path | None = None) -> Files | None:
    """The first folder that has every file of `source`, or None."""
    found = (pick(source, folder) for folder in folders(source, data_dir))
    return next((files for files in found if files is not None), None)


def pick(source: Source, folder: Path) -> Files | None:
    """The files of `source` in `folder`, or None when one is missing."""
    train: tuple[Path, ...]
    test: tuple[Path, ...]
    if source.form == "cifar10":
        train = tuple(sorted(folder.glob("data_batch_*.bin"), key=batch_number))
        test = (folder / "test_batch.bin",)
    elif source.form == "cifar100":
        train, test = (folder / "train.bin",), (folder / "test.bin",)
    else:
        paths = [plain_or_gz(folder / name) for name in source.contents]
        train, test = tuple(paths[:2]), tuple(paths[2:])
    files = Files(folder, train, test)
    return files if train and all(path.is_file() for path in files.all) else None


def plain_or_gz(path: Path) -> Path:
    return path if path.is_file() else path.with_name(f"{path.name}.gz")


def plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz")


def batch_number(path: Path) -> tuple[int, str]:
    """data_batch_10 comes after data_batch_9."""
    digits = re.search(r"(\d+)\.bin$", path.name)
    return int(digits[1]) if digits else 0, path.name


def download_folder(source: Source, data_dir: str | Path | None = None) -> Path:
    """Where `get` puts the files: the source's folder in the first root."""
    places = roots(data_dir)
    if not places:
        raise MissingDependencyError(
            f'{source.name} cannot be downloaded without pooch: `pip install "untrue[lab]"`, or '
            f"put its files into a folder and set {VARIABLE} to it."
        )
    return places[0] / source.folders[0]
