"""The C kernel of the bilinear losses: loss and gradient of a row while it is in the cache.

The C files are those of `untrue.kernels`. `UNTRUE_NATIVE=0` in the environment turns it off.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import ModuleType
from typing import Literal

import torch

from untrue import kernels

# Functions by which torch tells what it is doing. Without them the kernel might run where its work
# would not be recorded.
ASKED = ("_len_torch_dispatch_stack", "_get_tracing_state", "_are_functorch_transforms_active")


def _load() -> tuple[ModuleType | None, str]:
    """The extension, or None and the reason."""
    if kernels.KERNELS is None:
        return None, kernels.REASON
    missing = [name for name in ASKED if not hasattr(torch._C, name)]
    if missing:
        return None, f"this version of torch has no {missing[0]}"
    kernels.KERNELS.join_team(_team())
    return kernels.KERNELS, ""


def _team() -> int:
    """The address of the function that runs torch's own threads (GNU OpenMP's), 0 if not found."""
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value or 0
    except (OSError, AttributeError):
        return 0


KERNELS, REASON = _load()


def backend() -> Literal["native", "torch"]:
    """What computes the bilinear losses on the CPU: the C kernels, or the torch formulas.

    Results are the same; the torch formulas also do what the kernels do not cover: other
    devices, soft targets, second derivatives, `torch.compile` and `torch.func`.
    """
    return "torch" if KERNELS is None else "native"


def described() -> str:
    """The backend in a sentence, with the reason or the instruction set."""
    if KERNELS is None:
        return f"torch: {REASON}; the torch formulas are used: same results, slower"
    first, *others = KERNELS.instruction_sets()
    return f"native: {first}" + (f" (also built: {', '.join(others)})" if others else "")
