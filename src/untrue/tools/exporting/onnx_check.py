"""An exported graph beside `untrue predict`: the same answers, by onnxruntime, or an error.

Without data the check draws examples: numbers around those learned from, gaps, every category and
one that training has not seen, random pixels. Scores are compared as numbers. Then the answers of
the graph are compared with ours for the graph's own scores: two classes that tie up to rounding are
no mistake of either.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray
from untrue.decision import decide
from untrue.errors import DataError, UntrueError, UntrueWarning
from untrue.optional import need
from untrue.tools.exporting.graph import PURPOSE
from untrue.tools.exporting.onnx_file import Exported
from untrue.tools.exporting.table_columns import ARRAY
from untrue.tools.fitting.link import class_probs
from untrue.tools.fitting.model import Model, argmax
from untrue.tools.reading.codes import TableCodes
from untrue.tools.reading.features import Features
from untrue.tools.reading.images import ImagePreprocessing
from untrue.tools.reading.preprocess import TablePreprocessing
from untrue.tools.reading.sources import ArrayImages, Source, TableSource

# Scores may differ by this share of the greatest: single precision, summed in another order.
SCORES_CLOSE, PROBS_CLOSE = 1e-4, 1e-6
DRAWN = 256
UNSEEN = "a category not seen in training"


@dataclass(frozen=True, slots=True)
class Checked:
    """How a graph did: examples, answers that agree with `untrue predict`, the greatest difference
    of a probability, None for a graph that has none."""

    examples: int
    agree: int
    greatest: float | None


def feeds(exported: Exported, source: Source, model: Model) -> dict[str, npt.NDArray[Any]]:
    """What onnxruntime is given for the examples of a source."""
    if isinstance(source, TableSource):
        found = source.features
        if ARRAY in (port.name for port in exported.inputs) and model.kind != "table":
            return {ARRAY: found.numbers}
        numbers = zip(found.schema.numbers, found.numbers.T, strict=True)
        text = zip(found.schema.categories, found.text.T, strict=True)
        return {
            **{name: np.ascontiguousarray(values) for name, values in numbers},
            **{
                name: np.array(["" if value is None else value for value in values], dtype=object)
                for name, values in text
            },
        }
    pixels = source.inputs(model.preprocessing).transpose(0, 2, 3, 1)
    port = exported.inputs[0]
    if (pixels.dtype == np.uint8) != (port.dtype is np.uint8):
        raise DataError(
            f"{source.path} holds images of {pixels.dtype}; the graph takes "
            f"{np.dtype(port.dtype)}. Export with --pixels "
            f"{'uint8' if pixels.dtype == np.uint8 else 'float32'}."
        )
    return {port.name: np.ascontiguousarray(pixels, dtype=port.dtype)}


def check_onnx(exported: Exported, model: Model, source: Source | None = None) -> Checked:
    """Run the graph on examples, and compare its outputs with ours."""
    runtime = need("onnxruntime", PURPOSE, "onnx")
    source = drawn(exported, model) if source is None else source
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(
        exported.content, options, providers=["CPUExecutionProvider"]
    )
    names = [port.name for port in exported.outputs]
    label, index, *middle, scores = session.run(names, feeds(exported, source, model))
    probs = middle[0] if middle else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrueWarning)  # of categories that are unseen on purpose
        ours = model.scores(source.inputs(model.preprocessing), source=str(source.path))
    _hold("scores", scores, ours, SCORES_CLOSE * max(1.0, float(np.abs(ours).max())))
    if probs is not None:
        _hold("probs", probs, class_probs(scores, model.link, model.temperature), PROBS_CLOSE)
    expected = _decided(exported, scores, probs)
    if not np.array_equal(index, expected):
        raise UntrueError(
            f"For {int((index != expected).sum())} of {len(index)} examples the graph gives "
            "another answer than `untrue predict`; it was not written."
        )
    named = np.array([*model.classes, label[index < 0][0] if (index < 0).any() else ""], object)
    if not np.array_equal(label, named[index]):
        raise UntrueError("The graph names its answers wrongly; it was not written.")
    by_ours = None if probs is None else class_probs(ours, model.link, model.temperature)
    agree = int((index == _decided(exported, ours, by_ours)).sum())
    greatest = None if by_ours is None else float(np.abs(middle[0] - by_ours).max())
    return Checked(len(index), agree, greatest)


def _decided(exported: Exported, scores: FloatArray, probs: FloatArray | None) -> Any:
    if exported.decision == "argmax" or probs is None:
        return argmax(scores)
    return decide(probs, exported.costs, exported.abstain_cost)


def _hold(what: str, found: FloatArray, wanted: FloatArray, close: float) -> None:
    if found.shape != wanted.shape:
        raise UntrueError(
            f"The graph's {what} have shape {found.shape}, those of `untrue predict` "
            f"{wanted.shape}; it was not written."
        )
    apart = float(np.abs(found - wanted).max())
    if not apart <= close:
        raise UntrueError(
            f"The graph's {what} differ from those of `untrue predict` by up to {apart:.3g}, more "
            f"than {close:.3g}; it was not written."
        )


def drawn(exported: Exported, model: Model) -> Source:
    """Random examples of the kind that the model takes."""
    rng = np.random.default_rng(0)
    rules = model.preprocessing
    if isinstance(rules, ImagePreprocessing):
        pixels: npt.NDArray[Any] = rng.integers(0, 256, (64, *rules.inputs), dtype=np.uint8)
        if exported.inputs[0].dtype is not np.uint8:
            pixels = (pixels / 255).astype(np.float32)
        return ArrayImages(Path("drawn examples"), pixels, None)
    array = model.kind != "table"
    numbers = _drawn_numbers(rules, rng)
    columns = [_known(rules, j) for j in range(len(rules.schema.categories))]
    text = np.empty((DRAWN, len(columns)), dtype=object)
    for j, known in enumerate(columns):
        text[:, j] = rng.choice(np.array([*known, None, UNSEEN], dtype=object), DRAWN)
    found = Features.of(rules.schema, numbers, text)
    return TableSource(Path("drawn examples"), found, None, kind="npz table" if array else "table")


def _drawn_numbers(rules: TablePreprocessing | TableCodes, rng: np.random.Generator) -> FloatArray:
    m = len(rules.schema.numbers)
    values = rng.standard_normal((DRAWN, m)) * 3
    if isinstance(rules, TablePreprocessing):
        values = values * np.array(rules.numbers.scale[:m]) + np.array(rules.numbers.mean[:m])
    else:  # trees have no scale: numbers of many sizes, of which some are their limits' own
        values *= 10.0 ** rng.integers(-2, 4, (DRAWN, m))
    values[rng.random((DRAWN, m)) < 0.1] = np.nan
    return values


def _known(rules: TablePreprocessing | TableCodes, column: int) -> tuple[str, ...]:
    if isinstance(rules, TableCodes):
        return rules.categories[column].values
    rule = rules.categories[column]
    return (*rule.categories, *rule.rare)
