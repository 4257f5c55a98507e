"""Tensors made from a penalty or a hierarchy, as buffers of a module."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn


class DeviceBuffers(nn.Module):
    """Tensors that follow a module to its device and keep their precision.

    These tensors are fixed: a state with other values is refused, because the rest that was made
    from the penalty or hierarchy (bounds of loops, the penalty of a loss) would not fit.
    """

    _digests: dict[str, bytes]

    def __init__(self) -> None:
        super().__init__()
        self._digests = {}

    def _hold(self, name: str, array: npt.ArrayLike, *, fixed: bool = True) -> None:
        values = np.array(array)
        self.register_buffer(name, torch.from_numpy(values))
        if fixed:
            # A digest, and not the buffer itself: that is empty after `to("meta")` or `to_empty`.
            self._digests[name] = _digest(values)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        for name in self._digests:
            given = state_dict.get(f"{prefix}{name}")
            if isinstance(given, Tensor) and not self._is_own(name, given):
                errors: list[str] = args[-1] if args else kwargs["error_msgs"]
                errors.append(
                    f"`{prefix}{name}` in the state comes from another penalty or hierarchy than "
                    "this loss has. Make the loss with the one that was saved; or leave the keys "
                    "of the loss out of the state and load it with strict=False."
                )
                return
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _is_own(self, name: str, given: Tensor) -> bool:
        own = self.get_buffer(name)
        if given.shape != own.shape:
            return False
        if given.is_meta or (own.is_meta and given.dtype != own.dtype):
            return True  # nothing to compare
        if given.dtype != own.dtype:  # a device without float64 has rounded one of them
            both = (given.detach().cpu().double(), own.cpu().double())
            return torch.allclose(*both, rtol=1e-6, atol=0.0)
        return _digest(given.detach().cpu().numpy()) == self._digests[name]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        # Costs follow the device but keep their dtype: a model cast to half still has exact costs.
        def move(tensor: Tensor) -> Tensor:
            probe = fn(tensor.new_empty(0, dtype=torch.float32))
            if probe.dtype == torch.float32 and probe.device.type != "mps":
                return fn(tensor)
            single = probe.device.type == "mps" and tensor.dtype == torch.float64
            return (tensor.float() if single else tensor).to(probe.device)

        return super()._apply(move, recurse)  # type: ignore[no-untyped-call]


def _digest(values: npt.NDArray[Any]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).digest()
