"""The three forms of a penalty as torch buffers that follow a module to its device.

Each answers two questions without ever holding k x k numbers unless the penalty itself is dense:

    rows(target)  (N,) class indices -> (N, k), row i of A for each target i, freshly allocated
    mix(probs)    (N, k) -> (N, k), probs @ A: expected costs, or the rows for soft targets
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from untrue.array_types import FloatArray
from untrue.errors import PenaltyError
from untrue.penalty.base import Penalty
from untrue.penalty.dense import DensePenalty
from untrue.penalty.device_buffers import DeviceBuffers
from untrue.penalty.rules import RulesPenalty
from untrue.penalty.tree import TreePenalty

# Beyond this many classes a dense matrix is held in float32 even if that rounds its costs.
EXACT_CLASSES = 2048


class Costs(DeviceBuffers):
    """A penalty on a device."""

    n_classes: int

    def rows(self, target: Tensor, dtype: torch.dtype) -> Tensor:
        raise NotImplementedError

    def mix(self, probs: Tensor) -> Tensor:
        raise NotImplementedError


class DenseCosts(Costs):
    matrix: Tensor

    def __init__(self, penalty: DensePenalty) -> None:
        super().__init__()
        self.n_classes = penalty.n_classes
        single = self.n_classes > EXACT_CLASSES or _is_single(penalty.costs)
        self._hold("matrix", penalty.costs.astype(np.float32) if single else penalty.costs)

    def rows(self, target: Tensor, dtype: torch.dtype) -> Tensor:
        return torch.index_select(self.matrix, 0, target).to(dtype)

    def mix(self, probs: Tensor) -> Tensor:
        return product(probs, self.matrix.to(probs.dtype))


class RulesCosts(Costs):
    default: Tensor
    starts: Tensor
    true: Tensor
    predicted: Tensor
    costs: Tensor
    excess: Tensor

    def __init__(self, penalty: RulesPenalty) -> None:
        super().__init__()
        self.n_classes = penalty.n_classes
        self.most = int(np.diff(penalty.starts).max())  # rules in the longest row
        default = penalty.open_default
        self.single = self.n_classes > EXACT_CLASSES or _is_single(default, penalty.costs)
        self._hold("default", default)
        for name in ("starts", "true", "predicted", "costs", "excess"):
            self._hold(name, getattr(penalty, name))

    def rows(self, target: Tensor, dtype: torch.dtype) -> Tensor:
        own = target[:, None]
        rows = self.default.to(dtype)[own].repeat(1, self.n_classes)
        if self.most:
            rule, there = ragged(self.starts, target, self.most)
            # What is not there is written on the diagonal, which is cleared last.
            column = torch.where(there, self.predicted[rule], own)
            rows = _write(rows, column, self.costs.to(dtype)[rule])
        return _clear(rows, own)

    def mix(self, probs: Tensor) -> Tensor:
        # In double precision: the sum without one's own share is a difference of near equals.
        weighted = in_double(probs) * self.default
        mixed = weighted.sum(-1, keepdim=True) - weighted
        if self.most:
            extra = in_double(probs)[..., self.true] * self.excess
            mixed = mixed.index_add(-1, self.predicted, extra)
        return mixed.clamp(min=0.0).to(probs.dtype)


class TreeCosts(Costs):
    slots: Tensor
    first: Tensor
    last: Tensor
    ends: Tensor
    steps: Tensor
    parents: Tensor
    parent_costs: Tensor
    path: Tensor
    starts: Tensor
    row_scale: Tensor

    def __init__(self, penalty: TreePenalty) -> None:
        super().__init__()
        layout, (path, starts) = penalty.layout, penalty.paths
        self.n_classes, self.n_nodes = penalty.n_classes, len(layout.ends)
        self.deepest = int(np.diff(starts).max())  # parting nodes on the longest path
        self.single = self.n_classes > EXACT_CLASSES or (
            _is_single(penalty.height_costs) and bool((penalty.row_scale == 1.0).all())
        )
        for name in ("slots", "first", "last", "ends", "steps", "parent_costs"):
            self._hold(name, getattr(layout, name))
        # The one index that is read for every class of every example is held small.
        self._hold("parents", layout.parents.astype(np.int32))
        self._hold("path", path)
        self._hold("starts", starts)
        self._hold("row_scale", penalty.row_scale)

    def rows(self, target: Tensor, dtype: torch.dtype) -> Tensor:
        if not self.n_nodes:  # a single class: no two part anywhere
            return self.row_scale.new_zeros(len(target), self.n_classes, dtype=dtype)
        # Over the nodes in depth-first order a row is piecewise constant: write its jumps, sum
        # them up, and hand each class the cost at the node above it.
        index, there = ragged(self.starts, target, self.deepest)
        node = self.path[index]
        step = self.steps[node] * there * self.row_scale[target][:, None]
        jumps = step.new_zeros(len(target), self.n_nodes + 1)
        jumps = jumps.scatter_add(1, node, -step).scatter_add(1, self.ends[node], step)
        at_node = jumps.cumsum(1).to(dtype)
        rows = torch.index_select(at_node, 1, self.parents)
        return _clear(rows, target[:, None])

    def mix(self, probs: Tensor) -> Tensor:
        if not self.n_nodes:
            return probs * 0.0
        # In double precision: masses are differences of cumulative sums.
        scaled = in_double(probs) * self.row_scale
        sums = nn.functional.pad(scaled[..., self.slots].cumsum(-1), (1, 0))
        flow = self.steps * (sums[..., self.last] - sums[..., self.first])
        change = nn.functional.pad(flow, (0, 1)).index_add(-1, self.ends, -flow)
        below = -change.cumsum(-1)
        mixed = below[..., self.parents] - self.parent_costs * scaled
        return mixed.clamp(min=0.0).to(probs.dtype)


def _is_single(*costs: FloatArray) -> bool:
    """Whether float32 holds these costs exactly."""
    return all(bool((part.astype(np.float32) == part).all()) for part in costs)


def transforming() -> bool:
    """Whether a `torch.func` transform is active: those want operations that make new tensors."""
    active = getattr(torch._C, "_are_functorch_transforms_active", None)
    return bool(active and active())


def product(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b`, in their own precision even where autocast would round them to half."""
    device = a.device.type
    if not (torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)):
        return a @ b
    with torch.autocast(device, enabled=False):
        return a @ b


