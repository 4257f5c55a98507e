"""Images and single probabilities are decided, calibrated and counted as their rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from untrue import Penalty, Temperature, calibrate, decide, metrics, posterior
from untrue.errors import ArgumentError, DataError

COSTS = Penalty.from_rules(3, {(2, 0): 20.0})
TWO = Penalty.from_rules(["no", "yes"], {("yes", "no"): 4.0})


def pixels(seed: int = 0) -> tuple[Any, Any]:
    """Logits (2, 3, 4, 5) and classes (2, 4, 5)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, 3, 4, 5)), rng.integers(0, 3, (2, 4, 5))


def softmax(logits: Any, dim: int) -> Any:
    return torch.from_numpy(logits).softmax(dim).numpy()


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_an_image_is_decided_pixel_by_pixel(kind: Any) -> None:
    probs = softmax(pixels()[0], 1)
    rows = np.moveaxis(probs, 1, -1).reshape(-1, 3)
    expected = decide(rows, COSTS, 0.9).reshape(2, 4, 5)
    found = decide(kind(probs), COSTS, 0.9)
    assert type(found) is type(kind(probs))
    np.testing.assert_array_equal(np.asarray(found), expected)
    last = np.ascontiguousarray(np.moveaxis(probs, 1, -1))
    np.testing.assert_array_equal(np.asarray(decide(kind(last), COSTS, 0.9, dim=-1)), expected)


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_posteriors_of_an_image_keep_its_layout(kind: Any) -> None:
    probs = softmax(pixels()[0], 1)
    rows = np.moveaxis(probs, 1, -1).reshape(-1, 3)
    expected = posterior(rows, COSTS, 0.2).reshape(2, 4, 5, 3)
    found = posterior(kind(probs), COSTS, 0.2)
    np.testing.assert_allclose(np.asarray(found), np.moveaxis(expected, -1, 1))


def test_an_image_is_calibrated_and_counted() -> None:
    logits, target = pixels()
    rows, flat = np.moveaxis(logits, 1, -1).reshape(-1, 3), target.reshape(-1)
    # So that there is something to find out.
    logits[:, 0] += 3 * (target == 0)
    rows = np.moveaxis(logits, 1, -1).reshape(-1, 3)
    found = calibrate(logits, target)
    assert found == calibrate(rows, flat) == calibrate(torch.from_numpy(logits), target)
    probs = np.moveaxis(found(rows).reshape(2, 4, 5, 3), -1, 1)
    np.testing.assert_allclose(found(logits, dim=1), probs)
    np.testing.assert_allclose(found(torch.from_numpy(logits), dim=1).numpy(), probs)
    predicted = decide(probs, COSTS)
    cm = metrics.confusion_matrix(target, predicted, 3)
    np.testing.assert_array_equal(cm, metrics.confusion_matrix(flat, predicted.ravel(), 3))
    assert metrics.confusion_cells(target, predicted, 3).total == 40


