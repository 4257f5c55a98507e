"""Every test here runs with each backend that there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from untrue.functional import native
from untrue.functional.native import costs, loss

BACKENDS = ["torch"] if native.KERNELS is None else ["native", "torch"]


@pytest.fixture(params=BACKENDS, scope="module", autouse=True)
def backend(request) -> Iterator[str]:
    """What computes the losses: the C kernels, or the torch formulas."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "torch":
            patch.setattr(loss, "KERNELS", None)
            patch.setattr(costs, "KERNELS", None)
        yield request.param
