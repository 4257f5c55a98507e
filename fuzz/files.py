"""Readers of single files: each takes random numbers and a folder to write into, and reads."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz import values
from untrue import Hierarchy, Penalty
from untrue.lab import experiments
from untrue.tools.auditing.audit import audit
from untrue.tools.penalty_diagnosis import diagnose
from untrue.tools.reading.confusion_file import read_confusion_csv
from untrue.tools.reading.opening import open_source
from untrue.tools.reading.sources import Source

# What a target returns is its result, where that is not "accepted".
Target = Callable[[Random, Path], str | None]
KNOWN = ["a", "b", "c"]


def penalty(rng: Random, place: Path) -> None:
    """A file of costs; what is read comes back the same from every format."""
    found = Penalty.load(write_penalty(rng, place))
    matrix = found.matrix()
    check(bool(np.isfinite(matrix).all() and (matrix >= 0).all()), "costs that are no costs")
    ending = rng.choice(["json", "toml", "csv", "npy"])
    again = Penalty.load(found.save(place / f"again.{ending}"), classes=found.classes)
    np.testing.assert_array_equal(again.matrix(), matrix)
    diagnose(found)
    repr(found)


def write_penalty(rng: Random, place: Path, classes: list[str] | None = None) -> Path:
    own = classes or values.names(rng, 1, 5)
    k = len(own)
    costs = [["0" if i == j else values.positive(rng) for j in range(k)] for i in range(k)]
    ending = rng.choice(["csv", "json", "toml", "npy"])
    path = place / f"costs.{ending}"
    if ending == "csv":
        rows = [["", *own], *([name, *row] for name, row in zip(own, costs, strict=True))]
        content = csv_text(rng, rows)
    elif ending == "npy":
        content = npy(rng, np.abs(np.nan_to_num(array(rng, (k, k)))) * (1 - np.eye(k)))
    else:
        content = _stated(rng, own, ending).encode("utf-8", "surrogatepass")
    path.write_bytes(values.spoilt(rng, content, 0.25))
    return path


def _stated(rng: Random, own: list[str], ending: str) -> str:
    """Costs as JSON or TOML: a matrix, rules, or a tree."""
    content: dict[str, Any] = {"classes": own}
    form = rng.choice(["matrix", "rule", "edges"])
    if form == "matrix":
        content["matrix"] = [[0.0 if a == b else rng.uniform(0, 9) for b in own] for a in own]
    elif form == "edges":
        content["edges"] = edges(rng, own)
        if rng.random() < 0.4:
            content["height_costs"] = [0.0, *(rng.uniform(0, 9) for _ in range(rng.randrange(4)))]
    else:
        content["default"] = rng.choice([1.0, 0.0, dict.fromkeys(own, 2.0)])
        content["rule"] = [
            {"true": rng.choice(own), "predicted": rng.choice(own), "cost": rng.uniform(0, 9)}
            for _ in range(rng.randrange(4))
        ]
    if rng.random() < 0.3:
        content = values.changed(rng, content)
    if ending == "json":
        return values.json_text(content)
    if rng.random() < 0.1:
        return values.name(rng) + "." * rng.choice([1, 40, 3000]) + "a = 1"
    return toml(content)


def toml(content: Any) -> str:
    """TOML of what has a form in it; the rest in JSON's, which a reader refuses."""
    if not isinstance(content, dict):
        return values.json_text(content)
    lines = []
    for key, value in content.items():
        if key == "rule" and isinstance(value, list) and all(isinstance(v, dict) for v in value):
            for rule in value:
                lines += [
                    "[[rule]]",
                    *(f"{json.dumps(k)} = {values.json_text(v)}" for k, v in rule.items()),
                ]
        else:
            lines.insert(0, f"{json.dumps(key)} = {values.json_text(value)}")
    return "\n".join(lines)


def edges(rng: Random, own: list[str]) -> list[list[str]]:
    """A tree of these classes, or nearly one."""
    inner = ["root", "x", "y"]
    found = [["root", "x"], ["root", "y"], *([rng.choice(inner), name] for name in own)]
    if rng.random() < 0.2:
        found.append([rng.choice(own), rng.choice(inner)])
    return found


def tree(rng: Random, place: Path) -> None:
    """A tree of classes."""
    path = write_tree(rng, place)
    read = Hierarchy.from_csv if path.suffix == ".csv" else Hierarchy.from_json
    found = read(path)
    Penalty.from_hierarchy(found).matrix()
    found.groups(rng.randint(0, found.max_height))


def write_tree(rng: Random, place: Path, classes: list[str] | None = None) -> Path:
    pairs = edges(rng, classes or values.names(rng))
    if rng.random() < 0.5:
        path = place / "tree.csv"
        content = csv_text(rng, pairs)
    else:
        path = place / "tree.json"
        nested = {"x": {name: {} for _, name in pairs}, "y": [name for _, name in pairs[:2]]}
        shape: Any = rng.choice([pairs, nested, "deep"])
        text = '{"a":' * 3000 + "{}" + "}" * 3000 if shape == "deep" else values.json_text(shape)
        content = text.encode()
    path.write_bytes(values.spoilt(rng, content, 0.4))
    return path


