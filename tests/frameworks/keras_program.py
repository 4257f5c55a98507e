"""A program: the Keras losses on the backend of KERAS_BACKEND, against those in torch."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import untrue
from untrue import functional
from untrue.errors import UntrueError
from untrue.keras import BilinearLoss, LogBilinearLoss

PAIRS = ((BilinearLoss, functional.bilinear_loss), (LogBilinearLoss, functional.log_bilinear_loss))
COSTS = untrue.Penalty.from_rules(["a", "b", "c", "d"], {("a", "d"): 7.0, ("c", "a"): 0.5})


def losses_are_those_in_torch() -> None:
    draw = np.random.default_rng(0)
    logits = (draw.normal(size=(9, 4)) * 3).astype(np.float32)
    extreme = np.array([[90.0, 0.0, -90.0, 1.0]], dtype=np.float32)
    classes = draw.integers(0, 4, 9)
    soft = draw.dirichlet(np.ones(4), 9).astype(np.float32)
    for ours, theirs in PAIRS:
        for alpha, smoothing in ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.5, 0.2)):
            for z, target in ((logits, classes), (logits, soft), (extreme, np.array([2]))):
                each = theirs(
                    torch.tensor(z, dtype=torch.float64),
                    torch.tensor(target) if target.ndim == 1 else torch.tensor(target).double(),
                    COSTS,
                    alpha=alpha,
                    reduction="none",
                    label_smoothing=smoothing,
                ).numpy()
                close = {"rtol": 1e-6, "atol": 1e-6}
                found = ours(COSTS, alpha=alpha, label_smoothing=smoothing)(target, z)
                np.testing.assert_allclose(keras.ops.convert_to_numpy(found), each.mean(), **close)
                options = {"label_smoothing": smoothing, "reduction": "none"}
                found = ours(COSTS.matrix(), alpha, **options)(target, z)
                np.testing.assert_allclose(keras.ops.convert_to_numpy(found), each, **close)
        column = keras.ops.convert_to_numpy(ours(COSTS)(classes[:, None], logits))
        np.testing.assert_allclose(column, keras.ops.convert_to_numpy(ours(COSTS)(classes, logits)))
        assert np.isnan(keras.ops.convert_to_numpy(ours(COSTS)(np.full(9, 4), logits)))


def masked_classes_cost_nothing_and_break_nothing() -> None:
    """What has no share, at alpha 0 or 1, may be infinite; what costs nothing adds nothing."""
    inf, number = float("inf"), keras.ops.convert_to_numpy
    masked = np.array([[0.0, 1.0, -inf, 2.0], [3.0, -inf, -inf, -inf]], dtype=np.float32)
    p = np.exp(masked - masked.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    free = untrue.Penalty.from_rules(["a", "b", "c", "d"], {("b", "c"): 2.0}, default=0.0)
    for ours, _ in PAIRS:
        for penalty, classes in ((COSTS, [1, 0]), (free, [1, 0]), (free, [2, 2])):
            rows = penalty.matrix()[classes]
            with np.errstate(all="ignore"):
                charged = p if ours is BilinearLoss else -np.log(1 - p)
                term = np.where(rows == 0, 0.0, rows * charged).sum(1)
                ce = -np.log(p[[0, 1], classes])
            mixed = {0.0: ce, 0.5: 0.5 * ce + 0.5 * term, 1.0: term}
            for alpha, wanted in mixed.items():
                for target in (np.array(classes), np.eye(4, dtype=np.float32)[classes]):
                    found = number(ours(penalty, alpha, reduction="none")(target, masked))
                    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def indices_that_are_no_class_are_nan() -> None:
    for target in (-1.0, 4.0, 0.7, float("nan")):
        found = BilinearLoss(COSTS)(np.array([target]), np.zeros((1, 4)))
        assert np.isnan(keras.ops.convert_to_numpy(found)), target


def halves_hold_every_class() -> None:
    """Keras brings class indices to the loss's own type, and in bfloat16 class 257 is class 256."""
    penalty = untrue.Penalty.from_ordinal(300)
    logits = np.random.default_rng(0).normal(size=(2, 300)).astype(np.float32)
    target = np.array([257, 299])
    wanted = keras.ops.convert_to_numpy(BilinearLoss(penalty)(target, logits))
    for dtype in ("bfloat16", "float16"):
        found = BilinearLoss(penalty, dtype=dtype)(target, logits)
        np.testing.assert_allclose(keras.ops.convert_to_numpy(found), wanted, rtol=1e-6)


