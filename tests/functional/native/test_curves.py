"""The kernel's exponential and logarithm: the error that is claimed of them, measured."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

# In doubles for float32 logits, in doubles for float64 logits, in floats.
FOR_SINGLE, FOR_DOUBLE, IN_FLOATS = range(3)
# The greatest relative error.
EXP_ERROR = {FOR_SINGLE: 2.0e-9, FOR_DOUBLE: 5e-16, IN_FLOATS: 1.0e-7}
LOG_ERROR = {FOR_SINGLE: 4.1e-9, FOR_DOUBLE: 1e-15}
# e to less than this is 0
LEAST = {FOR_SINGLE: -708.0, FOR_DOUBLE: -708.0, IN_FLOATS: -87.0}


def applied(function, values, precision: int):
    source = np.ascontiguousarray(values, dtype=np.float64)
    result = np.full_like(source, np.nan)
    function(source.ctypes.data, result.ctypes.data, len(source), precision)
    return result


def worst(found, exact) -> float:
    return max(
        float(abs((mpmath.mpf(f) - e) / e)) for f, e in zip(found.tolist(), exact, strict=True)
    )


@pytest.mark.parametrize("precision", EXP_ERROR)
def test_exponential(instruction_set, kernels, precision) -> None:
    rng = np.random.default_rng(0)
    wide = rng.uniform(0, -LEAST[precision] - 0.5, 1001)
    x = -np.concatenate([rng.uniform(0, 1.5, 3000), wide, [0.0, 1e-300]])
    if precision == IN_FLOATS:
        x = x.astype(np.float32).astype(np.float64)
    found = applied(kernels.exponential, x, precision)
    assert worst(found, [mpmath.exp(v) for v in x.tolist()]) < EXP_ERROR[precision]
    assert found[-2] == found[-1] == 1.0


@pytest.mark.parametrize("precision", LOG_ERROR)
def test_logarithm(instruction_set, kernels, precision) -> None:
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.uniform(0, 0.5, 3000), 10 ** rng.uniform(-300, -1, 999), [0.5]])
    found = applied(kernels.minus_log1m, p, precision)
    with mpmath.workdps(330):
        exact = [-mpmath.log(1 - mpmath.mpf(v)) for v in p.tolist()]
        assert worst(found, exact) < LOG_ERROR[precision]


@pytest.mark.parametrize("precision", EXP_ERROR)
def test_no_number_and_nearly_none(instruction_set, kernels, precision) -> None:
    odd = np.uint64(0x7FF8000000000001).view(np.float64)  # nan with something in its low bits
    least = LEAST[precision]
    x = np.array([-np.inf, -1e30, -1e4, 1.06 * least, np.nan, odd, -0.0, least])
    found = applied(kernels.exponential, x, precision)
    assert found[:3].tolist() == [0.0, 0.0, 0.0]
    assert 0.0 <= found[3] < np.exp(least)
    assert np.isnan(found[4:6]).all()
    assert found[6] == 1.0
    assert found[7] == pytest.approx(np.exp(least), rel=1e-6)