def _write(rows: Tensor, columns: Tensor, values: Tensor) -> Tensor:
    """`rows[n, columns[n]] = values[n]`, in place where that is allowed."""
    if transforming():
        return rows.scatter(1, columns, values)
    return rows.scatter_(1, columns, values)


def _clear(rows: Tensor, own: Tensor) -> Tensor:
    """A right answer is free."""
    return _write(rows, own, torch.zeros_like(own, dtype=rows.dtype))


def in_double(probs: Tensor) -> Tensor:
    """In double precision, where the device has it."""
    return probs.float() if probs.device.type == "mps" else probs.double()


def ragged(starts: Tensor, target: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """(N, most) positions in a flat list of lists, and whether the list of a target is that long.

    The shape depends on the penalty alone, never on the targets, so no value has to be read.
    """
    # Not by indexing, which would take -1 for the last class.
    begin, end = (torch.index_select(starts, 0, at)[:, None] for at in (target, target + 1))
    index = begin + torch.arange(most, device=target.device)
    there = index < end
    return torch.where(there, index, 0), there


def make_costs(penalty: Penalty) -> Costs:
    """The torch side of a penalty."""
    if isinstance(penalty, DensePenalty):
        return DenseCosts(penalty)
    if isinstance(penalty, RulesPenalty):
        return RulesCosts(penalty)
    if isinstance(penalty, TreePenalty):
        return TreeCosts(penalty)
    raise PenaltyError(f"Expected a Penalty; got {type(penalty).__name__}.")


def costs_of(penalty: Penalty, device: torch.device) -> Costs:
    """`make_costs` on a device, made once: it stays with the penalty, and equal penalties share."""
    _attach(penalty, device)
    found: Costs = penalty.__dict__["_costs"][device]
    return found


def _attach(penalty: Penalty, device: torch.device) -> Tensor:
    """What `torch.compile` runs while it traces, where NumPy's part could not be traced.

    It must return a tensor.
    """
    held = penalty.__dict__.setdefault("_costs", {})
    if device not in held:
        held[device] = _remembered(penalty, device)
    return torch.empty(0)


# As `torch.compiler.assume_constant_result` does, which would import the whole compiler to set it:
# as long again as torch itself, in every process that never compiles anything.
_attach._dynamo_marked_constant = True  # type: ignore[attr-defined]


@lru_cache(maxsize=4)
def _remembered(penalty: Penalty, device: torch.device) -> Costs:
    with torch.inference_mode(False):  # else training could not use what is kept
        return make_costs(penalty).to(device)


def expected(penalty: Penalty, probs: Tensor) -> Tensor:
    """`probs @ A`, in the precision of `widened`."""
    given = widened(probs)
    if not isinstance(penalty, DensePenalty) and _plain(probs):
        # NumPy takes a few rows at a time, which stay in the cache: several times faster, and no
        # threads that wait for each other.
        return torch.from_numpy(penalty.expected(given.detach().numpy()))
    return costs_of(penalty, probs.device).mix(given)


def widened(probs: Tensor) -> Tensor:
    """Halves, which end at 65,504, in single precision; whole numbers as doubles."""
    if probs.is_complex():
        raise PenaltyError(f"`probs` must hold real numbers; got {probs.dtype}.")
    if not probs.is_floating_point():
        return in_double(probs)
    return probs.float() if probs.dtype.itemsize < 4 else probs


def _plain(tensor: Tensor) -> bool:
    """Whether it can be had as an array: in main memory, not traced, not differentiated."""
    traced = torch.compiler.is_compiling() or transforming()
    differentiated = tensor.requires_grad and torch.is_grad_enabled()
    return type(tensor) is Tensor and tensor.is_cpu and not traced and not differentiated
