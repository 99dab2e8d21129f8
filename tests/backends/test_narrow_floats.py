"""All 65536 patterns of f16 and bf16, read, stored and rounded to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tdsl
from tdsl.backends import lanes
from tdsl.ir.dtypes import DTYPES, DType, bf16, f16, f32, f64
from tdsl.kernel import Kernel

from .dtype_kernels import as_written, vectorized

M = tdsl.dim("M")
NARROW = [f16, bf16]
CODE = [as_written, vectorized]
Array = NDArray[Any]


def patterns(dtype: DType) -> Array:
    return np.arange(65536, dtype=np.uint16).view(dtype.numpy)


def widening(S: DType, T: DType) -> Kernel:
    @tdsl.kernel
    def widen(A: S[M]) -> T[M]:
        C = tdsl.empty((M,), T)
        for i in range(M):
            C[i] = T(A[i])
        return C

    return widen


def copying(S: DType) -> Kernel:
    @tdsl.kernel
    def copy(A: S[M]) -> S[M]:
        C = tdsl.empty((M,), S)
        for i in range(M):
            C[i] = A[i]
        return C

    return copy


def same(actual: Array, expected: Array) -> bool:
    """Whether the bits agree, but for those of NaN, which must have the same sign."""
    with np.errstate(invalid="ignore"):
        nan = np.isnan(actual) & np.isnan(expected)
    bits = np.dtype(f"u{actual.itemsize}")
    return bool(((actual.view(bits) == expected.view(bits)) | nan).all())


@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize("wide", [f32, f64], ids=str)
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_widening_is_exact(dtype: DType, wide: DType, code: Any) -> None:
    given = patterns(dtype)
    with np.errstate(invalid="ignore"):
        expected = given.astype(wide.numpy)
    assert same(code(widening(dtype, wide))(given), expected)


@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_copies_keep_every_bit(dtype: DType, code: Any) -> None:
    given = patterns(dtype)
    result = code(copying(dtype))(given)
    assert (result.view(np.uint16) == given.view(np.uint16)).all()


def around(dtype: DType, wide: DType) -> Array:
    """Return all numbers of *dtype*, what lies half-way, and the neighbours of both."""
    with np.errstate(invalid="ignore"):
        numbers = patterns(dtype).astype(np.float64)
        numbers = np.sort(numbers[np.isfinite(numbers)])
        middles = (numbers[1:] + numbers[:-1]) / 2
        every = np.concatenate([numbers, middles, [dtype.largest * (1 + 2.0**-12)]])
        every = every.astype(wide.numpy)
        below, above = (
            np.nextafter(every, wide.numpy.type(s)) for s in (-np.inf, np.inf)
        )
    specials = np.array([np.inf, -np.inf, np.nan, -np.nan, 1e38, -1e38], wide.numpy)
    return np.concatenate([every, below, above, specials])


@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize("wide", [f32, f64], ids=str)
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_narrowing_rounds_to_nearest_even(dtype: DType, wide: DType, code: Any) -> None:
    given = around(dtype, wide)
    with np.errstate(all="ignore"):
        expected = given.astype(dtype.numpy)
    assert same(code(widening(wide, dtype))(given), expected)


def test_f16_without_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "_has_half", lambda: False)

    @tdsl.kernel
    def in_software(A: f16[M], B: f64[M], C: tdsl.out(f32[M]), D: tdsl.out(f16[M])):
        for i in range(M):
            C[i] = A[i]
        for i in range(M):
            D[i] = f16(B[i])

    given = around(f16, f64)
    with np.errstate(all="ignore"):
        narrow = given.astype(np.float16)
        values = np.resize(patterns(f16), given.shape)
        wide = np.empty(given.shape, np.float32)
        rounded = np.empty(given.shape, np.float16)
        in_software(values, given, wide, rounded)
        assert same(wide, values.astype(np.float32))
    assert same(rounded, narrow)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_integers_become_narrow_floats_as_in_numpy(dtype: DType) -> None:
    wide = (
        np.random.default_rng(0).integers(-(2**62), 2**62, 5000) >> np.arange(5000) % 63
    )
    with np.errstate(over="ignore"):
        expected = wide.astype(dtype.numpy)
    kernel = widening(DTYPES["i64"], dtype)
    assert same(vectorized(kernel)(wide), expected)
