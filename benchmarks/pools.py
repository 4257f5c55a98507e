"""Pools of model outputs to draw calibration sets from: probabilities, labels, and names.

Each is made once by a quick model and kept as an .npz file in a folder. Real data come from files
in the usual places of `untrue data`, or below `--data`; a pool whose files are not there is left
out, with a line that says so.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.errors import DataError, UntrueError

SEED = 7
# Examples of a pool: the truth about a rule is what it does to all of them.
MOST = 20_000
FILTERS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Probabilities (N, k) of a model on examples it has not seen, and their classes (N,)."""

    name: str
    classes: tuple[str, ...]
    probs: FloatArray
    target: IntArray

    @property
    def accuracy(self) -> float:
        return float((self.probs.argmax(axis=1) == self.target).mean())


def pools(folder: Path, data_dir: Path | None, names: Sequence[str]) -> Iterator[Pool]:
    """The pools of these names that can be had, from `folder` or made anew and kept there."""
    for name in names:
        path = folder / f"{name}.npz"
        if not path.exists():
            try:
                probs, target, classes = MAKERS[name](data_dir)
            except (UntrueError, OSError) as error:
                print(f"{name}: left out: {error}", flush=True)
                continue
            folder.mkdir(parents=True, exist_ok=True)
            with (part := path.with_suffix(".partial")).open("wb") as file:
                np.savez_compressed(
                    file, probs=probs.astype(np.float32), target=target, classes=np.array(classes)
                )
            part.replace(path)
        with np.load(path, allow_pickle=False) as kept:
            probs = kept["probs"].astype(np.float64)
            probs /= probs.sum(axis=1, keepdims=True)
            yield Pool(name, tuple(kept["classes"].tolist()), probs, kept["target"])


Made = tuple[FloatArray, IntArray, tuple[str, ...]]


def synthetic(_: Path | None) -> Made:
    """Four classes in the plane, two of them close, of shares .1 .2 .3 .4; a model too sure."""
    rng = np.random.default_rng(SEED)
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    centres = np.array([[0.0, 0.0], [1.8, 0.3], [0.5, 2.6], [2.8, 2.2]])
    target = rng.choice(4, size=MOST, p=shares)
    x = centres[target] + rng.normal(size=(MOST, 2))
    scores = np.log(shares) - ((x[:, None] - centres) ** 2).sum(axis=2) / 2
    scores *= 1.7
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True), target, ("tumour", "cyst", "scar", "benign")


def mnist(data_dir: Path | None) -> Made:
    """Logistic regression on 2,000 digits."""
    from sklearn.linear_model import LogisticRegression

    from untrue.lab.data.dataset import load

    data = load("mnist", data_dir)
    images = data.train_images.reshape(len(data.train_images), -1) / 255.0
    order = np.random.default_rng(SEED).permutation(len(images))
    train, rest = order[:2000], order[2000 : 2000 + MOST]
    model = LogisticRegression(max_iter=200, C=0.1).fit(images[train], data.train_labels[train])
    return model.predict_proba(images[rest]), data.train_labels[rest].astype(np.int64), data.classes


def cifar100(data_dir: Path | None) -> Made:
    """Least squares on whitened random patches (Coates, Ng, 2011), then a softmax of its scores."""
    from untrue.decision import calibrate
    from untrue.lab.data.dataset import load

    data = load("cifar100", data_dir)
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(data.train_images))[:24_000]
    features = _patch_features(data.train_images[order], rng)
    labels = data.train_labels[order].astype(np.int64)
    fit, tune, rest = slice(0, 12_000), slice(12_000, 14_000), slice(14_000, 24_000)
    own = np.hstack([features, np.ones((len(features), 1))])
    gram = own[fit].T @ own[fit]
    gram[np.diag_indices_from(gram)] += 30.0
    weights = np.linalg.solve(gram, own[fit].T @ np.eye(100)[labels[fit]])
    scores = own @ weights
    probs = calibrate(scores[tune], labels[tune])(scores[rest])
    return probs.astype(np.float64), labels[rest], data.classes


