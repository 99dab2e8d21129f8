"""Calls, searches and conditions around subscripts that data chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32, i32, i64
from tdsl.errors import SubscriptError
from tdsl.executable import ReferenceBackend
from tdsl.kernel import Kernel

M, N = tdsl.dims("M N")


@tdsl.kernel
def take(x: f32[M], p: i32[N]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(N):
        y[i] = x[p[i]]
    return y


@tdsl.kernel
def count(p: i32[N], x: f32[N], h: tdsl.inout(f32[M])):
    for i in range(N):
        if x[i] > 0:
            h[p[i]] += x[i]


@tdsl.kernel
def histogram(
    x: f32[M],
    p: i32[N],
    h: tdsl.inout(f32[M]),
    k: tdsl.out(i64[1]),
    v: tdsl.out(f32[1]),
):
    tdsl.assume(M > 1)
    y = take(x, p)
    count(p, y, h)
    best = tdsl.argmax(h[i] for i in range(M))
    k[0] = best
    v[0] = h[best]
    for i in range(N):
        if p[i] < 2:
            h[p[i]] = 7.0
        else:
            t = x[p[i]]
            if t > 1:
                continue
            h[i % 2] += t


@tdsl.kernel
def from_the_middle(P: i32[M], A: f32[N]) -> f32[M]:
    inner = tdsl.empty((N - 5,), f32)
    for j in range(N - 5):
        inner[j] = A[j + 2]
    C = tdsl.empty((M,), f32)
    for i in range(M):
        C[i] = inner[P[i]]
    return C


@pytest.mark.parametrize("backend", [None, ReferenceBackend()])
def test_they_do_what_python_does(backend: Any) -> None:
    random = np.random.default_rng(0)
    x = random.integers(-3, 4, 8).astype(np.float32)
    p = random.integers(0, 8, 20).astype(np.int32)
    h, k, v = np.zeros(8, np.float32), np.zeros(1, np.int64), np.zeros(1, np.float32)
    Kernel(histogram.function, backend=backend)(x, p, h, k, v)
    expected = np.zeros(8, np.float32)
    for i in range(20):
        if x[p[i]] > 0:
            expected[p[i]] += x[p[i]]
    best = int(expected.argmax())
    assert (k[0], v[0]) == (best, expected[best])
    for i in range(20):
        if p[i] < 2:
            expected[p[i]] = 7
        elif x[p[i]] <= 1:
            expected[i % 2] += x[p[i]]
    np.testing.assert_array_equal(h, expected)


@pytest.mark.parametrize("backend", [None, ReferenceBackend()])
def test_a_local_tensor_of_a_negative_size_has_no_elements(backend: Any) -> None:
    kernel = Kernel(from_the_middle.function, backend=backend)
    places = np.array([0, 1], np.int32)
    assert (kernel(places, np.arange(9, dtype=np.float32)) == [2, 3]).all()
    with pytest.raises(SubscriptError, match="is 0, but the size there is 0"):
        kernel(places, np.ones(2, np.float32))
