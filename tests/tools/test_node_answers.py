"""`untrue predict --decide node`, and the audit of its file: answers at nodes of a hierarchy."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import untrue
from untrue import Hierarchy, Penalty
from untrue.cli import exit_code
from untrue.errors import ArgumentError, DataError
from untrue.penalty import TreePenalty
from untrue.tools.auditing.nodes import audit_nodes
from untrue.tools.fitting.fit import fit
from untrue.tools.fitting.predict import predict

TREE = Hierarchy.from_groups({"pet": ["cat", "dog"], "fish": ["pike", "carp"]})
CLASSES = TREE.classes


def animals(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Pets and fish are told apart easily, cats and dogs hardly."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=n)
    x = np.stack([6.0 * (y // 2), 1.5 * (y % 2)], axis=1) + rng.normal(size=(n, 2))
    return x, np.array(CLASSES)[y]


def write(path: Path, rows: list[list[object]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    x, y = animals()
    found = fit(
        x, y, penalty=Penalty.from_hierarchy(TREE), model="linear", baseline=False, epochs=20
    )
    assert isinstance(found.model.penalty, TreePenalty)
    return found.save(tmp_path_factory.mktemp("animals") / "model")


def test_nodes_are_answered_where_classes_are_unsure(model: Path) -> None:
    x, _ = animals()
    found = predict(model, x, decision="node")
    assert found.actions is not None
    assert set(CLASSES) < set(found.actions)
    said = np.array(found.actions)[found.predicted]
    assert {"pet", "fish"} <= set(said)
    # The deepest node with at least half of the probability below it.
    group = {"pet": [0, 1], "fish": [2, 3]}
    for name, members in group.items():
        p = found.probs[said == name]
        assert (p[:, members].sum(axis=1) >= 0.5).all()
        assert (p[:, members].max(axis=1) <= 0.5 + 1e-9).all()


def test_what_a_node_decision_refuses(model: Path) -> None:
    x, y = animals()
    flat = fit(
        x,
        y,
        penalty=Penalty.from_rules(list(CLASSES), {}),
        model="linear",
        baseline=False,
        epochs=2,
    )
    with pytest.raises(ArgumentError, match="the model's costs are by none"):
        predict(flat.model, x, decision="node")
    assert predict(flat.model, x, decision="node", hierarchy=TREE).actions is not None
    assert set(flat.predict(x, decision="node", hierarchy=TREE)) & {"pet", "fish"}
    with pytest.raises(ArgumentError, match="belongs to the decision 'node'"):
        predict(flat.model, x, hierarchy=TREE)
    with pytest.raises(ArgumentError, match="nodes cost by the hierarchy"):
        predict(model, x, decision="node", abstain_cost=0.5)
    other = Hierarchy.from_groups({"pet": ["cat", "pike"], "fish": ["dog", "carp"]})
    with pytest.raises(ArgumentError, match="other classes than the model, or in another order"):
        predict(model, x, decision="node", hierarchy=other)


def test_an_audit_of_nodes_by_hand(tmp_path: Path) -> None:
    rows: list[list[object]] = [["truth", "predicted"]]
    rows += [["cat", "cat"], ["cat", "pet"], ["dog", "fish"], ["pike", "carp"]]
    found = audit_nodes(write(tmp_path / "nodes.csv", rows), TREE, resamples=50)
    values = {name: part.value for name, part in found.measures.items()}
    assert (values["exact"], values["coarse"], values["wrong"]) == (0.25, 0.25, 0.5)
    # Edges: 0, 1, 3 (dog up to the root, down to fish), 2.
    assert values["cost"] == pytest.approx(6 / 4)
    # Below the root: shared nodes 2 + 1 + 0 + 1; of the answers 2 + 1 + 1 + 2, the truth 2 each.
    assert values["hierarchical_precision"] == pytest.approx(4 / 6)
    assert values["hierarchical_recall"] == pytest.approx(4 / 8)
    assert found.measures["wrong"].low <= 0.5 <= found.measures["wrong"].high
    with pytest.raises(DataError, match="unknown label 'bird'"):
        audit_nodes(write(tmp_path / "odd.csv", [*rows, ["cat", "bird"]]), TREE)


def test_the_commands_answer_and_audit_nodes(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = animals(100)
    data, answers = tmp_path / "data.npz", tmp_path / "answers.csv"
    np.savez(data, X=x, y=y)
    assert (
        exit_code(["predict", str(model), str(data), "--decide", "node", "--out", str(answers)])
        == 0
    )
    tree = write(
        tmp_path / "tree.csv",
        [["parent", "child"], *([p, c] for p, c in TREE.edges())],
    )
    costs = Penalty.from_hierarchy(TREE).save(tmp_path / "costs.json")
    for more in (["--hierarchy", str(tree)], []):
        out = tmp_path / f"audit{len(more)}"
        words = ["audit", str(answers), "--penalty", str(costs), "--out", str(out), *more]
        assert exit_code(words) == 0
        assert "hierarchical precision" in capsys.readouterr().out
        assert "hierarchical recall" in (out / "page.html").read_text()
        numbers = json.loads((out / "audit.json").read_text())
        table = list(csv.reader((out / "answers.csv").read_text().splitlines()))
        assert {"pet", "fish"} <= set(table[0])
        assert sum(int(n) for row in table[1:] for n in row[1:]) == numbers["n"] == 100
    same = untrue.audit_nodes(answers, TREE)
    assert same.measures["exact"].value == numbers["measures"]["exact"]["value"]
    words = ["audit", str(answers), "--penalty", str(costs), "--budget", "cat->dog <= 5%"]
    assert exit_code([*words, "--out", str(tmp_path / "none")]) == 2
    assert "answers that are classes" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