def a_loss_is_as_it_was_after_its_config() -> None:
    options = {"reduction": "sum", "name": "costs", "dtype": "float64", "label_smoothing": 0.1}
    loss = LogBilinearLoss(COSTS, 0.25, **options)
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    for name in ("alpha", *options):
        assert getattr(again, name) == getattr(loss, name), name
    assert again.penalty.classes == COSTS.classes


def what_does_not_fit_is_refused() -> None:
    loss, zeros = BilinearLoss(COSTS), np.zeros((2, 4))
    each = {
        "`y_true` must be class indices of shape (2,) or prob": lambda: loss(np.zeros(3), zeros),
        "is for 4 classes, but `y_pred` has shape (2, 3)": lambda: loss(zeros[0], zeros[:, :3]),
        "is for 4 classes, but `y_pred` has shape ()": lambda: loss(0, 0.0),
        "`label_smoothing` must lie in [0, 1]": lambda: BilinearLoss(COSTS, label_smoothing=2),
        "`from_logits` must be True; got False": lambda: BilinearLoss(COSTS, from_logits=False),
        "got an ExamplePenalty": lambda: BilinearLoss(COSTS.per_example({("a", "b"): [1.0]})),
        "is a table; got 'costs.toml'": lambda: BilinearLoss("costs.toml"),
    }
    for message, wrong in each.items():
        with pytest.raises(UntrueError, match=re.escape(message)):
            wrong()
    same = BilinearLoss(COSTS, from_logits=True)(np.zeros(2), zeros)
    assert float(same) == float(loss(np.zeros(2), zeros))


def weights_are_those_of_keras() -> None:
    """Weights of examples and of classes, in training, in mixed precision and without examples."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 3)).astype(np.float32), rng.integers(0, 4, 8)
    weights = rng.random(8)
    keras.config.set_dtype_policy("mixed_float16")
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(4)])
    keras.config.set_dtype_policy("float32")
    model.compile(keras.optimizers.SGD(0.0), loss=BilinearLoss(COSTS, reduction="sum"))
    logits = keras.ops.convert_to_numpy(model(x)).astype(np.float32)
    each = keras.ops.convert_to_numpy(BilinearLoss(COSTS, reduction="none")(y, logits))
    how = {"epochs": 1, "batch_size": 8, "verbose": 0, "shuffle": False}
    by_class = {0: 1.0, 1: 3.0, 2: 0.5, 3: 2.0}
    for given, wanted in (
        ({"sample_weight": weights}, weights),
        ({"class_weight": by_class}, np.array([by_class[c] for c in y])),
    ):
        found = model.fit(x, y, **how, **given).history["loss"][0]
        # Keras reports the loss as a mean over the examples of a batch.
        np.testing.assert_allclose(found, (each * wanted).sum(), rtol=1e-3)
    none = BilinearLoss(COSTS, reduction="sum")(np.zeros(0), np.zeros((0, 4)))
    assert float(keras.ops.sum(none)) == 0.0


def a_model_is_trained_saved_and_loaded(folder: Path) -> None:
    digits = load_digits()
    x, y = (digits.data / 16.0).astype(np.float32), digits.target
    costs = untrue.Penalty.from_rules(10, {(4, 9): 20.0})
    for ours, _ in PAIRS:
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.layers.Input((64,)), keras.layers.Dense(10)])
        model.compile(
            keras.optimizers.Adam(0.01), loss=ours(costs, alpha=0.3), metrics=["accuracy"]
        )
        history = model.fit(x, y, epochs=8, batch_size=64, verbose=0).history
        assert history["loss"][-1] < history["loss"][0] / 2, history
        assert history["accuracy"][-1] > 0.85, history
        path = folder / f"{ours.__name__}.keras"
        model.save(path)
        again = keras.saving.load_model(path)
        assert again.loss.penalty == untrue.Penalty.from_matrix(costs.matrix(), costs.classes)
        assert again.loss.alpha == 0.3
        assert again.evaluate(x, y, verbose=0) == model.evaluate(x, y, verbose=0)


if __name__ == "__main__":
    losses_are_those_in_torch()
    masked_classes_cost_nothing_and_break_nothing()
    indices_that_are_no_class_are_nan()
    halves_hold_every_class()
    a_loss_is_as_it_was_after_its_config()
    what_does_not_fit_is_refused()
    weights_are_those_of_keras()
    a_model_is_trained_saved_and_loaded(Path(sys.argv[1]))
    print(keras.backend.backend())
