"""Complex numbers: meaning, code in several schedules, memory layouts, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tdsl
from tdsl.backends.complex_parts import split_complex
from tdsl.backends.error_bound import evaluate_with_bound
from tdsl.backends.reference import interpret
from tdsl.ir.dtypes import DTYPES, DType
from tdsl.ir.verify import verify
from tdsl.testing import check

from . import complex_kernels as kernels
from .dtype_kernels import as_written, vectorized

DTYPE = [DTYPES["c64"], DTYPES["c128"]]
COUNT = 37
Array = NDArray[Any]

both = pytest.mark.parametrize("dtype", DTYPE, ids=str)


def numbers(dtype: DType, shape: Any, seed: int, special: bool = False) -> Array:
    random = np.random.default_rng(seed)
    values = np.empty(shape, dtype.numpy)
    for part in (values.real, values.imag):
        part[...] = random.standard_normal(shape)
        if special:
            choice = random.choice([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan], shape)
            part[...] = np.where(random.random(shape) < 0.3, choice, part)
    return values


def same(actual: Array, expected: Array) -> bool:
    """Whether all parts agree, in sign too, where NaN is NaN."""
    if actual.dtype != expected.dtype:
        return False
    if actual.dtype.kind == "c":
        return same(actual.real, expected.real) and same(actual.imag, expected.imag)
    nan = np.isnan(actual) & np.isnan(expected)
    equal = (actual == expected) & (np.signbit(actual) == np.signbit(expected))
    return bool((equal | nan).all())


@both
@pytest.mark.parametrize("special", [False, True])
def test_arithmetic(dtype: DType, special: bool) -> None:
    kernel = kernels.arithmetic(dtype)
    a, b = (numbers(dtype, COUNT, seed, special) for seed in (1, 2))
    a[5], b[5], b[6] = b[7], b[7], 0
    z = complex(numbers(dtype, (), 3))
    meaning = np.empty((9, COUNT), dtype.numpy)
    arrays = {"A": a, "B": b, "z": z, "R": meaning}
    interpret(kernel.function, arrays, {"M": COUNT})
    if not special:
        with np.errstate(all="ignore"):
            x = dtype.numpy.type(z)
            rows = [a + b, a - b, a * b, a / b, -a, a.conj(), b, x * (a + 2j) / (x - b)]
            rows += [a.imag - 1]
        for found, expected in zip(meaning, rows, strict=True):
            finite = np.isfinite(expected)
            eps = float(np.finfo(dtype.numpy).eps)
            assert np.allclose(found[finite], expected[finite], 9 * eps, 0)
    for code in (as_written, vectorized):
        actual = code(kernel)(a, b, z)
        for number, row in enumerate(meaning):
            assert same(actual[number], row), f"row {number}, {code.__name__}"


@both
def test_parts(dtype: DType) -> None:
    kernel = kernels.parts(dtype)
    a, b = (numbers(dtype, COUNT, seed, special=True) for seed in (1, 2))
    a[3] = b[3] = 1 + 2j
    a[4], b[4] = 1 + 2j, 1 + 3j
    large = dtype.largest
    a[5:9] = complex(large / 2, large / 2), complex(0, 0), complex(1e-38, 0), 3 + 4j
    for code in (as_written, vectorized):
        equal = np.empty((2, COUNT), np.bool_)
        result = code(kernel)(a, b, equal)
        assert (equal[0] == (a == b)).all() and (equal[1] == (a != b)).all()
        assert same(result[1], a.imag)
        with np.errstate(all="ignore"):
            size = np.abs(a)
        finite = np.isfinite(size)
        eps = float(np.finfo(dtype.numpy).eps)
        assert np.allclose(result[2][finite], size[finite], 2 * eps, 0)
        assert same(result[2][~finite], size[~finite])


@both
@pytest.mark.parametrize("kernel", [kernels.matmul, kernels.reductions])
def test_default_schedules(dtype: DType, kernel: Any) -> None:
    assert check(kernel(dtype), examples=4).elements > 0


@both
def test_layouts(dtype: DType) -> None:
    kernel = kernels.matmul(dtype)
    a, b = numbers(dtype, (6, 20), 1), numbers(dtype, (20, 40), 2)
    expected = kernel(a, b)
    eps = float(np.finfo(dtype.numpy).eps)
    assert np.allclose(expected, a @ b, 99 * eps)
    fields = np.empty((20, 40), [("flag", dtype.part.numpy), ("value", dtype.numpy)])
    fields["value"] = b
    columns = np.asfortranarray(b)
    for other in (fields["value"], columns, b[::-1, ::-1][::-1, ::-1]):
        assert np.allclose(kernel(a, other), expected, 99 * eps)
    assert np.allclose(kernel(a[::-1, ::-1], b[::-1]), expected[::-1], 99 * eps)


@both
def test_bounds_notice_a_wrong_part(dtype: DType) -> None:
    kernel = kernels.matmul(dtype)
    a, b = numbers(dtype, (5, 30), 1), numbers(dtype, (30, 7), 2)
    dims = {"M": 5, "N": 7, "K": 30}
    ((value, bound),) = evaluate_with_bound(
        kernel.function, {"A": a, "B": b}, dims
    ).values()
    assert (np.abs(kernel(a, b) - value) <= bound).all()
    assert (bound < 1e4 * np.finfo(dtype.numpy).eps * np.abs(value).max()).all()
    wrong = a.copy()
    wrong[2, 3] = wrong[2, 3].conj()
    assert (np.abs(kernel(wrong, b) - value)[2] > bound[2]).all()


@both
def test_split_programs_are_well_formed(dtype: DType) -> None:
    for kernel in (kernels.arithmetic, kernels.parts, kernels.matmul):
        for contract in (False, True):
            split = split_complex(kernel(dtype).function, contract)
            verify(split.function)
            kinds = {param.tensor.dtype.kind for param in split.function.params}
            assert "complex" not in kinds


def test_real_programs_stay_as_they_are() -> None:
    @tdsl.kernel
    def twice(A: tdsl.f32[kernels.M]) -> tdsl.f32[kernels.M]:
        C = tdsl.empty((kernels.M,), tdsl.f32)
        for i in range(kernels.M):
            C[i] = 2 * A[i]
        return C

    assert split_complex(twice.function, True).function is twice.function


@tdsl.kernel
def closed(A: tdsl.inout(tdsl.c128[kernels.M, kernels.M])):
    for k in range(kernels.M):
        for i in range(kernels.M):
            for j in range(kernels.M):
                A[i, j] += A[i, k] * A[k, j]


def test_a_factor_that_is_the_sum_itself_is_read_before_both_parts() -> None:
    a = numbers(DTYPES["c128"], (4, 4), 5) / 4
    expected = a.copy()
    for k, i, j in np.ndindex(4, 4, 4):
        expected[i, j] += expected[i, k] * expected[k, j]
    closed(a)
    assert np.allclose(a, expected, 1e-12)
