"""Elements of complex and narrow tensors that data chooses."""

from __future__ import annotations

import numpy as np
import pytest

import tdsl
from tdsl import c64, c128, f16, f32, i32, i64, real, u8
from tdsl.errors import TdslError

M, N = tdsl.dims("M N")


@tdsl.kernel
def chosen(A: c64[N], P: i32[M], B: c64[M]) -> c64[M]:
    C = tdsl.empty((M,), c64)
    for i in range(M):
        C[i] = (A[P[i]] + 1) * B[i] if P[i] >= 0 else B[i]
    return C


@tdsl.kernel
def added(P: i32[M], B: c64[M], C: tdsl.inout(c64[N])):
    for i in range(M):
        C[P[i]] += B[i] * B[i]


@tdsl.kernel
def looked_up(A: f16[N], P: u8[M]) -> f32[M]:
    C = tdsl.empty((M,), f32)
    for i in range(M):
        C[i] = A[P[i]] * 2
    return C


def test_gather_in_a_branch_is_no_fault_where_it_is_not_taken() -> None:
    a, b = np.arange(4) * (1 + 2j), np.arange(5) - 1j
    a, b = a.astype(np.complex64), b.astype(np.complex64)
    p = np.array([0, -1, 3, 1, -7], np.int32)
    expected = np.where(p >= 0, (a[p % 4] + 1) * b, b)
    assert np.allclose(chosen(a, p, b), expected)
    with pytest.raises(TdslError, match="A"):
        chosen(a, np.array([4, 0, 0, 0, 0], np.int32), b)


def test_scatter_adds_both_parts() -> None:
    b = (np.arange(5) - 1j).astype(np.complex64)
    p, c = np.array([0, 2, 2, 0, 1], np.int32), np.zeros(3, np.complex64)
    added(p, b, c)
    expected = np.zeros(3, np.complex64)
    np.add.at(expected, p, b * b)
    assert np.allclose(c, expected)


def test_narrow_elements_by_narrow_subscripts() -> None:
    a, p = np.arange(6).astype(np.float16), np.array([5, 0, 3, 3], np.uint8)
    assert (looked_up(a, p) == 2 * a[p].astype(np.float32)).all()


@tdsl.kernel
def turned(P: i32[M], B: c128[M], C: tdsl.inout(c128[N])):
    for i in range(M):
        if real(C[P[i]]) > 0:
            C[P[i]] *= B[i]


@tdsl.kernel
def moved(P: i32[M], B: c128[M], C: tdsl.inout(c128[N])):
    for i in range(M):
        if P[i] >= 0:
            C[P[i]] = C[P[i]] * B[i] + 1


@tdsl.kernel
def hopped(P: i32[M], B: c128[M], C: tdsl.inout(c128[N])):
    for i in range(M):
        C[i64(real(C[P[i]]))] = B[i]


PLACES = np.array([0, -1, 2, 0, 1, 2], np.int32)


def complexes(count: int) -> np.ndarray:
    parts = np.random.default_rng(count).standard_normal((2, count))
    return parts[0] + 1j * parts[1]


def test_a_condition_on_what_is_scattered_holds_for_both_parts() -> None:
    places, b, c = abs(PLACES), complexes(6), np.array([1 + 2j, -1 - 1j, 2 - 3j])
    expected = c.copy()
    for place, factor in zip(places, b, strict=True):
        if expected[place].real > 0:
            expected[place] *= factor
    turned(places, b, c)
    assert np.allclose(c, expected)


def test_a_conditional_scatter_stores_both_parts_of_one_value() -> None:
    b, c = complexes(6), complexes(3)
    expected = c.copy()
    for place, factor in zip(PLACES, b, strict=True):
        if place >= 0:
            expected[place] = expected[place] * factor + 1
    moved(PLACES, b, c)
    assert np.allclose(c, expected)


def test_the_subscript_of_both_parts_is_one() -> None:
    places, c = np.array([0, 2, 1, 0], np.int32), np.array([1 + 5j, 2, 0])
    b, expected = np.array([2 + 1j, 1j, 1 - 1j, 1]), c.copy()
    for place, new in zip(places, b, strict=True):
        expected[int(expected[place].real)] = new
    hopped(places, b, c)
    assert (c == expected).all()
