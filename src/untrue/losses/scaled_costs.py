"""A penalty whose cells are scaled by budgets' multipliers, as torch buffers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from untrue.budgets import ResolvedBudget
from untrue.budgets.regions import Block
from untrue.penalty.tensors import Costs, in_double, make_costs


class ScaledCosts(Costs):
    """A penalty and its scaled cells, `A + sum_b (m_b - 1) u_b M_b`, on a device.

    Each part is held in its own form and the rows are summed, so that nothing is k x k unless the
    penalty is, and a new multiplier is one number written.
    """

    multipliers: Tensor
    units: Tensor
    updates: Tensor
    about: Tensor

    def __init__(self, base: Costs, budgets: Sequence[ResolvedBudget]) -> None:
        super().__init__()
        self.n_classes = base.n_classes
        self.base = base
        costly = [b for b, budget in enumerate(budgets) if budget.budget.kind == "cost"]
        self.costly = tuple(costly)  # whose cells are all of the penalty's
        self.others = tuple(b for b in range(len(budgets)) if b not in costly)
        self.regions = nn.ModuleList([_costs_of(budgets[b]) for b in self.others])
        self._hold("multipliers", np.ones(len(budgets)), fixed=False)
        self._hold("units", np.array([budget.unit for budget in budgets]))
        self._hold("updates", np.int64(0), fixed=False)
        # Beside the buffer, which is empty after `to("meta")` or `to_empty`.
        self.fingerprint = _fingerprint(budgets)
        self._hold("about", np.int64(self.fingerprint), fixed=False)

    def rows(self, target: Tensor, dtype: torch.dtype) -> Tensor:
        charges, own = self._charges(dtype)
        rows = self.base.rows(target, dtype)
        rows = rows if own is None else rows * own
        for b, region in zip(self.others, self.regions, strict=True):
            rows = rows + charges[b] * region.rows(target, dtype)  # type: ignore[operator]
        return rows

    def mix(self, probs: Tensor) -> Tensor:
        charges, own = self._charges(probs.dtype)
        mixed = self.base.mix(probs)
        mixed = mixed if own is None else mixed * own
        for b, region in zip(self.others, self.regions, strict=True):
            mixed = mixed + charges[b] * region.mix(probs)  # type: ignore[operator]
        return mixed

    def _charges(self, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
        """What each budget adds to a cell of its own, and what multiplies every cost."""
        more = self.multipliers - 1.0
        own = more[list(self.costly)].sum() + 1.0 if self.costly else None
        return (more * self.units).to(dtype), None if own is None else own.to(dtype)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        given = state_dict.get(f"{prefix}about")
        if given is not None and not given.is_meta and int(given) != self.fingerprint:
            # Else one budget's multiplier would silently become another's.
            errors: list[str] = args[-1] if args else kwargs["error_msgs"]
            errors.append("The state is that of a BudgetedLoss with other budgets.")
            return
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class BlockCosts(Costs):
    """1 for every mistake from some classes to some classes: two vectors."""

    true: Tensor
    predicted: Tensor

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.n_classes = len(block.true)
        self._hold("true", block.true.astype(np.float32))
        self._hold("predicted", block.predicted.astype(np.float32))

    def rows(self, target: Tensor, dtype: torch.dtype) -> Tensor:
        own = target[:, None]
        rows = self.true.to(dtype)[own] * self.predicted.to(dtype)
        return rows.scatter(1, own, torch.zeros_like(own, dtype=dtype))

    def mix(self, probs: Tensor) -> Tensor:
        # In double precision: the sum without one's own share is a difference of near equals.
        chosen = in_double(probs) * self.true
        mixed = (chosen.sum(-1, keepdim=True) - chosen) * self.predicted
        return mixed.clamp(min=0.0).to(probs.dtype)


def _costs_of(budget: ResolvedBudget) -> Costs:
    region = budget.region
    return BlockCosts(region) if isinstance(region, Block) else make_costs(region)


def _fingerprint(budgets: Sequence[ResolvedBudget]) -> int:
    """Of what the budgets are about, not of their limits: a limit may be moved between runs."""
    stated = repr([(b.budget.kind, b.budget.true, b.budget.predicted) for b in budgets])
    return int.from_bytes(hashlib.sha256(stated.encode()).digest()[:7], "little")
