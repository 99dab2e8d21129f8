"""Operations and bytes are counted exactly, whatever the bounds."""

from __future__ import annotations

import pytest

import tdsl
from tdsl import c64, c128, f16, f32, f64, i32, i64
from tdsl.analysis.cost import Moved, arithmetic, cost, moved
from tdsl.ir.dtypes import DType
from tdsl.ir.nodes import Function
from tdsl.schedules.schedule import Schedule

from .. import kernels
from ..ir_text import read_function

N = tdsl.dim("N")
MATMUL = read_function(kernels.MATMUL)


@tdsl.kernel
def triangle(x: f64[N, N], y: tdsl.inout(f64[N])):
    for i in range(N):
        for j in range(i, N):
            y[i] += tdsl.exp(-x[i, j])


def flops(function: Function, **dims: int) -> int:
    return cost(function, dims).flops


def test_matmul() -> None:
    found = cost(MATMUL, {"M": 3, "N": 5, "K": 7})
    assert found.flops == 2 * 3 * 5 * 7
    assert found.traffic == 4 * (3 * 7 + 7 * 5 + 3 * 5)
    assert found.intensity == pytest.approx(210 / 284)


@pytest.mark.parametrize("size", [0, 1, 2, 17])
def test_triangular(size: int) -> None:
    assert flops(triangle.function, N=size) == 3 * size * (size + 1) // 2


def test_arrays_read_and_written_move_twice() -> None:
    assert cost(triangle.function, {"N": 4}).traffic == 8 * (16 + 2 * 4)


def test_tiling_changes_nothing() -> None:
    tiled = Schedule(MATMUL).split("i", 4).split("k", 3).function
    assert flops(tiled, M=9, N=5, K=7) == flops(MATMUL, M=9, N=5, K=7)


def test_a_large_problem_is_counted_at_once() -> None:
    assert flops(MATMUL, M=4096, N=4096, K=4096) == 2 * 4096**3


def test_complex_operations_are_several_real_ones() -> None:
    @tdsl.kernel
    def product(A: c64[N], B: c64[N], C: tdsl.inout(c64[N])):
        for i in range(N):
            C[i] += A[i] * B[i]

    assert flops(product.function, N=5) == 5 * 8


UPDATE = "def update(A: {0}[N], C: inout {0}[N]) for N:\n    for i in range(N):\n"


@pytest.mark.parametrize(
    ("dtype", "line", "found"),
    [
        (f32, "C[i] = A[i] * A[i]", {f32}),
        (f32, "C[i] += A[i]", {f32}),
        (f64, "C[i] = exp(A[i])", {f64}),
        (f64, "C[i] = -A[i]", {f64}),
        (i32, "C[i] = max(A[i], C[i])", {i32}),
        (f16, "C[i] += A[i]", {f32}),
        (c64, "C[i] += A[i]", {f32}),
        (c128, "C[i] += A[i]", {f64}),
        (f64, "C[i] = A[i]", set()),
        (f64, "C[i] = (A[i] if (A[i] < C[i]) else C[i])", set()),
    ],
    ids=str,
)
def test_what_arithmetic_is_on(dtype: DType, line: str, found: set[DType]) -> None:
    text = UPDATE.format(dtype) + f"        {line}\n"
    assert arithmetic(read_function(text)) == found


def test_what_arithmetic_is_on_beside_the_dtype_of_the_result() -> None:
    @tdsl.kernel
    def mixed(A: f32[N], B: f64[N], C: tdsl.inout(i64[N])):
        for i in range(N):
            C[i] = i64(A[i] * A[i]) + i64(B[i] * B[i])

    assert arithmetic(mixed.function) == {f32, f64, i64}


def test_what_stays_along_the_innermost_loop_is_not_moved() -> None:
    """For each j, x[i, j] is loaded; y[i] is in a register."""
    assert moved(triangle.function, {"N": 4}) == Moved(8 * 10, 0)


def test_loads_and_stores_are_counted_for_each_iteration() -> None:
    @tdsl.kernel
    def smooth(x: f64[N + 2], y: tdsl.inout(f64[N])):
        for i in range(N):
            y[i] += x[i] * x[i] + x[i + 2]

    assert moved(smooth.function, {"N": 5}) == Moved(8 * 5 * 3, 8 * 5)


def test_chosen_elements_are_always_moved() -> None:
    @tdsl.kernel
    def count(at: i64[N], y: tdsl.inout(f64[N])):
        for i in range(N):
            y[at[i]] += 1.0

    assert moved(count.function, {"N": 5}) == Moved(2 * 8 * 5, 8 * 5)
