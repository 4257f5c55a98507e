"""Costs of each example as torch buffers: the rows and mixtures of a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from untrue.errors import ArgumentError
from untrue.penalty.per_example import ExamplePenalty
from untrue.penalty.tensors import Costs, in_double, make_costs


class GivenRows(Costs):
    """Rows of costs (N, C) that a caller computed: what each answer would cost each example."""

    def __init__(self, rows: Tensor) -> None:
        super().__init__()
        self.n_classes = rows.shape[1]
        self.given = rows

    def rows(self, target: Tensor, dtype: torch.dtype) -> Tensor:
        own = target[:, None]
        return self.given.to(dtype).scatter(1, own, torch.zeros_like(own, dtype=dtype))

    def mix(self, probs: Tensor) -> Tensor:  # noqa: ARG002
        raise ArgumentError(
            "Rows of `costs` are those of an example's true class: `target` must be class indices, "
            "not probabilities. Give `costs` as an ExamplePenalty."
        )


class ExampleRows(Costs):
    """The costs of a batch of examples on a device; row n of every input is example n."""

    true: Tensor
    predicted: Tensor
    values: Tensor
    base_costs: Tensor

    def __init__(self, penalty: ExamplePenalty) -> None:
        super().__init__()
        self.n_classes = penalty.n_classes
        self.base = make_costs(penalty.base)
        self._hold("true", penalty.true)
        self._hold("predicted", penalty.predicted)
        self._hold("values", penalty.values[:, penalty.column])
        self._hold("base_costs", penalty.base_costs)

    def rows(self, target: Tensor, dtype: torch.dtype) -> Tensor:
        own = target[:, None]
        # Cells of other true classes are written to the diagonal, which is then cleared.
        column = torch.where(own == self.true, self.predicted, own)
        rows = self.base.rows(target, dtype).scatter(1, column, self.values.to(dtype))
        return rows.scatter(1, own, torch.zeros_like(own, dtype=dtype))

    def mix(self, probs: Tensor) -> Tensor:
        # In double precision: what replaces a large cost of `base` is a difference from it.
        wide = in_double(probs)
        extra = wide[:, self.true] * (self.values - self.base_costs).to(wide.dtype)
        mixed = self.base.mix(wide).index_add(1, self.predicted, extra)
        return mixed.clamp(min=0.0).to(probs.dtype)
