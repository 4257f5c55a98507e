"""An audit agrees with the measures computed from the same arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from untrue import Budget, Hierarchy, Penalty, control, decide, metrics
from untrue.errors import DataError
from untrue.lab.specs import DatasetInfo, PenaltySpec
from untrue.tools.auditing.audit import audit

CLASSES = ["cat", "dog", "pike", "carp"]
TREE = Hierarchy.from_groups({"mammal": ["cat", "dog"], "fish": ["pike", "carp"]}, classes=CLASSES)


@pytest.fixture(scope="module")
def answers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.6] * 4, size=1500)
    true = (rng.random((1500, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=3)
    return true, probs


def write(path: Path, true: np.ndarray, probs: np.ndarray, **more: object) -> Path:
    columns = {f"prob_{name}": probs[:, j] for j, name in enumerate(CLASSES)}
    pa.parquet.write_table(pa.table({"truth": np.array(CLASSES)[true], **columns, **more}), path)
    return path


def test_all_measures_are_those_of_the_library(
    answers: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    true, probs = answers
    penalty = Penalty.from_hierarchy(TREE, cost={1: 1.0, 2: 5.0})
    found = audit(write(tmp_path / "p.parquet", true, probs), penalty=penalty, resamples=200)
    cm = metrics.confusion_matrix(true, probs.argmax(axis=1), 4)
    groups = [0, 0, 1, 1]
    s = found.summary
    assert s.accuracy == pytest.approx(1 - metrics.total_error(cm))
    assert s.expected_cost == pytest.approx(metrics.expected_cost(cm, penalty))
    assert s.zone_errors == cm[:2, 2:].sum() + cm[2:, :2].sum()
    assert s.in_group_share == pytest.approx(metrics.in_group_share(cm, groups))
    assert s.mistake_severity == pytest.approx(metrics.mistake_severity(cm, TREE))
    assert s.ece == pytest.approx(metrics.ece(probs, true))
    assert s.height_at_k is not None
    assert set(s.height_at_k) == {1}
    assert found.decision is not None
    least = decide(probs, penalty)
    cost = penalty.cost(true, least).mean()
    assert found.decision.summary.expected_cost == pytest.approx(cost)
    assert found.decision.change.expected_cost.value == pytest.approx(cost - s.expected_cost)
    assert found.decision.change.changed == (least != probs.argmax(axis=1)).sum()
    assert "the most probable class is taken for the answer" in found.notes[0]


def test_the_bins_of_the_calibration_give_the_calibration_error(
    answers: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    true, probs = answers
    found = audit(
        write(tmp_path / "p.parquet", true, probs), penalty=Penalty.from_rules(CLASSES, {})
    )
    assert found.calibration is not None
    gap = sum(b.count * abs(b.confidence - b.accuracy) for b in found.calibration) / len(true)
    assert gap == pytest.approx(found.summary.ece)


@pytest.mark.parametrize(
    ("rules", "default"),
    [
        ({("cat", "dog"): 5.0}, 2.0),
        ({}, 2.0),  # all alike: the zone is every mistake
        ({("cat", "dog"): 5.0, ("dog", "pike"): 1.0}, 0.0),
        ({("cat", "dog"): 1.0, ("carp", "pike"): 1.0}, 0.0),
    ],
)
def test_the_zone_means_one_thing_everywhere(
    rules: dict[tuple[str, str], float],
    default: float,
    answers: tuple[np.ndarray, np.ndarray],
    tmp_path: Path,
) -> None:
    true, probs = answers
    penalty = Penalty.from_rules(CLASSES, rules, default=default)
    matrix = penalty.matrix()
    paid = np.unique(matrix[matrix > 0])
    zone = matrix > (paid[0] if len(paid) > 1 else 0.0)
    cm = metrics.confusion_matrix(true, probs.argmax(axis=1), 4)
    expected = int(cm[zone].sum())
    assert expected > 0
    assert metrics.zone_errors(cm, penalty) == expected
    assert Budget.parse("zone <= 1%").resolve(penalty).judge(cm).errors == expected
    given = Budget.parse("zone <= 1%").resolve(Penalty.from_rules(CLASSES, {}), zone=penalty)
    assert given.judge(cm).errors == expected
    found = audit(write(tmp_path / "p.parquet", true, probs), penalty=penalty)
    assert found.summary.zone_errors == expected
    spec = PenaltySpec("matrix", costs=tuple(map(tuple, matrix.tolist())))
    np.testing.assert_array_equal(spec.mask(DatasetInfo("own", tuple(CLASSES), (), "", 0, 0)), zone)


def test_numbers_are_never_taken_for_named_classes_unless_it_is_said_which(
    answers: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    true, probs = answers
    predicted = probs.argmax(axis=1)
    order = [CLASSES.index(name) for name in sorted(CLASSES)]  # as a LabelEncoder numbers them
    code = np.argsort(order)
    table = pa.table({"truth": code[true], "predicted": np.array(CLASSES)[predicted]})
    pa.parquet.write_table(table, tmp_path / "p.parquet")
    costs = Penalty.from_rules(CLASSES, {("cat", "dog"): 9.0})
    with pytest.raises(DataError, match=r"column 'truth', holds an unknown label .*--classes"):
        audit(tmp_path / "p.parquet", penalty=costs)
    found = audit(tmp_path / "p.parquet", penalty=costs, classes=sorted(CLASSES))
    assert found.summary.expected_cost == pytest.approx(costs.cost(true, predicted).mean())


def test_a_penalty_without_names_takes_those_of_the_labels_in_sorted_order(
    answers: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    true, probs = answers
    named = Penalty.from_rules(sorted(CLASSES), {("cat", "dog"): 9.0})
    path = write(tmp_path / "p.parquet", true, probs, predicted=np.array(CLASSES)[probs.argmax(1)])
    found = audit(path, penalty=Penalty.from_matrix(named.matrix()), resamples=50)
    assert (
        found.summary.expected_cost
        == audit(path, penalty=named, resamples=50).summary.expected_cost
    )
    assert found.columns.probs == tuple(f"prob_{name}" for name in sorted(CLASSES))
    assert "in sorted order: carp, cat, dog, pike" in found.notes[0]


def test_abstentions_are_counted_and_left_out_on_both_sides(
    answers: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    true, probs = answers
    predicted = np.array([*CLASSES, "(abstained)"], dtype=object)[probs.argmax(axis=1)]
    predicted[:100] = "(abstained)"
    path = write(tmp_path / "p.parquet", true, probs, predicted=predicted.astype(str))
    found = audit(path, penalty=Penalty.from_rules(CLASSES, {("cat", "dog"): 9.0}))
    assert (found.summary.n, found.summary.abstained) == (1400, 100)
    assert found.decision is not None
    assert found.decision.summary.n == 1400
    assert "100 of 1,500 predictions abstain" in found.notes[0]


@pytest.mark.parametrize("none", [-1, None, "(abstained)"])
def test_arrays_of_names_may_abstain(none: object) -> None:
    true = np.array(["cat", "dog"] * 20)
    given = true.astype(object)
    given[0], given[1] = none, "cat"
    for penalty in (None, Penalty.from_rules(["cat", "dog"], {})):
        found = audit(given, true, penalty=penalty, budgets=["dog->cat <= 50%"], resamples=10)
        assert found.penalty.classes == ("cat", "dog")
        assert found.summary.abstained == 1
        assert found.verdicts[0].errors == 1


def test_labels_that_are_no_class_indices_are_named() -> None:
    with pytest.raises(DataError, match="`y` must hold a class in every row; row 1 is missing"):
        audit([0, 1, 1], [0.0, float("nan"), 1.0], budgets=["0->1 <= 50%"])
    with pytest.raises(DataError, match=r"`data` must hold class indices .*; row 1 is inf"):
        audit(np.array([0.0, np.inf]), np.array([0, 1]), budgets=["0->1 <= 50%"])
    with pytest.raises(DataError, match="every prediction abstains"):
        audit(np.array([None, None]), np.array([0, 1]), budgets=["0->1 <= 50%"])


def test_probabilities_are_found_by_the_names_that_a_penalty_without_names_takes(
    tmp_path: Path,
) -> None:
    file = tmp_path / "predictions.csv"
    file.write_text("truth,prob_bad,prob_good\nbad,0.9,0.1\ngood,0.7,0.3\ngood,0.2,0.8\n")
    penalty = Penalty.from_matrix([[0, 5], [1, 0]])
    for probs in (None, "prob_"):
        found = audit(file, penalty=penalty, probs=probs)
        assert found.columns.probs == ("prob_bad", "prob_good")
        assert found.summary.expected_cost == pytest.approx(1 / 3)
    file.write_text("truth,score\nbad,0.1\ngood,0.3\ngood,0.8\n")
    found = audit(file, penalty=penalty)
    assert found.summary.expected_cost == pytest.approx(1 / 3)
    assert any("probability of 'good'" in note for note in found.notes)
    assert not any("of '1'" in note for note in found.notes)


def test_nan_among_probabilities_is_refused_as_such() -> None:
    with pytest.raises(DataError, match="data"):
        audit([[0.5, 0.5], [np.nan, 0.5]], [0, 1], penalty=Penalty.from_ordinal(2))


@pytest.mark.parametrize("names", [[1, 2, 3], [10, 5, 7]])
def test_answers_of_a_rule_over_numbers_are_audited_by_it(names: list[int]) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 2000)
    probs = np.exp(2 * np.eye(3)[codes] + rng.normal(0, 0.8, (2000, 3)))
    probs /= probs.sum(axis=1, keepdims=True)
    true = np.array(sorted(names))[codes]
    rule = control(probs, true, [f"{names[0]}->* <= 20%"])
    found = audit(rule(probs), true, rule=rule)
    assert found.summary.accuracy == pytest.approx((rule(probs) == true).mean())


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """Labels 0 and 1 with the probability of 1."""
    rng = np.random.default_rng(0)
    true = rng.random(400) < 0.6
    score = np.clip(np.where(true, 0.8, 0.2) + rng.normal(0, 0.2, 400), 0.01, 0.99)
    rows = [f"{int(t)},{s:.6f},{1 - s:.6f}" for t, s in zip(true, score, strict=True)]
    file = tmp_path / "scored.csv"
    file.write_text("\n".join(["truth,score,rest", *rows]) + "\n")
    return file


@pytest.mark.parametrize("probs", ["score", "rest,score"])
def test_the_names_of_codes_say_the_order_of_the_columns(probs: str, scored: Path) -> None:
    """Whatever the order of the classes of the penalty."""
    for names in (["bad", "good"], ["good", "bad"]):
        penalty = Penalty.from_rules(names, {("bad", "good"): 5.0})
        found = audit(scored, penalty=penalty, probs=probs, classes=["bad", "good"])
        assert found.summary.accuracy > 0.85


def test_columns_that_are_clearly_those_of_other_classes_are_refused(scored: Path) -> None:
    with pytest.raises(DataError, match="Give `classes`"):
        audit(scored, penalty=Penalty.from_rules(["1", "0"], {}), probs="score")


def test_calibration_is_measured_where_there_is_an_answer(tmp_path: Path) -> None:
    rows = ["truth,predicted,prob_a,prob_b", "a,a,0.9,0.1", "b,b,0.2,0.8", "a,(abstained),0.4,0.6"]
    (tmp_path / "some.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "answered.csv").write_text("\n".join(rows[:3]) + "\n")
    some, answered = (audit(tmp_path / f"{name}.csv") for name in ("some", "answered"))
    assert some.summary.ece == answered.summary.ece


def test_answers_that_do_not_fit_the_probabilities_are_noted(tmp_path: Path) -> None:
    rows = ["truth,predicted,prob_a,prob_b", "a,b,0.9,0.1", "b,a,0.2,0.8", "a,a,0.6,0.4"]
    (tmp_path / "shuffled.csv").write_text("\n".join(rows) + "\n")
    assert any("in the same order" in note for note in audit(tmp_path / "shuffled.csv").notes)
