"""An exported graph, run by onnxruntime, answers as `untrue predict` does."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest

import untrue
from untrue import networks
from untrue.cli import exit_code
from untrue.errors import ArgumentError, DataError, UntrueError
from untrue.penalty import FormulaPenalty, Penalty
from untrue.tools.exporting import onnx_check
from untrue.tools.exporting.graph import Graph, Port
from untrue.tools.exporting.network_layers import add_network
from untrue.tools.exporting.onnx_check import check_onnx
from untrue.tools.exporting.onnx_file import export_onnx
from untrue.tools.fitting.result import FitResult

CLASSES = ("healthy", "benign", "tumour")
COSTS = Penalty.from_rules(
    list(CLASSES), {("tumour", "benign"): 20.0, ("tumour", "healthy"): 10.0}, default=1.0
)


def write_patients(path: Path, n: int = 400, seed: int = 0) -> Path:
    """Numbers, categories and gaps; column names that are also those of outputs."""
    rng = np.random.default_rng(seed)
    age, dose = rng.normal(50, 15, n), rng.normal(size=n)
    city = rng.choice(["Rome", "Oslo", "Lima", "Bari"], n, p=[0.4, 0.3, 0.29, 0.01])
    score = np.stack([0.05 * (age - 50) + (city == "Rome"), dose, 1.5 * (city == "Lima") - 1], 1)
    truth = np.array(CLASSES)[(score + 0.5 * rng.gumbel(size=(n, 3))).argmax(axis=1)]
    lines = ["probs,city,dose,diagnosis"]
    for i in range(n):
        first = "" if rng.random() < 0.1 else f"{age[i]:.3f}"
        second = "" if rng.random() < 0.1 else city[i]
        lines.append(f"{first},{second},{dose[i]:.4f},{truth[i]}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "patients.csv")


MODELS = {
    "linear": {"model": "linear", "loss": "bilinear", "epochs": 5},
    "mlp": {"model": "mlp", "loss": "log-bilinear", "alpha": 0.7, "epochs": 5},
    "plain": {"model": "mlp", "loss": "cross-entropy", "epochs": 5},
    "lightgbm": {"model": "lightgbm", "rounds": 15},
    "xgboost": {"model": "xgboost", "loss": "log-bilinear", "rounds": 15},
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request: pytest.FixtureRequest, patients: Path) -> FitResult:
    how = MODELS[request.param]
    return untrue.fit(patients, target="diagnosis", penalty=COSTS, baseline=False, **how)


def session(content: bytes) -> Any:
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


@pytest.mark.filterwarnings("ignore:column 'city' holds categories not seen in training")
@pytest.mark.parametrize(
    ("decision", "abstain"), [("argmax", None), ("cost", None), ("cost", 0.3), ("cost", 0.0)]
)
def test_a_graph_takes_raw_columns_and_answers_as_predict(
    fitted: FitResult, patients: Path, decision: str, abstain: float | None, tmp_path: Path
) -> None:
    made = export_onnx(fitted.model, decision=decision, abstain_cost=abstain)
    new = write_patients(tmp_path / "new.csv", seed=1)
    ours = fitted.predictions(new, decision=decision, abstain_cost=abstain)
    rows = [line.split(",") for line in new.read_text().split()[1:]]
    age, city, dose, _ = zip(*rows, strict=True)
    label, index, probs, scores = session(made.content).run(
        ["predicted", "index", "probs_", "scores"],
        {
            "probs": np.array([float(text or "nan") for text in age]),
            "dose": np.array([float(text) for text in dose]),
            "city": np.array(city, dtype=object),
        },
    )
    np.testing.assert_allclose(probs, ours.probs, atol=1e-5)
    np.testing.assert_array_equal(index, ours.predicted)
    names = np.array([*CLASSES, "(abstained)"], dtype=object)
    np.testing.assert_array_equal(label, names[ours.predicted])
    assert scores.shape == (400, 3)
    found = check_onnx(made, fitted.model)
    assert found.agree == found.examples
    assert found.greatest < 1e-4


@pytest.mark.filterwarnings("ignore:column 'city' holds categories not seen in training")
@pytest.mark.parametrize("loss", ["bilinear", "cross-entropy"])
def test_costs_by_columns_leave_the_most_probable_class(
    loss: str, patients: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = FormulaPenalty(COSTS, {("tumour", "healthy"): "30 + dose"})
    how: dict[str, Any] = {"model": "mlp", "epochs": 5, "baseline": False}
    found = untrue.fit(patients, target="diagnosis", penalty=costs, loss=loss, **how)
    found.save(tmp_path / "model")
    command = ["export", str(tmp_path / "model"), "--out", str(tmp_path / "model.onnx")]
    assert exit_code([*command, "--decide", "cost"]) == 2
    assert "costs by columns, dose, which a graph cannot hold: export it with --decide argmax" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "model.onnx").exists()
    assert exit_code([*command, "--check", str(patients)]) == 0
    printed = capsys.readouterr().out
    assert "400 of 400 examples answered as by `untrue predict`" in printed
    assert ("no probabilities" in printed) == (loss == "bilinear")
    graph = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    named = [output.name for output in graph.get_outputs()]
    # The data have a column `probs`.
    probs = [] if loss == "bilinear" else ["probs_"]
    assert named == ["predicted", "index", *probs, "scores"]


def test_a_cost_that_forbids_an_answer_leaves_the_others_apart(fitted: FitResult) -> None:
    first, *_, last = CLASSES
    never = Penalty.from_rules(CLASSES, {(first, last): 1e20, (last, first): 5.0})
    made = export_onnx(fitted.model, decision="cost", penalty=never)
    source = onnx_check.drawn(made, fitted.model)
    assert check_onnx(made, fitted.model, source).agree == len(source)


def test_costs_of_the_moment_decide(fitted: FitResult, patients: Path) -> None:
    even = Penalty.from_rules(list(reversed(CLASSES)), {("benign", "tumour"): 9.0}, default=1.0)
    made = export_onnx(fitted.model, decision="cost", penalty=even)
    source = onnx_check.drawn(made, fitted.model)
    assert check_onnx(made, fitted.model, source).agree == len(source)
    usual = export_onnx(fitted.model, decision="cost")
    given = onnx_check.feeds(made, source, fitted.model)
    first, second = (session(m.content).run(["index"], given)[0] for m in (made, usual))
    assert (first != second).any()


@pytest.mark.parametrize(
    ("name", "shape", "dtype"),
    [
        ("cnn", (16, 16), np.uint8),
        ("cnn", (11, 9, 3), np.float32),
        ("compact", (12, 10, 3), np.uint8),
        ("mlp", (8, 8, 1), np.float32),
    ],
)
def test_images_in_rows_of_pixels(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    x = rng.integers(0, 150, (120, *shape)) + 40 * y.reshape(-1, *[1] * len(shape))
    x = x.astype(np.uint8) if dtype == np.uint8 else (x / 255).astype(np.float32)
    found = untrue.fit(x, y, model=name, loss="cross-entropy", epochs=2, batch_size=32)
    pixels = "uint8" if dtype == np.uint8 else "float32"
    made = export_onnx(found.model, pixels=pixels)
    given = x if x.ndim == 4 else x[..., None]
    index, probs = session(made.content).run(["index", "probs"], {"images": given})
    ours = found.predictions(x)
    np.testing.assert_allclose(probs, ours.probs, atol=1e-5)
    np.testing.assert_array_equal(index, ours.predicted)
    assert check_onnx(made, found.model).agree == 64
    with pytest.raises(ArgumentError, match="`pixels` must be uint8 or float32; got 'int8'"):
        export_onnx(found.model, pixels="int8")
    other = "float32" if pixels == "uint8" else "uint8"
    source = onnx_check.drawn(made, found.model)
    with pytest.raises(DataError, match=f"Export with --pixels {pixels}"):
        check_onnx(export_onnx(found.model, pixels=other), found.model, source)


@pytest.mark.parametrize("name", sorted(networks.NETWORKS))
def test_every_network_has_its_graph(name: str) -> None:
    import torch

    torch.manual_seed(0)
    network = networks.build(
        name, width=0.25, n_classes=7, inputs=networks.NETWORKS[name].inputs or (3, 13, 10)
    )
    for part in network.modules():  # as after training: no scale is at its start
        for value in [*part.parameters(recurse=False), *part.buffers(recurse=False)]:
            if value.is_floating_point() and value.ndim < 4:
                value.data.add_(0.1 * torch.rand_like(value))
    shape = networks.NETWORKS[name].inputs or (3, 13, 10)
    graph = Graph()
    logits = add_network(graph, network, "x", shape)
    graph.add("Identity", logits, out="y")
    made = graph.model([Port("x", np.float32, shape)], [Port("y", np.float32, (7,))], doc="")
    runs = session(made.SerializeToString())
    for n in (5, 1, 0):
        x = torch.rand(n, *shape)
        with torch.inference_mode():
            ours = network.eval()(x).numpy()
        found = runs.run(None, {"x": x.numpy()})[0]
        assert found.shape == (n, 7)
        np.testing.assert_allclose(found, ours, atol=1e-5 * np.abs(ours).max(initial=1.0))


def test_arrays_have_one_input(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    x[::9, 1] = np.nan
    y = np.where(x[:, 0] > 0, "up", "down")
    for model in ("mlp", "lightgbm", "xgboost"):
        how = {"epochs": 3} if model == "mlp" else {"rounds": 5}
        found = untrue.fit(x, y, loss="cross-entropy", model=model, **how)
        made = export_onnx(found.model)
        assert [port.name for port in made.inputs] == ["X"]
        label = session(made.content).run(["predicted"], {"X": x})[0]
        np.testing.assert_array_equal(label, found.predict(x))


def test_many_classes_by_costs() -> None:
    """More than are solved by elimination in `untrue.posterior`: the graph agrees all the same."""
    rng = np.random.default_rng(0)
    k = 40
    y = rng.integers(0, k, 1200)
    x = np.eye(k)[y] @ rng.normal(size=(k, 6)) + 0.3 * rng.normal(size=(1200, 6))
    costs = Penalty.from_ordinal([f"c{i:02d}" for i in range(k)])
    found = untrue.fit(
        x, np.array(costs.classes)[y], penalty=costs, alpha=0.3, model="linear", epochs=3
    )
    made = export_onnx(found.model, decision="cost")
    checked = check_onnx(made, found.model)
    assert checked.agree == checked.examples


def test_a_tuned_model_decides_as_tuned(fitted: FitResult) -> None:
    tuned = Penalty.from_rules(list(CLASSES), {("tumour", "healthy"): 90.0}, default=1.0)
    model = replace(fitted.model, decision=tuned)
    made = export_onnx(model)
    assert (made.decision, made.costs) == ("tuned", tuned)
    assert check_onnx(made, model).agree == onnx_check.DRAWN
    other = export_onnx(model, decision="argmax")
    given = onnx_check.feeds(made, onnx_check.drawn(made, model), model)
    first, second = (session(m.content).run(["index"], given)[0] for m in (made, other))
    assert (first != second).any()


def test_a_graph_that_answers_otherwise_is_refused(fitted: FitResult) -> None:
    made = export_onnx(fitted.model, decision="cost")
    model = onnx.load_from_string(made.content)
    for node in model.graph.node:
        if node.op_type == "ArgMax" and node.output[0] == "index":
            node.op_type = "ArgMin"
    with pytest.raises(
        UntrueError, match=r"another answer than `untrue predict`; it was not written"
    ):
        check_onnx(replace(made, content=model.SerializeToString()), fitted.model)
    moved = replace(fitted.model, temperature=fitted.model.temperature * 1.5)
    with pytest.raises(UntrueError, match=r"The graph's probs differ .* it was not written"):
        check_onnx(made, moved)


def test_the_command_writes_a_checked_graph(
    fitted: FitResult, patients: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = fitted.save(tmp_path / "model"), tmp_path / "model.onnx"
    words = ["export", str(folder), "--decide", "cost", "--out", str(out), "--check", str(patients)]
    assert exit_code(words) == 0
    printed = capsys.readouterr().out
    assert "decides by cost: 400 of 400 examples answered as by `untrue predict`" in printed
    assert printed.rstrip().endswith(str(out))
    model = onnx.load(out)
    assert {prop.key for prop in model.metadata_props} >= {"untrue", "classes", "decision"}
    written = out.read_bytes()
    again = [*words[:2], "--out", str(out), "--format", "onnx"]
    assert exit_code(again) == 2
    assert "model.onnx is there already; add --overwrite" in capsys.readouterr().err
    assert out.read_bytes() == written
    assert exit_code([*again, "--overwrite"]) == 0
    assert out.read_bytes() != written  # decides as the model does by default


def test_wrong_use_is_one_line_and_writes_nothing(
    fitted: FitResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fitted.save(tmp_path / "model")
    wrong = {
        "`--format` must be onnx": ["--format", "pmml", "--out", str(tmp_path / "m.onnx")],
        "`--out` must end in .onnx": ["--out", str(tmp_path / "m.bin")],
        "must lie outside the model's folder": ["--out", str(folder / "m.onnx")],
        "(--abstain-cost) belongs to the decision": [
            *("--abstain-cost", "1", "--out", str(tmp_path / "m.onnx"))
        ],
        "`pixels` (--pixels) belongs to a model of images": [
            *("--pixels", "float32", "--out", str(tmp_path / "m.onnx"))
        ],
    }
    for line, words in wrong.items():
        assert exit_code(["export", str(folder), *words]) == 2
        printed = capsys.readouterr().err
        assert line in printed
        assert printed.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_too_many_classes_are_refused(fitted: FitResult, monkeypatch: pytest.MonkeyPatch) -> None:
    from untrue.tools.exporting import onnx_file

    monkeypatch.setattr(onnx_file, "MOST_WITH_POSTERIOR", 2)
    monkeypatch.setattr(onnx_file, "MOST_CLASSES", 2)
    with pytest.raises(ArgumentError, match="At most 2 classes can be exported here"):
        export_onnx(fitted.model)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(tmp_path: Path, package: str, patients: Path) -> None:
    found = untrue.fit(
        patients, target="diagnosis", model="lightgbm", loss="cross-entropy", rounds=2
    )
    folder = found.save(tmp_path / "model")
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from untrue.cli import main; main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "export", str(folder), "--out", str(tmp_path / "m.onnx")],
        capture_output=True,
        text=True,
    )
    line = f'needs {package}, which is missing: pip install "untrue[onnx]".'
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert line in done.stderr
    assert not (tmp_path / "m.onnx").exists()


def test_limits_of_trees_are_exact() -> None:
    """Values that are a limit themselves, and the next ones beside it, fall on the right side."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 8, (300, 2)) / np.float64(3)
    y = (values[:, 0] > 1) + (values[:, 1] > 4 / 3)
    beside: npt.NDArray[np.float64] = np.concatenate(
        [values, np.nextafter(values, -1), np.nextafter(values, 9), np.full((1, 2), np.nan)]
    )
    for model in ("lightgbm", "xgboost"):
        found = untrue.fit(values, y, loss="cross-entropy", model=model, rounds=10)
        made = export_onnx(found.model)
        scores = session(made.content).run(["scores"], {"X": beside})[0]
        ours = found.model.scores(beside.astype(np.float32))
        np.testing.assert_allclose(scores, ours, atol=1e-5)
