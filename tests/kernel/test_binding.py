"""Arguments are matched, dims inferred, and each contradiction has its message."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tdsl
from tdsl import f32, f64, i32
from tdsl.binding import bind
from tdsl.errors import ArgumentError
from tdsl.frontend.parser import parse

M, N, K, H, S = tdsl.dims("M N K H S")
E = tdsl.dim("E", min=4, max=64, multiple=4)


def matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]:
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


def pool(A: f32[2 * H + 1], B: f32[H // 2 + 3], C: tdsl.out(f32[H])):
    for i in range(H):
        C[i] = A[2 * i] + B[i // 2]


def halves(A: f32[(H - 3) // 2 + 1]) -> f32[(H - 3) // 2 + 1]:
    C = tdsl.zeros((H - 3) // 2 + 1, f32)
    for i in range((H - 3) // 2 + 1):
        C[i] = A[i]
    return C


def even(A: tdsl.inout(f64[E, 3])):
    for i in range(E):
        A[i, 0] = A[i, 0] * 2


def scaled(alpha: f32, n: i32, on: tdsl.bool_, X: f32[M], Y: tdsl.inout(f32[M])):
    for i in range(M):
        Y[i] = Y[i] + alpha * X[i] + f32(n) if on else 0


def smooth(X: tdsl.inout(f32[M])):
    for _, i in tdsl.grid(S, M):
        X[i] = X[i] * 0.5


def split(A: f32[M]) -> tuple[f32[M], f32[M]]:
    P = tdsl.zeros(M, f32)
    Q = tdsl.zeros(M, f32)
    for i in range(M):
        P[i] = A[i]
        Q[i] = -A[i]
    return P, Q


def array(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.ones(shape, dtype)


def refusal(function: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        bind(parse(function), args, kwargs)
    return str(caught.value)


def test_dims_come_from_shapes() -> None:
    call = bind(parse(matmul), (array(3, 4), array(4, 5)), {})
    assert call.dims == {"M": 3, "K": 4, "N": 5}
    assert [value.shape for value in call.values] == [(3, 4), (4, 5), (3, 5)]
    assert call.result is call.values[2]


def test_names_and_out() -> None:
    a, b, c = array(3, 4), array(4, 5), array(3, 5)
    call = bind(parse(matmul), (), {"B": b, "A": a, "out": c})
    assert call.values[2] is call.result is c
    assert bind(parse(matmul), (a,), {"B": b, "out": None}).result.shape == (3, 5)


def test_several_results() -> None:
    p = array(4)
    call = bind(parse(split), (array(4),), {"out": (p, None)})
    first, second = call.result
    assert first is p
    assert second.shape == (4,)


def test_expressions_are_solved_and_checked() -> None:
    call = bind(parse(pool), (array(11), array(5), array(5)), {})
    assert call.dims == {"H": 5}
    assert refusal(pool, array(10), array(5), array(5)) == (
        "pool: A has shape (10,): no integer H gives A[2*H + 1] that shape"
    )
    assert refusal(pool, array(11), array(6), array(5)) == (
        "pool: B has shape (6,), but H//2 + 3 in B[H//2 + 3] is 5 for H = 5 "
        "(from A[2*H + 1])"
    )


def test_dims_by_name() -> None:
    call = bind(parse(halves), (array(4),), {"H": 9})
    assert call.dims == {"H": 9}
    assert refusal(halves, array(4)) == (
        "halves: the shapes do not determine dim H: pass H=..."
    )
    assert refusal(halves, array(4), H=5) == (
        "halves: A has shape (4,), but (H + 1)//2 - 1 in A[(H + 1)//2 - 1] is 2 for "
        "H = 5 (from the call)"
    )
    assert refusal(halves, array(4), H=2.0) == (
        "halves: dim H is 2.0, but a size is an integer"
    )
    assert bind(parse(smooth), (array(4),), {"S": np.int64(3)}).dims == {"M": 4, "S": 3}


def test_a_dim_would_have_two_sizes() -> None:
    assert refusal(matmul, array(3, 4), array(5, 6)) == (
        "matmul: A has shape (3, 4) and B has shape (5, 6): dim K would be both 4 "
        "(from A[M, K]) and 5 (from B[K, N])"
    )
    assert refusal(matmul, array(3, 4), array(4, 6), K=5) == (
        "matmul: A has shape (3, 4): dim K would be both 5 (from the call) and 4 "
        "(from A[M, K])"
    )


def test_a_constant_size() -> None:
    assert refusal(even, array(4, 2, dtype=np.float64)) == (
        "even: A has shape (4, 2), but A[E, 3] has size 3 there"
    )


@pytest.mark.parametrize(
    ("size", "fault"),
    [(0, "at least 4"), (68, "at most 64"), (6, "a multiple of 4")],
)
def test_assumptions(size: int, fault: str) -> None:
    assert refusal(even, array(size, 3, dtype=np.float64)) == (
        f"even: dim E is {size} (from A[E, 3]), but must be {fault}"
    )


def test_a_negative_size() -> None:
    assert refusal(smooth, array(4), S=-1) == (
        "smooth: dim S is -1 (from the call), but must be at least 0"
    )


def test_too_few_and_too_many_arguments() -> None:
    assert refusal(matmul, array(3, 4)) == (
        "matmul takes 2 arguments (A, B): B is missing"
    )
    assert refusal(matmul) == "matmul takes 2 arguments (A, B): A, B are missing"
    assert refusal(matmul, 1, 2, 3) == (
        "matmul takes 2 arguments (A, B), but 3 are given"
    )


def test_wrong_names() -> None:
    a, b = array(3, 4), array(4, 5)
    assert refusal(matmul, a, b, B=b) == "matmul: B is given twice"
    assert refusal(matmul, a, b, D=b) == (
        "matmul has no parameter D: it has A, B, K, M, N"
    )
    assert refusal(even, array(4, 3, dtype=np.float64), out=a) == (
        "even returns nothing, so it takes no `out`: its results go into the arrays "
        "that are passed"
    )
    assert refusal(matmul, a, b, out=(a, b)) == (
        "matmul: out has 2, but it is an array for C"
    )
    assert refusal(split, array(4), out=array(4)) == (
        "split: out has 1, but it is a tuple of 2 arrays for P, Q"
    )


def test_out_must_fit() -> None:
    assert refusal(matmul, array(3, 4), array(4, 5), out=array(3, 6)) == (
        "matmul: B has shape (4, 5) and C has shape (3, 6): dim N would be both 5 "
        "(from B[K, N]) and 6 (from C[M, N])"
    )


def test_results_that_do_not_fit_in_memory() -> None:
    wide = np.lib.stride_tricks.as_strided(array(1), (2**31 - 1, 1), (0, 4))
    text = refusal(matmul, wide, wide.T)
    assert re.fullmatch(
        r"matmul: the result C\[M, N\] of shape \(2147483647, 2147483647\) does not "
        r"fit in memory \(.*\)",
        text,
    )


@given(st.data())
def test_inferred_dims_satisfy_every_equation(data: st.DataObject) -> None:
    function = data.draw(st.sampled_from([parse(f) for f in (matmul, pool, even)]))
    sizes = {dim.name: data.draw(st.integers(1, 4)) * 4 for dim in function.dims}
    arrays = [
        np.empty([f.evaluate(sizes) for f in p.tensor.shape], p.tensor.dtype.numpy)
        for p in function.params
        if not p.returned
    ]
    assert bind(function, arrays, {}).dims == sizes
    changed = data.draw(st.integers(0, len(arrays) - 1))
    grown = [size + 1 for size in arrays[changed].shape]
    arrays[changed] = np.empty(grown, arrays[changed].dtype)
    try:
        dims = bind(function, arrays, {}).dims
    except ArgumentError:
        return
    for param, given_array in zip(function.params, arrays, strict=False):
        shape = tuple(form.evaluate(dims) for form in param.tensor.shape)
        assert shape == given_array.shape