def confusion(rng: Random, place: Path) -> None:
    """Counts of who was taken for whom."""
    own = values.names(rng, 1, 5)
    rows = [
        ["", *own],
        *([name, *(values.positive(rng).partition(".")[0] for _ in own)] for name in own),
    ]
    path = place / "cm.csv"
    path.write_bytes(values.spoilt(rng, csv_text(rng, rows), 0.3))
    names, counts = read_confusion_csv(path)
    check(counts.shape == (len(names), len(names)) and bool((counts >= 0).all()), "odd counts")


def table(rng: Random, place: Path) -> None:
    """A table to learn from: read, its columns sorted out, made into inputs."""
    target = "kind" if rng.random() < 0.9 else values.name(rng)
    path = write_table(rng, place, target)
    options: dict[str, Any] = {}
    if rng.random() < 0.05:
        options["delimiter"] = rng.choice([";", "\t", "\\t", '"', "", "é", "\n", "|"])
    if rng.random() < 0.05:
        options["categorical"] = [values.name(rng)]
    use_source(open_source(path, target=target, **options))


def write_table(rng: Random, place: Path, target: str, rows: int | None = None) -> Path:
    columns = [*values.names(rng, 1 if rng.random() < 0.9 else 0, 4), target]
    rng.shuffle(columns)
    n = rng.choice([0, 1, 12, 60, 60, 60]) if rows is None else rows
    ending = rng.choice(["csv", "csv", "csv.gz", "tsv", "parquet"])
    path = place / f"table.{ending}"
    kinds = {name: rng.choice(["number", "number", "text", "odd"]) for name in columns}
    kinds[target] = "odd" if rng.random() < 0.1 else "text"
    if ending == "parquet":
        path.write_bytes(values.spoilt(rng, _parquet(rng, columns, kinds, n), 0.15))
        return path
    cells = [columns, *([_cell(rng, kinds[name]) for name in columns] for _ in range(n))]
    content = csv_text(rng, cells, delimiter="\t" if ending == "tsv" else ",")
    if ending == "csv.gz":
        content = gzip.compress(values.spoilt(rng, content, 0.2))
    path.write_bytes(values.spoilt(rng, content, 0.15))
    return path


def _cell(rng: Random, kind: str) -> str:
    if kind == "number":
        return "" if rng.random() < 0.05 else f"{rng.gauss(0, 3):.3f}"
    return rng.choice("abc") if kind == "text" else values.number(rng)


def _parquet(rng: Random, columns: list[str], kinds: dict[str, str], n: int) -> bytes:
    import pyarrow as arrow
    import pyarrow.parquet

    odd: list[Callable[[], Any]] = [
        lambda: arrow.array([[1]] * n, arrow.list_(arrow.int64())),
        lambda: arrow.array([{"a": 1}] * n),
        lambda: arrow.array([2**63 - 1 - i for i in range(n)]),
        lambda: arrow.array([b"caf\xe9"] * n, arrow.binary()),
        lambda: arrow.array([None] * n),
        lambda: arrow.array([True] * n),
        lambda: arrow.array(list(range(n)), arrow.timestamp("ns")),
        lambda: arrow.array(["a"] * n).dictionary_encode(),
        lambda: arrow.array([float("inf"), float("nan")] * n)[:n],
        lambda: arrow.Array.from_buffers(
            arrow.string(), n, arrow.array([b"\xff"] * n, arrow.binary()).buffers()
        ),
    ]
    arrays = []
    for name in columns:
        if kinds[name] == "odd":
            arrays.append(rng.choice(odd)())
        elif kinds[name] == "number":
            arrays.append(arrow.array([rng.gauss(0, 3) for _ in range(n)]))
        else:
            arrays.append(arrow.array([rng.choice("abc") for _ in range(n)]))
    stream = io.BytesIO()
    arrow.parquet.write_table(arrow.Table.from_arrays(arrays, names=columns), stream)
    return stream.getvalue()


def arrays(rng: Random, place: Path) -> None:
    """An .npz file with X and y."""
    path = place / "data.npz"
    n = rng.choice([0, 1, 12, 40, 40, 40])
    shape = rng.choice(
        [*[(n, 3), (n, 6, 6), (n, 6, 6, 3), (n, 3, 6, 6)] * 4, (n,), (n, 2, 2, 2, 2), ()]
    )
    makers: list[Callable[[], np.ndarray[Any, Any]]] = [
        lambda: np.array([rng.choice(values.NAMES) for _ in range(n)]),
        *[lambda: np.array([rng.choice("abc") for _ in range(n)])] * 4,
        *[lambda: np.arange(n) % 3] * 4,
        lambda: array(rng, (n,)),
        lambda: np.array([b"caf\xe9", b"a"] * n)[:n],
        lambda: np.array([None, {}] * n, dtype=object)[:n],
    ]
    labels = rng.choice(makers)()
    members = {"X": array(rng, shape), rng.choice(["y", "y", "y", "z"]): labels}
    stream = io.BytesIO()
    kind = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", npy(rng, content))
    path.write_bytes(values.spoilt(rng, stream.getvalue(), 0.2))
    if rng.random() < 0.05:
        path.write_bytes(npy(rng, members["X"]))
    use_source(open_source(path, target="y"))


