"""Where the errors went, as numbers.

From a confusion matrix (rows are the truth): `total_error`, `zone_errors`, `zone_share`,
`coarse_error`, `in_group_share`, `expected_cost`, `adjusted_expected_cost`,
`mistake_severity`, `hierarchical_precision`, `hierarchical_recall`, `hierarchical_f`,
`class_accuracy`, `small_class_accuracy`, `super_class_accuracy`, `typicality`,
`costliest_confusions`. From the answers themselves: `example_costs`;
of actions: `answer_table`, `answer_cells`. From probabilities: `ece`,
`height_at_k`. An interval for any of them: `bootstrap`. All that apply in one record: `summary`.

Arrays may be NumPy arrays, torch tensors or lists; torch is never imported here. A measure
that divides by nothing (the severity of no errors, the accuracy of no examples) is nan.

>>> cm = confusion_matrix([0, 0, 1, 1, 2], [0, 1, 1, 1, 0], 3)
>>> cm.tolist()
[[1, 1, 0], [0, 2, 0], [1, 0, 0]]
>>> total_error(cm), zone_errors(cm, [(2, 0)]), zone_share(cm, [(2, 0)])
(0.4, 1, 0.5)
"""

from __future__ import annotations

from untrue.metrics.answers import AnswerCells, answer_cells, answer_table
from untrue.metrics.confusion import Cells, confusion_cells, confusion_matrix, example_cells
from untrue.metrics.hierarchical import (
    hierarchical_f,
    hierarchical_precision,
    hierarchical_recall,
)
from untrue.metrics.intervals import Interval
from untrue.metrics.measures import (
    Confusion,
    adjusted_expected_cost,
    class_accuracy,
    coarse_error,
    costliest_confusions,
    example_costs,
    expected_cost,
    in_group_share,
    mistake_severity,
    small_class_accuracy,
    super_class_accuracy,
    total_error,
    typicality,
    zone_errors,
    zone_share,
)
from untrue.metrics.probabilities import ece, height_at_k
from untrue.metrics.record import Summary, summary
from untrue.metrics.resampling import bootstrap

__all__ = [
    "AnswerCells",
    "Cells",
    "Confusion",
    "Interval",
    "Summary",
    "adjusted_expected_cost",
    "answer_cells",
    "answer_table",
    "bootstrap",
    "class_accuracy",
    "coarse_error",
    "confusion_cells",
    "confusion_matrix",
    "costliest_confusions",
    "ece",
    "example_cells",
    "example_costs",
    "expected_cost",
    "height_at_k",
    "hierarchical_f",
    "hierarchical_precision",
    "hierarchical_recall",
    "in_group_share",
    "mistake_severity",
    "small_class_accuracy",
    "summary",
    "super_class_accuracy",
    "total_error",
    "typicality",
    "zone_errors",
    "zone_share",
]
