"""Types of arrays, for signatures; masked arrays, by what they leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ArrayOrTensor: TypeAlias = "npt.ArrayLike | torch.Tensor"


def unmasked(value: Any) -> Any:
    """A masked array with None where it is masked, so that this counts as missing.

    np.asarray would take the numbers below the mask. Anything else is left as it is.

    >>> unmasked(np.ma.masked_array([1, 2], mask=[False, True])).tolist()
    [1, None]
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        found = value.data.astype(object)
        found[np.ma.getmaskarray(value)] = None
        return found
    return value
