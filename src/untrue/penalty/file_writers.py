"""Penalties to files, in the formats of `untrue.penalty.files`.

Numbers are written with as many digits as make them come back exactly.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from untrue.atomic_files import place_bytes
from untrue.errors import PenaltyError
from untrue.input_files import LARGEST_TEXT
from untrue.penalty.base import Penalty
from untrue.penalty.dense import DensePenalty
from untrue.penalty.files import by_suffix
from untrue.penalty.formula_penalty import FormulaPenalty
from untrue.penalty.rules import RulesPenalty
from untrue.penalty.tree import TreePenalty

# A matrix of more classes is too large for a file: 10,000 squared are 800 MB as .npy.
LARGEST_MATRIX = 10_000


def save(penalty: Penalty | FormulaPenalty, path: Path) -> Path:
    """Write to a temporary name beside `path`, then move into place."""
    if isinstance(penalty, FormulaPenalty):
        content = by_suffix(path, _FORMULA_WRITERS)(_formula_content(penalty))
    else:
        content = by_suffix(path, _WRITERS)(penalty)
    if path.suffix.lower() != ".npy" and len(content) > LARGEST_TEXT:
        raise PenaltyError(
            f"{path}: these costs take {len(content):,} bytes of text; at most {LARGEST_TEXT:,} "
            "would be read again. Save them as .npy."
        )
    return place_bytes(path, content)


def _write_csv(penalty: Penalty) -> bytes:
    matrix = _whole_matrix(penalty)
    text = io.StringIO()
    # Quotes keep what a reader would otherwise drop: blanks before a name, line ends inside it.
    plain = all(name == name.strip() and name.isprintable() for name in penalty.classes)
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL if plain else csv.QUOTE_NONNUMERIC
    )
    writer.writerow(["true \\ predicted", *penalty.classes])
    for name, row in zip(penalty.classes, matrix.tolist(), strict=True):
        writer.writerow([name, *row])
    return text.getvalue().encode()


def _write_npy(penalty: Penalty) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, _whole_matrix(penalty), allow_pickle=False)
    return buffer.getvalue()


def as_json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()


def toml_file(content: dict[str, Any]) -> bytes:
    lines = []
    for key, value in content.items():
        if key == "rule":
            for rule in value:
                lines += [
                    "",
                    "[[rule]]",
                    *(f"{name} = {_toml(cost)}" for name, cost in rule.items()),
                ]
        elif isinstance(value, list) and (len(value) > 8 or key == "matrix"):
            lines += [f"{key} = [", *(f"    {_toml(item)}," for item in value), "]"]
        else:
            lines.append(f"{key} = {_toml(value)}")
    return ("\n".join(lines) + "\n").encode()


def penalty_content(penalty: Penalty) -> dict[str, Any]:
    classes = list(penalty.classes)
    if isinstance(penalty, RulesPenalty):
        default = penalty.default.tolist()
        names = penalty.classes
        return {
            "classes": classes,
            "default": default[0]
            if len(set(default)) == 1
            else dict(zip(classes, default, strict=True)),
            "rule": [
                {"true": names[i], "predicted": names[j], "cost": cost}
                for i, j, cost in zip(
                    penalty.true.tolist(),
                    penalty.predicted.tolist(),
                    penalty.costs.tolist(),
                    strict=True,
                )
            ],
        }
    if isinstance(penalty, TreePenalty):
        content: dict[str, Any] = {
            "classes": classes,
            "height_costs": penalty.height_costs.tolist(),
            "edges": [list(edge) for edge in penalty.hierarchy.edges()],
        }
        if (penalty.row_scale != 1).any():
            content["row_scale"] = penalty.row_scale.tolist()
        return content
    return {"classes": classes, "matrix": penalty.matrix().tolist()}


def _formula_content(penalty: FormulaPenalty) -> dict[str, Any]:
    base = _as_rules(penalty.base)
    if not isinstance(base, RulesPenalty):
        raise PenaltyError(
            "Costs by formulas over a hierarchy cannot be saved to a file; state them as rules."
        )
    content = penalty_content(base)
    written = {(_name(i, base), _name(j, base)) for i, j in penalty.formulas}
    rules = [r for r in content["rule"] if (r["true"], r["predicted"]) not in written]
    content["rule"] = rules + [
        {"true": _name(true, base), "predicted": _name(predicted, base), "cost": formula}
        for (true, predicted), formula in penalty.formulas.items()
    ]
    return content


def _name(which: str | int, penalty: Penalty) -> str:
    return which if isinstance(which, str) else penalty.classes[which]


def _as_rules(penalty: Penalty) -> Penalty:
    """A matrix as rules: the commonest cost as default, the rest as rules. Others stay."""
    if not isinstance(penalty, DensePenalty):
        return penalty
    off = ~np.eye(penalty.n_classes, dtype=bool)
    costs, counts = np.unique(penalty.costs[off], return_counts=True)
    default = float(costs[counts.argmax()]) if len(costs) else 0.0
    true, predicted = np.nonzero(off & (penalty.costs != default))
    defaults = np.full(penalty.n_classes, default)
    return RulesPenalty(penalty.classes, defaults, true, predicted, penalty.costs[true, predicted])


def _whole_matrix(penalty: Penalty) -> Any:
    if penalty.n_classes > LARGEST_MATRIX:
        raise PenaltyError(
            f"{penalty.n_classes:,} classes make a matrix too large for a file; save as .json."
        )
    return penalty.matrix()


def in_toml(text: str) -> str:
    """JSON's strings are TOML's, except for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return in_toml(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(float(value))


_WRITERS: dict[str, Callable[[Penalty], bytes]] = {
    ".csv": _write_csv,
    ".json": lambda penalty: as_json(penalty_content(penalty)),
    ".toml": lambda penalty: toml_file(penalty_content(penalty)),
    ".npy": _write_npy,
}
_FORMULA_WRITERS = {".json": as_json, ".toml": toml_file}
