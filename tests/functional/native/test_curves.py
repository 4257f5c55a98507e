"""The kernel's exponential and logarithm: the error that is claimed of them, measured."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

# The greatest relative error, of the polynomials for float32 logits and of those for float64.
EXP_ERROR = {False: 2.0e-9, True: 5e-16}
LOG_ERROR = {False: 4.1e-9, True: 1e-15}
LEAST = -708.0  # e to less than this is 0


def applied(function, values, is_double: bool):
    source = np.ascontiguousarray(values, dtype=np.float64)
    result = np.full_like(source, np.nan)
    function(source.ctypes.data, result.ctypes.data, len(source), is_double)
    return result


def worst(found, exact) -> float:
    return max(
        float(abs((mpmath.mpf(f) - e) / e)) for f, e in zip(found.tolist(), exact, strict=True)
    )


@pytest.mark.parametrize("is_double", [False, True])
def test_exponential(instruction_set, kernels, is_double) -> None:
    rng = np.random.default_rng(0)
    x = -np.concatenate([rng.uniform(0, 1.5, 3000), rng.uniform(0, 707, 1001), [0.0, 1e-300]])
    found = applied(kernels.exponential, x, is_double)
    assert worst(found, [mpmath.exp(v) for v in x.tolist()]) < EXP_ERROR[is_double]
    assert found[-2] == found[-1] == 1.0


@pytest.mark.parametrize("is_double", [False, True])
def test_logarithm(instruction_set, kernels, is_double) -> None:
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.uniform(0, 0.5, 3000), 10 ** rng.uniform(-300, -1, 999), [0.5]])
    found = applied(kernels.minus_log1m, p, is_double)
    with mpmath.workdps(330):
        exact = [-mpmath.log(1 - mpmath.mpf(v)) for v in p.tolist()]
        assert worst(found, exact) < LOG_ERROR[is_double]


@pytest.mark.parametrize("is_double", [False, True])
def test_no_number_and_nearly_none(instruction_set, kernels, is_double) -> None:
    odd = np.uint64(0x7FF8000000000001).view(np.float64)  # nan with something in its low bits
    x = np.array([-np.inf, -1e300, -1e4, -745.2, np.nan, odd, -0.0, LEAST])
    found = applied(kernels.exponential, x, is_double)
    assert found[:3].tolist() == [0.0, 0.0, 0.0]
    assert 0.0 <= found[3] < 1e-300
    assert np.isnan(found[4:6]).all()
    assert found[6] == 1.0
    assert found[7] == pytest.approx(np.exp(LEAST), rel=1e-8)
