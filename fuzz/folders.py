"""Readers of folders: images, models, stores of results."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import sqlite3
import tempfile
import warnings
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from fuzz import values
from fuzz.files import Target, check, csv_text, use_source
from untrue import Penalty
from untrue.lab import store as stores
from untrue.lab.records import DatasetInfo, Provenance, RunConfig, RunResult, Setup, Sweep
from untrue.tools.fitting.fit import fit
from untrue.tools.fitting.model_folder import load_model, save_model
from untrue.tools.fitting.predict import predict
from untrue.tools.reading.opening import open_source
from untrue.training import Settings

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF") * 8 + ("PPM", "TGA", "EPS")
MODES = ("L", "RGB", "RGBA", "1", "P", "I;16", "F", "CMYK", "LA")
FOLDERS = ("cat", "dog", "bird", "naïve", "a\nb", "caf\udce9", "x" * 200)
CLASSES = ["a", "b", "c"]


def images(rng: Random, place: Path) -> None:
    """A folder of images by class, with what else may lie there."""
    root = place / "images"
    root.mkdir()
    picked = list(FOLDERS[:3]) if rng.random() < 0.8 else rng.sample(FOLDERS, 3)
    for name in picked[: rng.choice([1, *[2, 3] * 6])]:
        folder = root / name
        folder.mkdir()
        for i in range(rng.choice([0, *[1, 2, 4] * 8])):
            picture(rng, folder / rng.choice([f"{i}.png", f"{i}.png", f"{i}", "caf\udce9.png"]))
    if rng.random() < 0.2:
        _clutter(rng, root)
    use_source(open_source(root, image_size=rng.choice([*[None, 4, 9] * 4, 3, 10**9])))


def picture(rng: Random, path: Path) -> None:
    size = rng.choice([(1, 1), (5, 7), (16, 16), (3, 400)])
    kind = rng.choice(FORMATS)
    if kind != "EPS":
        drawn = io.BytesIO()
        Image.new("RGB", size).save(drawn, format=kind)
        with suppress(OSError, KeyError, ValueError):  # not every format has every mode
            other = io.BytesIO()
            Image.new(rng.choice(MODES), size).save(other, format=kind)
            drawn = other
    content = b"%!PS-Adobe-3.0 EPSF-3.0\n" if kind == "EPS" else drawn.getvalue()
    path.write_bytes(values.spoilt(rng, content, 0.05))


def _clutter(rng: Random, root: Path) -> None:
    """A link, a pipe or a file where none belongs."""
    folder = rng.choice(sorted(path for path in root.iterdir() if path.is_dir()))
    path = rng.choice([root, folder]) / rng.choice(["zzz", "zzz.png"])
    kind = rng.choice(["link", "link", "pipe", "text", "empty", "folder"])
    if kind == "link":
        path.symlink_to(rng.choice(["..", ".", "zzz", "0.png", "/", "../dog", "nowhere"]))
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("not an image" if kind == "text" else "")


def model(rng: Random, place: Path) -> None:
    """A model folder, damaged or resealed around a change, loaded and asked."""
    folder = place / "model"
    write_model(folder, rng.choice(["linear", "lightgbm", "xgboost"]))
    file = rng.choice(sorted(folder.iterdir()))
    content = file.read_bytes()
    if rng.random() < 0.2 or file.suffix != ".json":
        file.write_bytes(values.mutated(rng, content))
    else:
        file.write_text(values.json_text(values.changed(rng, json.loads(content))))
    if rng.random() < 0.8:
        reseal(folder)
    loaded = load_model(folder)
    path = place / "new.csv"
    rows = [["x", "y", "city"], *(_row(rng) for _ in range(5))]
    path.write_bytes(csv_text(Random(0), rows))
    found = predict(loaded, path)
    check(bool(np.isfinite(found.probs).all()), "probabilities that are not finite")
    np.testing.assert_allclose(found.probs.sum(axis=1), 1.0, atol=1e-6)


def _row(rng: Random) -> list[str]:
    odd = rng.choice(["", "1e30", "-1e99", "0", "1e-300"])
    return [rng.choice([odd, "1.5"]), "2", rng.choice(["Rome", "Oslo", "new"])]


def write_model(folder: Path, kind: str = "linear") -> None:
    """A small model; "linear", "lightgbm" or "xgboost"."""
    folder.mkdir()
    for name, content in _fitted(kind).items():
        (folder / name).write_bytes(content)


@functools.cache
def _fitted(kind: str) -> dict[str, bytes]:
    """The files of a model, made once in a process."""
    rng = Random(0)
    rows = [["x", "y", "city", "kind"]]
    for i in range(90):
        city = rng.choice(["Rome", "Oslo"])
        rows.append([f"{rng.gauss(i % 3, 1):.3f}", f"{rng.gauss(0, 1):.3f}", city, CLASSES[i % 3]])
    steps: dict[str, Any] = {"epochs": 1} if kind == "linear" else {"rounds": 3}
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(place) / "data.csv"
        path.write_bytes(csv_text(Random(0), rows))
        costs = Penalty.from_rules(CLASSES, {("a", "b"): 5.0})
        found = fit(path, penalty=costs, target="kind", model=kind, baseline=False, **steps)
        saved = save_model(Path(place) / "model", found.model, metrics={"error": 0.5})
        return {file.name: file.read_bytes() for file in saved.iterdir()}


def reseal(folder: Path) -> None:
    """Put all checksums right, as whoever changes a model on purpose would."""
    file = folder / "model.json"
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        content = json.loads(file.read_text())
        content.pop("checksum", None)
        content["files"] = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.iterdir())
            if path.name != file.name
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
        file.write_text(json.dumps(content))


def store(rng: Random, place: Path) -> None:
    """The results of a sweep, with bytes or cells changed: read, and what is damaged named."""
    path = place / stores.FILE
    path.write_bytes(stored())
    if rng.random() < 0.4:
        path.write_bytes(values.mutated(rng, path.read_bytes()))
    else:
        _change_cell(rng, path)
    with stores.Store.read(place) as opened:
        for sweep in opened.sweeps():
            for result in opened.results(sweep):
                check(bool((result.confusion >= 0).all()), "negative counts")
        opened.damaged()
        opened.status()


def _change_cell(rng: Random, path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, suppress(sqlite3.Error):
        tables = [row[0] for row in db.execute("select name from sqlite_master where type='table'")]
        table = rng.choice(sorted(tables))
        columns = [row[1] for row in db.execute(f"pragma table_info({table})")]
        value = rng.choice([None, 1, 1.5, values.name(rng), rng.randbytes(9), "{}", "[]", 2**62])
        where = f"rowid in (select rowid from {table} limit {rng.randint(1, 3)})"
        db.execute(f"update {table} set {rng.choice(columns)} = ? where {where}", (value,))
        db.commit()


@functools.cache
def stored() -> bytes:
    """A store of two runs, one of them failed."""
    setup = Setup("tiny", "digits", Settings(epochs=2))
    config = RunConfig(setup, seed=0)
    made = Provenance(1.5, "2024-01-01T00:00:00+00:00", "cpu", 1, "one core", (("torch", "2"),))
    good = RunResult(config, "ok", made, np.array([[4, 1], [2, 3]]), train_losses=(0.9, 0.3))
    other = RunConfig(setup, seed=1)
    bad = RunResult(other, "failed", made, np.zeros((0, 0), np.int64), error="it broke")
    with tempfile.TemporaryDirectory() as folder:
        with stores.Store.write(folder) as opened:
            opened.add_dataset(DatasetInfo("tiny", ("a", "b"), (), "abc", 20, 10))
            opened.add_sweep(Sweep("demo", "tiny", "smoke", "untrue run", 2, (config, other)))
            for result in (good, bad):
                opened.add(result)
        return (Path(folder) / stores.FILE).read_bytes()


TARGETS: dict[str, tuple[Target, int]] = {
    "images": (images, 6),
    "model": (model, 6),
    "store": (store, 4),
}
