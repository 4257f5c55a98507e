"""A program: the Keras losses on the backend of KERAS_BACKEND, against those in torch."""

from __future__ import annotations

import sys
from pathlib import Path

import keras
import numpy as np
import torch
from sklearn.datasets import load_digits

import untrue
from untrue import functional
from untrue.errors import ArgumentError
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
        for alpha in (0.0, 0.5, 1.0):
            for z, target in ((logits, classes), (logits, soft), (extreme, np.array([2]))):
                each = theirs(
                    torch.tensor(z, dtype=torch.float64),
                    torch.tensor(target) if target.ndim == 1 else torch.tensor(target).double(),
                    COSTS,
                    alpha=alpha,
                    reduction="none",
                ).numpy()
                close = {"rtol": 1e-6, "atol": 1e-6}
                found = ours(COSTS, alpha=alpha)(target, z)
                np.testing.assert_allclose(keras.ops.convert_to_numpy(found), each.mean(), **close)
                found = ours(COSTS.matrix(), alpha, reduction="none")(target, z)
                np.testing.assert_allclose(keras.ops.convert_to_numpy(found), each, **close)
        column = keras.ops.convert_to_numpy(ours(COSTS)(classes[:, None], logits))
        np.testing.assert_allclose(column, keras.ops.convert_to_numpy(ours(COSTS)(classes, logits)))
        assert np.isnan(keras.ops.convert_to_numpy(ours(COSTS)(np.full(9, 4), logits)))


def what_does_not_fit_is_refused() -> None:
    loss = BilinearLoss(COSTS)
    for target, logits in ((np.zeros(3), np.zeros((2, 4))), (np.zeros(2), np.zeros((2, 3)))):
        try:
            loss(target, logits)
        except ArgumentError:
            continue
        raise AssertionError("accepted")
    same = BilinearLoss(COSTS, from_logits=True)(np.zeros(2), np.zeros((2, 4)))
    assert float(same) == float(loss(np.zeros(2), np.zeros((2, 4))))
    said = ""
    try:
        BilinearLoss(COSTS, from_logits=False)
    except ArgumentError as error:
        said = str(error)
    assert "`from_logits` must be True; got False" in said


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
    what_does_not_fit_is_refused()
    a_model_is_trained_saved_and_loaded(Path(sys.argv[1]))
    print(keras.backend.backend())
