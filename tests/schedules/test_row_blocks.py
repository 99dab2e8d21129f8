"""Default schedules of kernels whose rows go through several nests, or are added up."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import math

import numpy as np
import pytest

import tdsl
from tdsl import f32
from tdsl.schedules.library import default_schedule
from tdsl.schedules.sketches import sketch
from tdsl.target import AVX512
from tdsl.testing import assert_within_bound

M, N, K, L, D = tdsl.dims("M N K L D")


@tdsl.kernel
def attend(Q: f32[L, D], X: f32[L, D], V: f32[L, D]) -> f32[L, D]:
    """Weigh rows of V by how much rows of X resemble one of Q."""
    R = tdsl.empty((L, D), f32)
    for i in range(L):
        S = tdsl.zeros((L,), f32)
        for j, d in tdsl.grid(L, D):
            S[j] += Q[i, d] * X[j, d]
        top = -math.inf
        for j in range(L):
            top = max(top, S[j])
        total = 0.0
        for j in range(L):
            S[j] = tdsl.exp(S[j] - top)
            total += S[j]
        A = tdsl.zeros((D,), f32)
        for j, d in tdsl.grid(L, D):
            A[d] += S[j] * V[j, d]
        for d in range(D):
            R[i, d] = A[d] / total
    return R


@tdsl.kernel
def activated(A: f32[M, K], B: f32[K, N], bias: f32[N]) -> f32[M, N]:
    """Multiply, add a row and cut off below 0."""
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    for i, j in tdsl.grid(M, N):
        C[i, j] = max(C[i, j] + bias[j], 0.0)
    return C


@tdsl.kernel
def added_up(A: f32[M, N], x: f32[M]) -> f32[N]:
    """Add up rows."""
    y = tdsl.zeros((N,), f32)
    for i, j in tdsl.grid(M, N):
        y[j] += A[i, j] * x[i]
    return y


@tdsl.kernel
def products(A: f32[M, N], x: f32[N]) -> f32[M]:
    """Multiply each row with x."""
    y = tdsl.zeros((M,), f32)
    for i, j in tdsl.grid(M, N):
        y[i] += A[i, j] * x[j]
    return y


@tdsl.kernel
def attracted(X: f32[N]) -> f32[2, N]:
    """Add to two rows in a loop inside of the lanes."""
    F = tdsl.zeros((2, N), f32)
    for i, j in tdsl.grid(N, N):
        d = X[j] - X[i]
        F[0, i] += d * d
        F[1, i] += d
    return F


@tdsl.kernel
def running(A: f32[M, N]) -> f32[M, N]:
    """Return running sums of rows."""
    B = tdsl.empty((M, N), f32)
    for i in range(M):
        s = 0.0
        for j in range(N):
            s += A[i, j]
            B[i, j] = s
    return B


CASES = {
    "attend": (
        attend,
        {"L": 101, "D": 19},
        (
            '.split("i", 48, names=("i_o", "i_i"))',
            '.cache_write("S", "j_t")',
            '.cache_read("X", None',
            '.cache_write("A", "d_1_t")',
            '.parallelize("i_o")',
        ),
    ),
    "activated": (
        activated,
        {"M": 101, "N": 70, "K": 33},
        ('.merge("i_o", "i_1_o")', '.cache_read("B", None', '.parallelize("i_o")'),
    ),
    "added_up": (
        added_up,
        {"M": 37, "N": 2100},
        ('.split("i", 8', '.unroll("i_u")', '.cache_write("y", "j_t")'),
    ),
    "products": (
        products,
        {"M": 39, "N": 101},
        ('.unroll("i_u").rfactor("j_v", memory="register")',),
    ),
    "attracted": (attracted, {"N": 101}, ('.cache_write("F", "i_o")',)),
    "running": (running, {"M": 35, "N": 40}, ('.vectorize("i_v")',)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_default_schedule_has_its_parts(name: str) -> None:
    kernel, _, parts = CASES[name]
    text = str(default_schedule(kernel.function, AVX512, "reassoc"))
    for part in parts:
        assert part in text


@pytest.mark.parametrize("name", CASES)
def test_the_default_schedule_computes_what_the_kernel_says(name: str) -> None:
    kernel, dims, _ = CASES[name]
    random = np.random.default_rng(0)
    inputs = {
        param.tensor.name: random.standard_normal(
            [size.evaluate(dims) for size in param.tensor.shape]
        ).astype(np.float32)
        for param in kernel.function.params
        if not param.returned
    }
    assert_within_bound(kernel(**inputs), kernel, inputs)


@pytest.mark.parametrize("name", ["attend", "activated"])
def test_blocks_are_decisions_that_can_be_taken_back(name: str) -> None:
    kernel, _, _ = CASES[name]
    space = sketch(kernel.function, AVX512, "reassoc")
    made = {p.name: p.choices for p in space.choices}
    (axis,) = (each for each in made if each.endswith(("row_block", "epilogue")))
    plain = {**space.default(), axis: 0 if axis.endswith("row_block") else False}
    assert CASES[name][2][0] not in str(space.build(plain))
