"""A penalty to read, as tables and as a page."""

from __future__ import annotations

import pytest

from untrue import Penalty
from untrue.report.own.penalty import cost_tables, penalty_page


@pytest.mark.parametrize(("classes", "whole"), [(120, True), (201, False)])
def test_a_page_is_said_to_have_the_matrix_only_where_it_has(classes: int, whole: bool) -> None:
    penalty = Penalty.random_zone(classes, 50)
    (table,) = cost_tables(penalty, width=80)
    assert ("--html shows the whole matrix" in table.see) == whole
    page = penalty_page(penalty, name="costs.csv")
    assert ("The cost of each mistake" in page) == whole
    assert "--html" not in page


def test_costs_are_numbers_that_a_page_sorts_by_size() -> None:
    costs = {("a", "b"): 9.0, ("a", "c"): 1000.0}
    page = penalty_page(Penalty.from_rules(["a", "b", "c"], costs), name="costs.csv")
    assert 'data-value="1000.0" data-label="cost">1,000<' in page