def _patch_features(images: npt.NDArray[np.uint8], rng: np.random.Generator) -> FloatArray:
    """Quadrant sums of rectified responses to whitened patches of 6 x 6 pixels."""
    size, stride = 6, 2
    # (N, 3, 32, 32) or (N, 32, 32, 3)
    pixels = images if images.shape[1] == 3 else np.moveaxis(images, -1, 1)
    view = np.lib.stride_tricks.sliding_window_view(pixels, (size, size), axis=(2, 3))
    view = view[:, :, ::stride, ::stride].transpose(0, 2, 3, 1, 4, 5)
    n, across = len(view), view.shape[1]

    def patches(block: npt.NDArray[np.uint8]) -> FloatArray:
        flat = block.reshape(-1, 3 * size * size).astype(np.float64)
        flat -= flat.mean(axis=1, keepdims=True)
        return np.asarray(flat / np.sqrt(flat.var(axis=1, keepdims=True) + 10.0))

    some = patches(view[rng.choice(n, 1000, replace=False)])
    mean = some.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(some.T))
    whiten = vectors @ np.diag(1 / np.sqrt(values + 0.1)) @ vectors.T
    filters = (some[rng.choice(len(some), FILTERS, replace=False)] - mean) @ whiten
    filters /= np.linalg.norm(filters, axis=1, keepdims=True)
    found = np.empty((n, 8 * FILTERS))
    half = across // 2
    for start in range(0, n, 200):
        block = view[start : start + 200]
        response = (((patches(block) - mean) @ whiten) @ filters.T).reshape(
            len(block), across, across, FILTERS
        )
        parts = [
            np.maximum(sign * response[:, rows, columns] - 0.25, 0).sum(axis=(1, 2))
            for sign in (1, -1)
            for rows in (slice(0, half), slice(half, None))
            for columns in (slice(0, half), slice(half, None))
        ]
        found[start : start + 200] = np.hstack(parts)
    spread = found.std(axis=0)
    return np.asarray((found - found.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


KDD_CLASSES = ("normal", "probe", "dos", "u2r", "r2l")
KDD_ATTACKS = {
    "probe": "ipsweep mscan nmap portsweep saint satan",
    "dos": "apache2 back land mailbomb neptune pod processtable smurf teardrop udpstorm",
    "u2r": "buffer_overflow httptunnel loadmodule perl ps rootkit sqlattack xterm",
    "r2l": "ftp_write guess_passwd imap multihop named phf sendmail snmpgetattack snmpguess spy "
    "warezclient warezmaster worm xlock xsnoop",
}


def kdd99(data_dir: Path | None) -> Made:
    """Random forest on half of the test file's connections (KDD Cup 1999), duplicates left out."""
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    from untrue.lab.data.places import roots

    found = [root / "kdd99" / "corrected.gz" for root in roots(data_dir)]
    path = next((path for path in found if path.exists()), None)
    if path is None:
        raise DataError(f"{found[0]} is not there.")
    with gzip.open(path) as file:
        frame = pd.read_csv(file, header=None).drop_duplicates()
    category = {name: c for c, names in KDD_ATTACKS.items() for name in names.split()}
    named = (
        frame.pop(frame.columns[-1]).str.rstrip(".").map(lambda name: category.get(name, "normal"))
    )
    target = named.map(KDD_CLASSES.index).to_numpy()
    inputs = pd.get_dummies(frame, columns=[1, 2, 3]).to_numpy(np.float64)
    order = np.random.default_rng(SEED).permutation(len(inputs))
    train, rest = order[:3000], order[3000 : 3000 + MOST]
    model = RandomForestClassifier(60, max_depth=8, random_state=0).fit(
        inputs[train], target[train]
    )
    return model.predict_proba(inputs[rest]), target[rest], KDD_CLASSES


MAKERS: dict[str, Callable[[Path | None], Made]] = {
    "synthetic": synthetic,
    "mnist": mnist,
    "cifar100": cifar100,
    "kdd99": kdd99,
}
