"""A model on disk, in formats that are data: loading it runs no code.

model.json           what it is, and the name and SHA-256 of every other file
weights.safetensors  a network's numbers; or booster.txt, booster.json: boosted trees
preprocessing.json   how data become inputs
penalty.json         what mistakes cost
decision.json        the costs it decides by, where it does (`untrue tune`)
costs.json           costs by columns of the data, where they are; penalty.json has their means
trained.json         the costs it was trained by, where they are others (`untrue tune`)
metrics.json         how it did on the test part
page.html            the same to look at
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import untrue
from untrue.atomic_files import check_can_make, folder_beside, put_in_place, restore
from untrue.errors import ArgumentError, DataError, PenaltyError, UntrueWarning
from untrue.input_files import read_json, reading
from untrue.penalty import FormulaPenalty, Penalty
from untrue.penalty.files import load_any
from untrue.tools.fitting.learners import load_predictor
from untrue.tools.fitting.link import Link
from untrue.tools.fitting.model import Model
from untrue.tools.reading.codes import TableCodes
from untrue.tools.reading.images import ImagePreprocessing
from untrue.tools.reading.preprocess import TablePreprocessing
from untrue.tools.writing import plain

# Counts up when an older program could no longer read what is written.
FORMAT = 1
CHECKED = ("preprocessing.json", "penalty.json")
DECISION = "decision.json"
COSTS = "costs.json"
TRAINED = "trained.json"
MODEL = "model.json"
PREPROCESSING: dict[str, type[TablePreprocessing | TableCodes | ImagePreprocessing]] = {
    "table": TablePreprocessing,
    "codes": TableCodes,
    "images": ImagePreprocessing,
}
# The kinds of data, each with the preprocessing it may have.
KINDS: dict[str, tuple[type, ...]] = {
    "table": (TablePreprocessing, TableCodes),
    "npz table": (TablePreprocessing, TableCodes),
    "images": (ImagePreprocessing,),
    "npz images": (ImagePreprocessing,),
}


def check_target(folder: Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """The place is free, or a model that may be replaced: asked before any training.

    inputs: files and folders that are read; the model must not take the place of one.
    """
    restore(folder)
    if folder.is_symlink():
        raise ArgumentError(
            f"{folder} is a link to {folder.readlink()}; name the folder itself, or another."
        )
    if not folder.exists():
        check_can_make(folder)
        return
    if not folder.is_dir():
        raise ArgumentError(f"{folder} is a file; name a folder for the model.")
    whole = folder.resolve()
    if Path.cwd().is_relative_to(whole):
        raise ArgumentError(
            f"{folder} is the working directory or holds it; name a folder for the model alone."
        )
    for given in inputs:
        if given.resolve() == whole:
            raise ArgumentError(f"{folder} is itself what is read; name another folder.")
        if given.resolve().is_relative_to(whole):
            raise ArgumentError(f"{folder} holds {given}, which is read; name another folder.")
    if not any(folder.iterdir()):
        return
    foreign = foreign_file(folder)
    if foreign is not None:
        raise ArgumentError(
            f"{folder} holds a file that is no part of a model as it was written: {foreign}; name "
            "another folder."
        )
    if not overwrite:
        raise ArgumentError(
            f"{folder} holds a model already; add --overwrite (`overwrite=True`) to replace it, or "
            "name another folder."
        )


def foreign_file(folder: Path) -> Path | None:
    """A file in the folder that is not one of a model as it was written, by name and content."""
    try:
        written = _read_description(folder)["files"]
    except DataError:
        return min(folder.iterdir(), default=None)
    for file in sorted(folder.iterdir()):
        if file.is_symlink() or not file.is_file():
            return file
        if file.name != MODEL and written.get(file.name) != _digest(file.read_bytes()):
            return file
    return None


def _free_place(folder: Path) -> Path:
    """The folder, or where others put files into it since it was checked, one beside it."""
    foreign = foreign_file(folder) if folder.exists() else None
    if foreign is None:
        return folder
    numbered = (folder.with_name(f"{folder.name}-{n}") for n in itertools.count(2))
    free = next(path for path in numbered if not path.exists())
    warnings.warn(
        f"{foreign} is no part of the model that was in {folder}, which is left as it is: the new "
        f"model is in {free}",
        UntrueWarning,
        stacklevel=3,
    )
    return free


def save_model(
    folder: Path,
    model: Model,
    *,
    metrics: Mapping[str, Any] | None = None,
    extra: Callable[[Path], object] | None = None,
) -> Path:
    """Write the folder under a temporary name and move it into place: the folder written.

    A model that was there is replaced; where anything else is in the folder, the new one goes
    beside it.

    extra: called with the temporary folder, to put more files there (the page).
    """
    predictor = model.predictor
    with folder_beside(folder) as inside:
        (inside / predictor.file).write_bytes(predictor.content())
        _write_json(inside / "preprocessing.json", model.preprocessing.as_json())
        model.penalty.save(inside / "penalty.json")
        if model.decision is not None:
            model.decision.save(inside / DECISION)
        if model.costs is not None:
            model.costs.save(inside / COSTS)
        trained = _trained_by(model)
        if trained is not None:
            trained.save(inside / TRAINED)
        if metrics is not None:
            _write_json(inside / "metrics.json", metrics)
        if extra is not None:
            extra(inside)
        content = {
            "format": FORMAT,
            "untrue": untrue.__version__,
            "kind": model.kind,
            "target": model.target,
            "model": {**predictor.description(), "file": predictor.file},
            "decides": model.decision is not None,
            "by_columns": model.costs is not None,
            "temperature": model.temperature,
            "link": model.link
            and {
                "loss": model.link.loss,
                "alpha": model.link.alpha,
                "scale": model.link.scale,
                "own_costs": trained is not None,
            },
            "training": dict(model.training),
            "files": {file.name: _digest(file.read_bytes()) for file in sorted(inside.iterdir())},
        }
        _write_json(inside / MODEL, content | {"checksum": _checksum(content)})
        return put_in_place(inside, _free_place(folder))


def load_model(folder: Path) -> Model:
    """Read a model; what it answers by is checked against what was written."""
    if not folder.exists():
        restore(folder)
    content = _read_description(folder)
    more = [DECISION] if content["decides"] else []
    more += [COSTS] if content["by_columns"] else []
    link = content["link"]
    more += [TRAINED] if isinstance(link, dict) and link.get("own_costs") else []
    file_name = str(content["model"].get("file"))
    for name in (*CHECKED, file_name, *more):
        file = folder / name
        if not file.is_file():
            raise DataError(f"{file} is missing: the model is not whole.")
        if _digest(file.read_bytes()) != content["files"].get(name):
            raise DataError(
                f"{file} is not what was written with the model: it was changed or cut short. "
                "Fit the model again, or copy the whole folder again."
            )
    with reading(folder, "a model"):
        try:
            return _model(folder, content)
        except (DataError, PenaltyError) as error:
            raise ValueError(str(error)) from None


def _model(folder: Path, content: Mapping[str, Any]) -> Model:
    """The parts together; a ValueError where one does not fit the others."""
    temperature, target, training = (
        float(content["temperature"]),
        content["target"],
        content["training"],
    )
    preprocessing = _read_preprocessing(folder / "preprocessing.json")
    penalty = Penalty.load(folder / "penalty.json")
    decision = load_any(folder / DECISION) if content["decides"] else None
    costs = FormulaPenalty.load(folder / COSTS) if content["by_columns"] else None
    link = _link(content["link"], folder, penalty)
    trained = None if link is None else link.formulas or link.penalty
    for name, stated in ((DECISION, decision), (COSTS, costs), (TRAINED, trained)):
        if stated is not None and stated.classes != penalty.classes:
            raise ValueError(f"{name} is about other classes")
        if isinstance(stated, FormulaPenalty) and not (
            costs and set(stated.columns) <= set(costs.columns)
        ):
            raise ValueError(f"{name} is by other columns than the costs")
    described = content["model"]
    predictor = load_predictor(described, (folder / described["file"]).read_bytes())
    if predictor.file != described["file"] or penalty.n_classes != predictor.n_classes:
        raise ValueError(f"{predictor.words()} for {predictor.n_classes} classes")
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature {temperature}")
    if not isinstance(preprocessing, KINDS.get(content["kind"], ())):
        raise ValueError(f"data of kind {content['kind']!r}")
    if predictor.inputs != preprocessing.inputs:
        raise ValueError(f"a model for {predictor.inputs}, preprocessing to {preprocessing.inputs}")
    if not isinstance(target, str | None) or not isinstance(training, dict):
        raise ValueError(f"target {target!r}, training {training!r}")
    if not isinstance(training.get("tuned", {}), dict):
        raise ValueError(f"training {training!r}")
    return Model(
        kind=content["kind"],
        penalty=penalty,
        preprocessing=preprocessing,
        predictor=predictor,
        link=link,
        temperature=temperature,
        target=target,
        training=training,
        decision=decision,
        costs=costs,
    )


def _trained_by(model: Model) -> Penalty | FormulaPenalty | None:
    """The costs a model was trained by, where they are other than its own."""
    link = model.link
    if link is None:
        return None
    if link.formulas is not None:
        return link.formulas
    return None if link.penalty == model.penalty else link.penalty


def _link(content: Any, folder: Path, penalty: Penalty) -> Link | None:
    if content is None:
        return None
    trained = load_any(folder / TRAINED) if content["own_costs"] else penalty
    loss, alpha, scale = str(content["loss"]), float(content["alpha"]), float(content["scale"])
    if not 0 <= alpha <= 1 or not 0 < scale < math.inf:
        raise ValueError(f"alpha {alpha}, scale {scale}")
    if isinstance(trained, FormulaPenalty):
        return Link(loss, alpha, penalty, scale, trained)
    return Link(loss, alpha, trained, scale)


def _read_description(folder: Path) -> dict[str, Any]:
    file = folder / MODEL
    if not file.is_file():
        raise DataError(f"{folder} is no model folder: it has no {MODEL}.")
    content = _read_json(file)
    wanted = {"format", "untrue", "kind", "target", "model", "decides", "temperature", "link"}
    wanted |= {"training", "files", "by_columns"}
    form = content.get("format")
    if isinstance(form, int) and form > FORMAT:
        raise DataError(
            f"{folder} was written by a newer untrue ({content.get('untrue')}); this is "
            f"{untrue.__version__}. Update with: pip install --upgrade untrue"
        )
    checksum = content.pop("checksum", None)
    if (
        form != FORMAT
        or not wanted <= set(content)
        or checksum != _checksum(content)
        or not isinstance(content["files"], dict)
        or not isinstance(content["model"], dict)
    ):
        raise DataError(
            f"{file} is not what was written with the model: it was changed or cut short."
        )
    return content


def _read_preprocessing(file: Path) -> TablePreprocessing | TableCodes | ImagePreprocessing:
    content = _read_json(file)
    kind = PREPROCESSING.get(str(content.get("kind")))
    if kind is None:
        raise ValueError(f"preprocessing of kind {content.get('kind')!r}")
    return kind.from_json(content)


def _read_json(file: Path) -> dict[str, Any]:
    content = read_json(file)
    if not isinstance(content, dict):
        raise DataError(f"{file} is not readable: expected named values.")
    return content


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(plain(dict(content)), indent=1, ensure_ascii=False, allow_nan=False)
    file.write_text(f"{text}\n", encoding="utf-8", errors="backslashreplace")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _checksum(content: Mapping[str, Any]) -> str:
    """Of the content, not the bytes: white space may change."""
    return _digest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
