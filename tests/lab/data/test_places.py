"""Files are looked for in --data-dir, $UNTRUE_DATA, the user's cache, the system's folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from untrue.lab.data.places import download_folder, find
from untrue.lab.data.sources import CIFAR10, CIFAR100, FASHION_MNIST, MNIST

Writer = Callable[..., Path]


def test_the_order_is_data_dir_variable_cache_system(
    tmp_path: Path, empty_home: Path, monkeypatch: pytest.MonkeyPatch, write_mnist: Writer
) -> None:
    source = replace(FASHION_MNIST, system_folder=tmp_path / "system")
    assert find(source, tmp_path / "given") is None
    monkeypatch.setenv("UNTRUE_DATA", str(tmp_path / "variable"))
    for folder in (
        tmp_path / "system",
        empty_home / ".cache/untrue/fashion-mnist",
        tmp_path / "variable/fashion-mnist",
        tmp_path / "given/fashion-mnist",
    ):
        write_mnist(folder)
        found = find(source, tmp_path / "given")
        assert found is not None
        assert found.folder == folder


def test_debians_folder_is_known() -> None:
    assert FASHION_MNIST.system_folder == Path("/usr/share/datasets/fashion-mnist")


@pytest.mark.parametrize("inside", ["mnist", "MNIST/raw", "."])
def test_own_folders_and_the_root_itself_are_looked_at(
    tmp_path: Path, write_mnist: Writer, inside: str
) -> None:
    write_mnist(tmp_path / inside, compress=True)
    found = find(MNIST, tmp_path)
    assert found is not None
    assert found.folder == tmp_path / inside
    assert [path.suffix for path in found.all] == [".gz"] * 4
    assert found.size == sum(path.stat().st_size for path in (tmp_path / inside).iterdir())


def test_a_plain_file_goes_before_its_compressed_twin(tmp_path: Path, write_mnist: Writer) -> None:
    write_mnist(tmp_path, compress=True)
    write_mnist(tmp_path)
    found = find(MNIST, tmp_path)
    assert found is not None
    assert {path.suffix for path in found.all} == {""}


def test_a_folder_that_lacks_a_file_is_passed_by(
    tmp_path: Path, write_mnist: Writer, write_cifar10: Writer, write_cifar100: Writer
) -> None:
    (write_mnist(tmp_path / "mnist") / "t10k-labels-idx1-ubyte").unlink()
    (write_cifar10(tmp_path / "cifar-10-batches-bin") / "test_batch.bin").unlink()
    (write_cifar100(tmp_path / "cifar-100-binary") / "train.bin").unlink()
    assert find(MNIST, tmp_path) is find(CIFAR10, tmp_path) is find(CIFAR100, tmp_path) is None
    write_cifar10(tmp_path / "no-batches", batches=0)
    assert find(CIFAR10, tmp_path / "no-batches") is None


def test_batches_come_in_the_order_of_their_numbers(tmp_path: Path, write_cifar10: Writer) -> None:
    found = find(CIFAR10, write_cifar10(tmp_path, batches=11))
    assert found is not None
    assert [path.name for path in found.train] == [f"data_batch_{n}.bin" for n in range(1, 12)]


def test_downloads_go_to_the_first_root(
    tmp_path: Path, empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert download_folder(MNIST) == empty_home / ".cache/untrue/mnist"
    monkeypatch.setenv("UNTRUE_DATA", str(tmp_path / "variable"))
    assert download_folder(MNIST) == tmp_path / "variable/mnist"
    assert download_folder(MNIST, tmp_path / "given") == tmp_path / "given/mnist"
    assert download_folder(MNIST, "~/there") == empty_home / "there/mnist"
