"""A data set by name: what is read, and what is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from untrue.errors import ArgumentError, DataError
from untrue.lab.data import NAMES, load, names, sources

Writer = Callable[..., Path]


def test_mnist_comes_as_bytes_and_positions(tmp_path: Path, write_mnist: Writer) -> None:
    write_mnist(tmp_path / "mnist", compress=True)
    data = load("mnist", tmp_path)
    assert data.name == "mnist"
    assert data.train_images.shape == (30, 1, 28, 28)
    assert data.test_images.shape == (20, 1, 28, 28)
    assert data.train_images[7].min() == data.train_images[7].max() == 7
    assert data.train_labels.tolist() == [n % 10 for n in range(30)]
    assert data.train_labels.dtype == np.int64
    assert data.classes == tuple("0123456789")
    assert data.hierarchy is None


def test_fashion_mnist_has_names(tmp_path: Path, write_mnist: Writer) -> None:
    write_mnist(tmp_path / "fashion-mnist")
    data = load("fashion-mnist", tmp_path)
    assert data.classes[9] == "Ankle boot"
    assert data.n_classes == 10


@pytest.mark.parametrize("batches", [1, 2, 5, 12])
def test_cifar10_comes_in_any_number_of_batches(
    tmp_path: Path, write_cifar10: Writer, batches: int
) -> None:
    write_cifar10(tmp_path / "cifar-10-batches-bin", batches=batches)
    data = load("cifar10", tmp_path)
    assert data.train_images.shape == (10 * batches, 3, 32, 32)
    assert data.train_labels.tolist() == [n % 10 for n in range(1, batches + 1) for _ in range(10)]
    assert data.train_images[3, :, 9, 9].tolist() == [1, 2, 3]
    assert data.train_images[3, 0, 0, 0] == 3
    assert data.classes[3] == "cat"


def test_cifar100_brings_its_hierarchy(tmp_path: Path, write_cifar100: Writer) -> None:
    write_cifar100(tmp_path / "cifar-100-binary")
    data = load("cifar100", tmp_path)
    tree = data.hierarchy
    assert tree is not None
    assert tree.classes == data.classes == names.CIFAR100
    assert tree.height("bear", "wolf") == 1
    assert tree.height("bear", "bed") == 2
    assert data.train_labels.tolist() == list(range(100))
    assert data.test_labels.tolist() == list(range(99, -1, -1))


def test_cifar100_has_twenty_super_classes_of_five() -> None:
    assert len(names.CIFAR100) == len(set(names.CIFAR100)) == 100
    assert np.bincount(names.CIFAR100_COARSE).tolist() == [5] * 20
    assert names.CIFAR100_COARSE[names.CIFAR100.index("wolf")] == 8


def test_a_coarse_label_that_contradicts_the_fine_one_is_refused(
    tmp_path: Path, write_cifar100: Writer
) -> None:
    path = write_cifar100(tmp_path) / "test.bin"
    content = bytearray(path.read_bytes())
    content[2 * 3074] = 19
    path.write_bytes(content)
    with pytest.raises(
        DataError, match=r"test.bin is corrupt: image 2 \(byte 6,148\) has coarse label 19, but"
    ):
        load("cifar100", tmp_path)


def test_labels_out_of_range_are_refused_with_their_byte(
    tmp_path: Path, write_cifar10: Writer, write_mnist: Writer
) -> None:
    path = write_cifar10(tmp_path / "c") / "data_batch_2.bin"
    content = bytearray(path.read_bytes())
    content[4 * 3073] = 10
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"data_batch_2.bin is .*image 4 has 10 \(byte 12,292\)"):
        load("cifar10", tmp_path / "c")
    path = write_mnist(tmp_path / "m") / "t10k-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(DataError, match=r"t10k-labels.*below 10; image 19 has 255 \(byte 27\)"):
        load("mnist", tmp_path / "m")


def test_images_and_labels_must_be_as_many(tmp_path: Path, write_mnist: Writer) -> None:
    folder = write_mnist(tmp_path)
    labels = (folder / "t10k-labels-idx1-ubyte").read_bytes()
    (folder / "train-labels-idx1-ubyte").write_bytes(labels)
    with pytest.raises(DataError, match=r"train-images.* holds 30 images, .*train-labels.* 20 la"):
        load("mnist", tmp_path)


def test_images_of_another_size_are_refused(tmp_path: Path, write_mnist: Writer) -> None:
    path = write_mnist(tmp_path) / "train-images-idx3-ubyte"
    head = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4, "big") for n in (30, 32, 32))
    path.write_bytes(head + bytes(30 * 32 * 32))
    with pytest.raises(DataError, match=r"images of mnist are 28 x 28; got 32 x 32"):
        load("mnist", tmp_path)


def test_mnist_is_not_taken_for_fashion_mnist(
    tmp_path: Path, write_mnist: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have files of the same names, and the root itself is searched for both."""
    folder = write_mnist(tmp_path, compress=True)
    plain = write_mnist(tmp_path / "plain") / "train-labels-idx1-ubyte"
    digest = hashlib.sha256(plain.read_bytes()).hexdigest()
    known = {**sources.MNIST.contents, plain.name: digest}
    monkeypatch.setitem(sources.FILES, "mnist", replace(sources.MNIST, contents=known))
    with pytest.raises(DataError, match=r"train-labels.*gz belongs to mnist, not to fashion-mnist"):
        load("fashion-mnist", folder)
    assert load("mnist", folder).n_classes == 10


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ArgumentError, match=r"Unknown data set 'cifar-10'; did you mean 'cifar10'"):
        load("cifar-10")
    with pytest.raises(ArgumentError, match=r"'imagenet'\. There are digits, mnist-5k, .* german"):
        load("imagenet")
    assert len(NAMES) == 8


def test_mnist_5k_is_what_it_was_when_it_was_compared_with_mnist() -> None:
    """All of its 5,000 images are among MNIST's 70,000; a wheel with others would show here."""
    data = load("mnist-5k")
    digest = hashlib.sha256()
    for part in (data.train_images, data.train_labels, data.test_images, data.test_labels):
        digest.update(part.tobytes())
    assert digest.hexdigest() == "6de4d12126b55a6d25dcb50dbc9eb3b90af00490286d8d6afe17dea2d4b4b459"