def use_source(source: Source) -> None:
    """Examples that were accepted become finite inputs, one for each."""
    everyone = np.arange(len(source))
    inputs = source.inputs(source.fit_preprocessing(everyone))
    check(len(inputs) == len(source), "not one input for each example")
    check(bool(np.isfinite(inputs).all()), "inputs that are not finite")


def array(rng: Random, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers, some of them odd."""
    found = np.random.default_rng(rng.randrange(2**32)).normal(size=shape)
    if found.size and rng.random() < 0.15:
        flat = found.reshape(-1)
        flat[rng.randrange(flat.size)] = rng.choice([np.nan, np.inf, 1e300, -1e300, 1e39, 5e-324])
    with np.errstate(all="ignore"):
        kind = rng.choice(["f8", "f8", "f8", "f4", "f4", "f2", "i8", "u1", "?", "c16", ">f8"])
        if kind in ("i8", "u1"):
            found = np.nan_to_num(found, posinf=0, neginf=0).clip(-9, 9)
        return found.astype(kind)


def npy(rng: Random, content: np.ndarray[Any, Any]) -> bytes:
    """An .npy file, sometimes with another header than it should have."""
    stream = io.BytesIO()
    np.save(stream, content, allow_pickle=True)
    found = stream.getvalue()
    if rng.random() < 0.1:
        old, new = rng.choice(
            [
                (b"'shape': (", b"'shape': (99999999999, "),
                (b"'shape': (", b"'shape': (-1, "),
                (b"<f8", b"|O8"),
                (b"<f8", b"<f3"),
                (b"False", b"True "),
                (b"'descr'", b"'descr(('"),
                (b"\x01\x00", b"\x09\x00"),
            ]
        )
        found = found.replace(old, new, 1)
    return found


def predictions(rng: Random, place: Path) -> None:
    """A file of predictions, audited."""
    path = write_predictions(rng, place)
    costs = Penalty.from_rules(KNOWN, {("a", "b"): 5.0})
    found = audit(path, penalty=costs, resamples=20)
    check(np.isfinite(found.summary.total_error), "an error that is no number")


def write_predictions(rng: Random, place: Path) -> Path:
    n = rng.choice([1, 5, 40])
    columns: dict[str, list[str]] = {
        "truth": [rng.choice(KNOWN) for _ in range(n)],
        "predicted": [rng.choice([*KNOWN, "(abstained)"]) for _ in range(n)],
    }
    if rng.random() < 0.6:
        drawn = np.random.default_rng(rng.randrange(2**32)).dirichlet(np.ones(3), n)
        columns |= {f"prob_{c}": [f"{p:.9f}" for p in drawn[:, j]] for j, c in enumerate(KNOWN)}
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        cells = columns[rng.choice(list(columns))]
        cells[rng.randrange(n)] = rng.choice([values.name, values.number])(rng)
    if rng.random() < 0.2:
        columns[values.name(rng)] = columns.pop(rng.choice(list(columns)))
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    path = place / "answers.csv"
    path.write_bytes(values.spoilt(rng, csv_text(rng, rows), 0.2))
    return path


def experiment(rng: Random, place: Path) -> None:
    """An experiment stated in TOML."""
    path = place / "mine.toml"
    content: Any = {
        "experiment": rng.choice(["demo", "masked-zone", "hierarchy", values.name(rng)])
    }
    fields = [*experiments.OPTIONS, "scale", values.name(rng)]
    for field in rng.sample(fields, rng.randrange(4)):
        content[field] = rng.choice([values.json_value(rng), [1, 2], 0.5, "0,.5", 3])
    path.write_bytes(values.spoilt(rng, toml(content).encode("utf-8", "surrogatepass"), 0.3))
    chosen, scale, overrides = experiments.read_toml(path)
    experiments.options(experiments.find(chosen), scale=scale or "desk", overrides=overrides)


def csv_text(rng: Random, rows: list[list[str]], delimiter: str = ",") -> bytes:
    """CSV, in one of the ways in which programs write it."""
    text = io.StringIO()
    ends = rng.choice(["\n", "\n", "\r\n"])
    if rng.random() < 0.5:
        writer = csv.writer(text, csv.unix_dialect, lineterminator=ends, delimiter=delimiter)
    else:
        writer = csv.writer(text, lineterminator=ends, delimiter=delimiter)
    writer.writerows(rows)
    encoding = rng.choice([*["utf-8"] * 20, "utf-8-sig", "utf-16", "latin-1"])
    return text.getvalue().encode(encoding, "replace")


def check(holds: bool, what: str) -> None:
    """What must hold of everything that is accepted."""
    if not holds:
        raise AssertionError(what)


TARGETS: dict[str, tuple[Target, int]] = {
    "penalty": (penalty, 16),
    "tree": (tree, 8),
    "confusion": (confusion, 6),
    "table": (table, 14),
    "arrays": (arrays, 10),
    "predictions": (predictions, 8),
    "experiment": (experiment, 6),
}
