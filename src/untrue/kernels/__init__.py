"""The C extension, where a compiler was found: the losses, and the derivatives of boosted trees.

The C files are next to this one; `setup.py` compiles them once for each instruction set into
`_kernels`. `UNTRUE_NATIVE=0` in the environment turns it off. No torch.
"""

from __future__ import annotations

import os
from types import ModuleType

SWITCH = "UNTRUE_NATIVE"


def _load() -> tuple[ModuleType | None, str]:
    """The extension, or None and the reason."""
    if os.environ.get(SWITCH, "1") == "0":
        return None, f"{SWITCH}=0 turns the C kernels off"
    try:
        from untrue.kernels import _kernels
    except ImportError as problem:
        return None, f"the C kernels are not built ({problem})"
    return _kernels, ""


KERNELS, REASON = _load()
