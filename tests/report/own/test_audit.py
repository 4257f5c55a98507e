"""The words and figures of an audit's page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from untrue import Hierarchy, Penalty
from untrue.metrics import Interval
from untrue.report.document.page import render
from untrue.report.document.styles import number
from untrue.report.own import audit as audit_page
from untrue.report.own.measures import costliest, signed, zone_words
from untrue.tools.auditing.audit import AuditResult, audit


def audited(
    folder: Path,
    penalty: Penalty,
    probs: np.ndarray,
    true: np.ndarray,
    tree: Hierarchy | None = None,
) -> AuditResult:
    names = penalty.classes
    columns = {f"prob_{name}": probs[:, j] for j, name in enumerate(names)}
    table = pa.table({"truth": np.array(names)[true], **columns})
    pa.parquet.write_table(table, folder / "p.parquet")
    return audit(folder / "p.parquet", penalty=penalty, resamples=200)


def drawn(
    k: int, n: int, *, sharpness: float = 1.0, doubt: float = 0.7
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities, calibrated when sharpness is 1, and truths drawn from them."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([doubt] * k, size=n)
    true = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    sharp = probs**sharpness
    return sharp / sharp.sum(axis=1, keepdims=True), true


COSTS = Penalty.from_rules(["a", "b", "c"], {("a", "b"): 30.0})


def test_calibrated_probabilities_make_the_decision_pay(tmp_path: Path) -> None:
    found = audited(tmp_path, COSTS, *drawn(3, 1500))
    sentence = audit_page.decision_sentence(found)
    assert sentence == "Deciding by cost lowers the cost, with no training at all."
    assert "% of all cost is a taken for b." in audit_page.lead(found)
    assert zone_words(found.zone_above) == "The zone: the mistakes that cost more than 1."


def test_wild_probabilities_are_called_so(tmp_path: Path) -> None:
    probs, true = drawn(3, 1500, sharpness=30.0)
    found = audited(tmp_path, COSTS, probs, true)
    assert "calibrate them first" in audit_page.decision_sentence(found)
    assert "too sure of itself" in audit_page.reliability_figure(found).see
    mild = Penalty.from_rules(["a", "b", "c"], {("a", "b"): 3.0})
    flat = audited(tmp_path, mild, *drawn(3, 1500, sharpness=0.02, doubt=0.1))
    assert "raises the cost: the probabilities are misleading" in audit_page.decision_sentence(flat)
    assert "less sure than it could be" in audit_page.reliability_figure(flat).see


def test_costs_in_thousands_are_written_out(tmp_path: Path) -> None:
    probs, true = drawn(3, 300)
    found = audited(tmp_path, Penalty.from_rules(["a", "b", "c"], {}, default=4321.0), probs, true)
    tables = (audit_page.summary_table(found), audit_page.decision_table(found))
    assert all(
        "e+" not in cell for table in tables if table for row in table.shown() for cell in row
    )
    assert number(found.summary.expected_cost) in tables[0].to_markdown()  # type: ignore[arg-type]
    change = Interval(-1234.5, -1400.0, 15.0, 0.95)
    assert signed(change) == "-1,234 [-1,400, +15]"
    assert signed(change, digits="+.2g") == "-1,234 [-1,400, +15]"


def test_a_model_that_is_as_sure_as_it_is_right_is_neither_too_sure_nor_too_careful(
    tmp_path: Path,
) -> None:
    true = np.array([0, 1, 2] * 20)
    found = audited(tmp_path, COSTS, np.eye(3)[true], true)
    assert "confidence equals accuracy. This model is" in audit_page.reliability_figure(found).see
    assert "sure" not in audit_page.reliability_figure(found).see


def test_costs_that_are_all_alike_put_every_error_in_the_zone_and_change_nothing(
    tmp_path: Path,
) -> None:
    found = audited(tmp_path, Penalty.from_rules(3, {}), *drawn(3, 200))
    assert "the mistakes that cost anything" in zone_words(found.zone_above)
    assert "are the answers given" in audit_page.decision_sentence(found)
    assert found.summary.zone_errors == found.summary.errors
    figure = audit_page.confusion_figure(found, cost=False)
    assert figure is not None
    assert figure.zone is None


def test_super_classes_stand_side_by_side_in_the_matrix(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(6)]
    tree = Hierarchy.from_groups({"even": names[::2], "odd": names[1::2]}, classes=names)
    found = audited(tmp_path, Penalty.from_hierarchy(tree), *drawn(6, 300))
    figure = audit_page.confusion_figure(found, cost=True)
    assert figure is not None
    assert figure.classes == ("c0", "c2", "c4", "c1", "c3", "c5")
    counts = audit_page.dense_counts(found.confusion)
    wanted = counts[0, 3] * found.penalty.cost("c0", "c3")
    assert figure.panels[0].values[0, 4] == pytest.approx(wanted)


def test_of_many_classes_those_that_cost_most_are_shown_each_with_its_name(tmp_path: Path) -> None:
    found = audited(tmp_path, Penalty.from_rules(60, {}), *drawn(60, 900))
    for cost, which in ((True, "whose errors cost the most"), (False, "with the most errors")):
        figure = audit_page.confusion_figure(found, cost=cost)
        assert figure is not None
        assert figure.see.endswith(f" Shown are the 40 of 60 classes {which}.")
        assert figure.ticks()[1] == figure.classes


def test_the_table_of_confusions_adds_up(tmp_path: Path) -> None:
    found = audited(tmp_path, COSTS, *drawn(3, 300))
    table = costliest(found.summary)
    assert table.see == "Together 100 % of all cost."
    assert sum(row[5] for row in table.rows if isinstance(row[5], float)) == pytest.approx(100)
    assert [row[4] for row in table.rows] == sorted((row[4] for row in table.rows), reverse=True)  # type: ignore[type-var]


def test_the_page_names_its_columns_and_notes(tmp_path: Path) -> None:
    found = audited(tmp_path, COSTS, *drawn(3, 100))
    page = render(audit_page.audit_page(found))
    assert "&#39;prob_a&#39; to &#39;prob_c&#39;" in page
    assert "No column of predictions: the most probable class is taken for the answer." in page


def test_a_budget_on_names_with_spaces_is_one_piece_of_code() -> None:
    truth = ["ring finger", "thumb"] * 40
    found = audit(truth, truth, budgets=["ring finger->thumb <= 20%"])
    assert "<code>ring finger-&gt;thumb &lt;= 20%</code>: kept" in render(
        audit_page.audit_page(found)
    ).replace(' class="short"', "")
