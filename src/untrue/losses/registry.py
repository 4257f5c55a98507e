"""The list of losses, one entry each. Names, numbers, strings: no torch, so all may read it.

A new loss is its file (the function and the module that holds its options), an entry here, and its
card in docs/losses.md. `untrue.losses`, `untrue.functional`, the comparison, the commands' help,
the colours of figures and the property tests all read this list.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from untrue.checks import check_known

if TYPE_CHECKING:
    from torch import nn

    # What type checkers and editors see of `untrue.losses` and `untrue.functional`.
    from untrue.losses.best_epoch import BestEpoch as BestEpoch
    from untrue.losses.best_epoch import KeptEpoch as KeptEpoch
    from untrue.losses.bilinear import BilinearLoss as BilinearLoss
    from untrue.losses.bilinear import LogBilinearLoss as LogBilinearLoss
    from untrue.losses.budgeted import BudgetedLoss as BudgetedLoss
    from untrue.losses.budgeted import BudgetUpdate as BudgetUpdate
    from untrue.losses.budgeted import budgeted_loss as budgeted_loss
    from untrue.losses.emd import SquaredEMDLoss as SquaredEMDLoss
    from untrue.losses.emd import squared_emd_loss as squared_emd_loss
    from untrue.losses.exits import ExitSchedule as ExitSchedule
    from untrue.losses.exits import MultiExitLoss as MultiExitLoss
    from untrue.losses.exits import multi_exit_loss as multi_exit_loss
    from untrue.losses.focal import FocalLoss as FocalLoss
    from untrue.losses.focal import focal_loss as focal_loss
    from untrue.losses.hierarchical import ConditionalSoftmaxLoss as ConditionalSoftmaxLoss
    from untrue.losses.hierarchical import HierarchicalLoss as HierarchicalLoss
    from untrue.losses.hierarchical import conditional_softmax_loss as conditional_softmax_loss
    from untrue.losses.hierarchical import hierarchical_loss as hierarchical_loss
    from untrue.losses.linear_head import LinearHeadLoss as LinearHeadLoss
    from untrue.losses.regression import CostRegressionLoss as CostRegressionLoss
    from untrue.losses.regression import cost_regression_loss as cost_regression_loss
    from untrue.losses.schedule import AlphaSchedule as AlphaSchedule
    from untrue.losses.soft_labels import CostSmoothedLoss as CostSmoothedLoss
    from untrue.losses.soft_labels import SoftLabelLoss as SoftLabelLoss
    from untrue.losses.soft_labels import cost_smoothed_loss as cost_smoothed_loss
    from untrue.losses.soft_labels import soft_label_loss as soft_label_loss
    from untrue.losses.weighted import ClassWeightedLoss as ClassWeightedLoss
    from untrue.losses.weighted import class_weighted_loss as class_weighted_loss

Need = Literal["penalty", "hierarchy", "budgets", "losses"]
# softmax: logits of the classes. costs: the least output is the answer, and there are no
# probabilities. nodes: logits of a hierarchy's nodes, which `loss.log_probs` turns into classes.
Outputs = Literal["softmax", "costs", "nodes"]

CROSS_ENTROPY = "cross-entropy"
# The losses that mix cross-entropy and a cost term by alpha.
MixedName = Literal["bilinear", "log-bilinear"]
MIXED: tuple[MixedName, ...] = get_args(MixedName)


@dataclass(frozen=True, slots=True)
class LossEntry:
    """A loss: what the other packages need to know about it.

    name        what people type
    loss        its class; home: the module that has it
    function    its pair in `untrue.functional`; function_home: where it is, if not at home
    needs       what its class takes first, in this order; its function takes them after the target
    knob        the argument that sets how strongly costs count; None if there is none
    strengths   usual values of the knob, from weak to strong, for costs of at most 1
    options     further arguments that the comparison gives it
    outputs     how the outputs of the network are read
    compared    whether it takes part in a comparison
    short       its label in tables and figures, if not its name
    """

    name: str
    loss: str
    function: str
    home: str
    function_home: str | None = None
    needs: tuple[Need, ...] = ("penalty",)
    knob: str | None = None
    strengths: tuple[float, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    outputs: Outputs = "softmax"
    compared: bool = True
    short: str | None = None

    @property
    def label(self) -> str:
        return self.short or self.name

    @property
    def style(self) -> int:
        """The position of its colour and marker in the palette of the figures."""
        return LOSSES.index(self)

    @property
    def loss_class(self) -> type[nn.Module]:
        """Imports torch."""
        found: type[nn.Module] = getattr(importlib.import_module(self.home), self.loss)
        return found

    def make(self, *needs: Any, strength: float | None = None, **options: Any) -> nn.Module:
        """The loss of what it needs, as the comparison makes it: with `options` and the knob."""
        knob = {} if self.knob is None or strength is None else {self.knob: strength}
        return self.loss_class(*needs, **dict(self.options), **knob, **options)


LOSSES = (
    LossEntry(
        CROSS_ENTROPY,
        short="ce",
        loss="CrossEntropyLoss",
        function="cross_entropy",
        home="torch.nn",
        function_home="torch.nn.functional",
        needs=(),
    ),
    LossEntry(
        "bilinear",
        loss="BilinearLoss",
        function="bilinear_loss",
        home="untrue.losses.bilinear",
        function_home="untrue.functional",
        knob="alpha",
        strengths=(0.6, 0.9, 0.97),
    ),
    LossEntry(
        "log-bilinear",
        loss="LogBilinearLoss",
        function="log_bilinear_loss",
        home="untrue.losses.bilinear",
        function_home="untrue.functional",
        knob="alpha",
        strengths=(0.3, 0.6, 0.9),
    ),
    LossEntry(
        "class-weighted",
        loss="ClassWeightedLoss",
        function="class_weighted_loss",
        home="untrue.losses.weighted",
        knob="power",
        strengths=(0.5, 1.0, 2.0),
    ),
    LossEntry(
        "cost-smoothed",
        loss="CostSmoothedLoss",
        function="cost_smoothed_loss",
        home="untrue.losses.soft_labels",
        knob="epsilon",
        strengths=(0.1, 0.3, 0.6),
        # For costs of at most 1: the costliest mistake gets e^-10 of the weight of the true class.
        options=(("gamma", 10.0),),
    ),
    LossEntry(
        "soft-labels",
        loss="SoftLabelLoss",
        function="soft_label_loss",
        home="untrue.losses.soft_labels",
        needs=("hierarchy",),
        knob="beta",
        # How close the labels are to one class: a large beta is plain cross-entropy.
        strengths=(12.0, 7.0, 4.0),
    ),
    LossEntry(
        "hxe",
        loss="HierarchicalLoss",
        function="hierarchical_loss",
        home="untrue.losses.hierarchical",
        needs=("hierarchy",),
        knob="decay",
        strengths=(0.5, 1.0, 2.0),
        # As in the authors' code: coarse decisions count most.
        options=(("by", "depth"),),
    ),
    LossEntry(
        "sosr",
        loss="CostRegressionLoss",
        function="cost_regression_loss",
        home="untrue.losses.regression",
        knob="scale",
        strengths=(0.3, 1.0, 3.0),
        outputs="costs",
    ),
    LossEntry(
        "squared-emd",
        loss="SquaredEMDLoss",
        function="squared_emd_loss",
        home="untrue.losses.emd",
        knob="strength",
        strengths=(2.0, 8.0, 32.0),
    ),
    LossEntry(
        "conditional-softmax",
        loss="ConditionalSoftmaxLoss",
        function="conditional_softmax_loss",
        home="untrue.losses.hierarchical",
        needs=("hierarchy",),
        outputs="nodes",
    ),
    LossEntry(
        "focal",
        loss="FocalLoss",
        function="focal_loss",
        home="untrue.losses.focal",
        needs=(),
        knob="gamma",
        strengths=(0.5, 2.0, 5.0),
    ),
    LossEntry(
        # Smooths evenly, whatever mistakes cost: shows how much of what cost-smoothed labels gain
        # is smoothing alone.
        "label-smoothing",
        loss="CrossEntropyLoss",
        function="cross_entropy",
        home="torch.nn",
        function_home="torch.nn.functional",
        needs=(),
        knob="label_smoothing",
        strengths=(0.1, 0.3, 0.6),
    ),
    LossEntry(
        "budgeted",
        loss="BudgetedLoss",
        function="budgeted_loss",
        home="untrue.losses.budgeted",
        needs=("penalty", "budgets"),
        compared=False,
    ),
    LossEntry(
        "multi-exit",
        loss="MultiExitLoss",
        function="multi_exit_loss",
        home="untrue.losses.exits",
        needs=("losses",),
        compared=False,
    ),
)
# What else is in `untrue.losses`.
BESIDE = {
    "AlphaSchedule": "untrue.losses.schedule",
    "BestEpoch": "untrue.losses.best_epoch",
    "BudgetUpdate": "untrue.losses.budgeted",
    "ExitSchedule": "untrue.losses.exits",
    "KeptEpoch": "untrue.losses.best_epoch",
    "LinearHeadLoss": "untrue.losses.linear_head",
}

_BY_NAME = {entry.name: entry for entry in LOSSES}
# Of this project; the others are PyTorch's.
OWN = tuple(entry for entry in LOSSES if not entry.home.startswith("torch."))
COMPARED = tuple(entry for entry in LOSSES if entry.compared)
# Where each public name is.
CLASSES = {entry.loss: entry.home for entry in OWN}
FUNCTIONS = {entry.function: entry.function_home or entry.home for entry in OWN}


def find(name: str) -> LossEntry:
    """The entry of a name.

    >>> find("hxe").knob
    'decay'
    """
    check_known("loss", name, _BY_NAME)
    return _BY_NAME[name]


def label_of(name: str) -> str:
    """What tables and figures call a loss."""
    return _BY_NAME[name].label if name in _BY_NAME else name


def style_of(name: str) -> int:
    """The style of a loss in figures; the one after all of them for a name that is not known."""
    return _BY_NAME[name].style if name in _BY_NAME else len(LOSSES)
