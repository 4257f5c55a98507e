"""A penalty's tensors as the kernel takes them: addresses, once their sizes are checked."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from untrue.functional.native import KERNELS
from untrue.penalty.tensors import EXACT_CLASSES, Costs, DenseCosts, RulesCosts, TreeCosts

DENSE, EACH, RULES, TREE = range(4)
NOTHING = (False, None)


class Described(NamedTuple):
    """How the kernel finds the costs of an example.

    is_double   cost rows are float64
    arguments   addresses and sizes, as the form needs them
    rows        (N, k) what must live as long as its address is used, if nothing else holds it
    """

    form: int
    is_double: bool
    arguments: tuple[int, ...]
    rows: Tensor | None


class _UncoveredError(Exception):
    """These tensors are not for the kernel."""


def describe(
    costs: Costs, target: Tensor, ignore_index: int, dtype: torch.dtype
) -> Described | None:
    """The costs for targets (N,) and logits of a dtype; None if they are not for the kernel."""
    kind = type(costs)
    try:
        if kind is DenseCosts:
            return _dense(costs)
        if kind is RulesCosts:
            return _rules(costs, dtype)
        if kind is TreeCosts:
            return _tree(costs, dtype)
        return _each(costs, target, ignore_index, dtype)
    except _UncoveredError:
        return None


def _each(costs: Costs, target: Tensor, ignore_index: int, dtype: torch.dtype) -> Described:
    """Such as a sum of several forms: its rows are made by torch, one for each example."""
    assert KERNELS is not None
    k, n = costs.n_classes, len(target)
    KERNELS.total_weight(target.data_ptr(), n, k, ignore_index, 0)  # refuses bad targets
    if not all(tensor.is_cpu for tensor in costs.buffers()):
        raise _UncoveredError
    dtype = torch.float64 if k <= EXACT_CLASSES else dtype
    rows = costs.rows(target.masked_fill(target == ignore_index, 0), dtype).contiguous()
    address = _address(rows, dtype, n * k)
    return Described(EACH, dtype == torch.float64, (address,), rows)


def _dense(costs: Costs) -> Described:
    """Remembered, for small batches: what may have changed since is looked at again."""
    matrix, k = costs._buffers["matrix"], costs.n_classes
    held, found = costs.__dict__.get("_described", NOTHING)
    if matrix is held and matrix.data_ptr() == found.arguments[0] and not matrix.requires_grad:
        return found  # type: ignore[no-any-return]
    dtype = torch.float32 if matrix is None or matrix.dtype != torch.float64 else torch.float64
    found = Described(DENSE, dtype is torch.float64, (_address(matrix, dtype, k * k),), None)
    costs.__dict__["_described"] = matrix, found
    return found


def _rules(costs: Costs, dtype: torch.dtype) -> Described:
    held, k = costs._buffers, costs.n_classes
    n_rules = _size(held["costs"])
    arguments = (
        _address(held["default"], torch.float64, k),
        _address(held["starts"], torch.int64, k + 1),
        _address(held["predicted"], torch.int64, n_rules),
        _address(held["costs"], torch.float64, n_rules),
        n_rules,
    )
    return Described(RULES, _in_double(costs, dtype), arguments, None)


def _tree(costs: Costs, dtype: torch.dtype) -> Described:
    held, k = costs._buffers, costs.n_classes
    n_nodes, n_path = _size(held["ends"]), _size(held["path"])
    arguments = (
        _address(held["slots"], torch.int64, k),
        _address(held["first"], torch.int64, n_nodes),
        _address(held["last"], torch.int64, n_nodes),
        _address(held["ends"], torch.int64, n_nodes),
        _address(held["steps"], torch.float64, n_nodes),
        _address(held["parents"], torch.int32, k),
        _address(held["path"], torch.int64, n_path),
        _address(held["starts"], torch.int64, k + 1),
        _address(held["row_scale"], torch.float64, k),
        n_nodes,
        n_path,
    )
    return Described(TREE, _in_double(costs, dtype), arguments, None)


def _in_double(costs: Costs, dtype: torch.dtype) -> bool:
    """Whether rows are written in float64; in float32 they take half of the cache."""
    return dtype == torch.float64 or not getattr(costs, "single", False)


def _size(tensor: Tensor | None) -> int:
    if tensor is None:
        raise _UncoveredError
    return tensor.numel()


def _address(tensor: Tensor | None, dtype: torch.dtype, size: int) -> int:
    """Of a tensor that is as the kernel will read it."""
    if (
        tensor is None
        or tensor.dtype != dtype
        or tensor.numel() != size
        or not tensor.is_cpu
        or not tensor.is_contiguous()
        or tensor.requires_grad
    ):
        raise _UncoveredError
    return tensor.data_ptr()