def test_what_is_ignored_is_neither_calibrated_on_nor_counted() -> None:
    logits, target = pixels()
    logits[:, 0] += 3 * (target == 0)
    kept = np.random.default_rng(1).random(target.shape) < 0.6
    marked = np.where(kept, target, 255)
    rows = np.moveaxis(logits, 1, -1)[kept]
    assert calibrate(logits, marked, ignore_index=255) == calibrate(rows, target[kept])
    predicted = logits.argmax(1)
    np.testing.assert_array_equal(
        metrics.confusion_matrix(marked, predicted, 3, ignore_index=255),
        metrics.confusion_matrix(target[kept], predicted[kept], 3),
    )
    with pytest.raises(ValueError, match=r"`true` must lie in \[0, 3\).*got 255 at position"):
        metrics.confusion_matrix(marked, predicted, 3)


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_probability_a_row_is_that_of_the_second_class(kind: Any, dtype: Any) -> None:
    second = np.random.default_rng(0).random(50).astype(dtype)
    both = np.stack([1 - second.astype(np.float64), second], axis=1)
    expected = decide(both, TWO)
    for shape, options in (((50,), {}), ((50, 1), {}), ((5, 2, 5), {"binary": True})):
        found = decide(kind(second.reshape(shape)), TWO, **options)
        assert tuple(found.shape) == (shape if options else (50,))
        assert np.asarray(found).ravel().tolist() == expected.tolist()
    found = posterior(kind(second), TWO, 0.3)
    np.testing.assert_allclose(np.asarray(found), posterior(both, TWO, 0.3)[:, 1], rtol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_one_logit_a_row_is_calibrated(kind: Any) -> None:
    rng = np.random.default_rng(0)
    logit = rng.normal(size=400) * 4
    target = (rng.random(400) < 1 / (1 + np.exp(-logit / 2))).astype(np.int64)
    found = calibrate(kind(logit), kind(target), binary=True)
    assert found == calibrate(np.stack([0 * logit, logit], axis=1), target)
    assert found.temperature == pytest.approx(2.0, rel=0.3)
    probs = found(kind(logit), binary=True)
    np.testing.assert_allclose(np.asarray(probs), 1 / (1 + np.exp(-logit / found.temperature)))
    single = Temperature(2.0)(kind(logit.astype(np.float32)), binary=True)
    assert "float32" in str(single.dtype)


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((3,), {}, r"must have shape \(N, k\); got shape \(3,\); write probs\[None\]"),
        ((2, 4, 3), {}, r"one column for each of 3 classes; got 4 in dimension 1 .*dim=2 has as"),
        ((2, 4), {}, "one column for each of 3 classes; got 4"),
        ((2, 3), {"dim": 2}, r"`dim` must be a dimension of `probs`, of shape \(2, 3\); got 2"),
        ((2, 3), {"binary": True}, "`binary` is about two classes, but there are 3"),
        ((), {}, r"must have shape \(N, k\); got shape \(\)"),
    ],
)
def test_layouts_that_do_not_fit_are_named(
    kind: Any, shape: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        decide(kind(np.full(shape, 1 / 3)), COSTS, **options)


def test_logits_of_one_number_each_ask_for_binary() -> None:
    with pytest.raises(ArgumentError, match=r"got shape \(2,\); write .*, or set `binary` if"):
        calibrate(np.zeros(2), [0, 1])


def test_labels_must_have_the_shape_of_the_examples() -> None:
    logits, target = pixels()
    with pytest.raises(ArgumentError, match=r"`target` must have one entry .*\(2, 4, 5\); got sh"):
        calibrate(logits, target.reshape(2, 20))
    with pytest.raises(ArgumentError, match=r"`predicted` must have one entry for each example"):
        metrics.confusion_matrix(target, target.reshape(2, 20), 3)


def test_tables_go_by_the_names_of_their_columns() -> None:
    penalty = Penalty.from_rules(["z", "b", "m"], {("z", "b"): 3.0})
    probs = np.eye(3) * 0.7 + 0.1
    order = [2, 0, 1]
    names = [penalty.classes[i] for i in order]
    plain = decide(probs, penalty)
    for table in (
        pd.DataFrame(probs[:, order], columns=names),
        pd.DataFrame(probs[:, order], columns=[f"prob_{name}" for name in names]),
        pa.table(dict(zip(names, probs[:, order].T, strict=True))),
        pd.DataFrame(probs),
    ):
        np.testing.assert_array_equal(decide(table, penalty), plain)
        np.testing.assert_allclose(posterior(table, penalty, 0.3), posterior(probs, penalty, 0.3))
    for columns in (["z", "m", "w"], ["b", "z", "M"], ["x", "y", "w"]):
        with pytest.raises(ArgumentError, match="no column of the class"):
            decide(pd.DataFrame(probs, columns=columns), penalty)
    with pytest.raises(ArgumentError, match="more columns than the classes"):
        decide(pd.DataFrame(np.c_[probs, probs[:, 0]], columns=[*"zbm", "id"]), penalty)
    with pytest.raises(ArgumentError, match="more columns than the classes"):
        decide(pd.DataFrame(np.c_[probs, probs[:, 0]], columns=[*"zbmz"]), penalty)


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_tables_of_nullable_numbers_are_numbers(backend: Any) -> None:
    table = pd.DataFrame({"yes": [0.3, 0.1, 0.0], "no": [0.7, 0.9, 1.0]})
    nullable = table.convert_dtypes(dtype_backend=backend)
    assert decide(nullable, TWO).tolist() == decide(table, TWO).tolist() == [1, 0, 0]
    np.testing.assert_array_equal(TWO.expected(nullable), TWO.expected(table))
    np.testing.assert_array_equal(Temperature(2.0)(nullable), Temperature(2.0)(table))
    assert metrics.ece(nullable, [0, 1, 1]) == metrics.ece(table, [0, 1, 1])
    gap = nullable.copy()
    gap.iloc[1, 0] = pd.NA
    for refused in (lambda: decide(gap, TWO), lambda: metrics.ece(gap, [0, 1, 1])):
        with pytest.raises(DataError, match="`probs` must hold numbers; row 1 holds <NA>"):
            refused()
    with pytest.raises(DataError, match="`logits` must hold numbers; row 1 holds <NA>"):
        Temperature(2.0)(gap)
    with pytest.raises(DataError, match="`probs` must hold numbers; row 0 holds '"):
        decide(table.astype(str).astype(object), TWO)


@pytest.mark.parametrize("prefix", ["", "prob_", "p_"])
def test_names_of_classes_may_begin_like_those_of_columns(prefix: str) -> None:
    penalty = Penalty.from_rules(["p_no", "p_yes"], {("p_yes", "p_no"): 4.0})
    table = pd.DataFrame({f"{prefix}p_yes": [0.3, 0.1], f"{prefix}p_no": [0.7, 0.9]})
    assert decide(table, penalty).tolist() == [1, 0]


def test_columns_called_0_1_2_are_those_of_the_classes_called_so() -> None:
    penalty = Penalty.from_groups({"even": ["0", "2"], "odd": ["1"]})
    probs = np.array([[0.1, 0.8, 0.1], [0.7, 0.2, 0.1]])  # those of 0, 1 and 2
    for columns in (["0", "1", "2"], ["prob_0", "prob_1", "prob_2"]):
        found = decide(pd.DataFrame(probs, columns=columns), penalty)
        assert [penalty.classes[i] for i in found] == ["1", "0"]
    with pytest.raises(ArgumentError, match=r"numbered 0, 1, 2, .* classes 0, 2, 1 or"):
        decide(pd.DataFrame(probs), penalty)
    single = Penalty.from_ordinal(["1", "0"])  # one column is that of the second class
    assert decide(pd.DataFrame({"p": [0.9, 0.2]}), single).tolist() == [1, 0]
