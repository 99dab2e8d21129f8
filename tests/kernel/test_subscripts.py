"""Gathers and scatters from text to machine code, and subscripts out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tdsl
from tdsl import f32, i32, i64, u64
from tdsl.backends.error_bound import evaluate_with_bound
from tdsl.backends.reference import interpret
from tdsl.errors import ArgumentError, KernelFaultError, SubscriptError, TdslError
from tdsl.executable import ReferenceBackend
from tdsl.kernel import Kernel
from tdsl.kernel_faults import reject_faults
from tdsl.schedules.library import default_schedule
from tdsl.target import Target

D, M, N, V, W = tdsl.dims("D M N V W")
Array = NDArray[Any]


@tdsl.kernel
def embed(table: f32[V, D], idx: i64[N]) -> f32[N, D]:
    out = tdsl.empty((N, D), f32)
    for i, j in tdsl.grid(N, D):
        out[i, j] = table[idx[i], j]
    return out


@tdsl.kernel
def take(x: f32[V], idx: i32[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[idx[i]]
    return y


@tdsl.kernel
def take_unsigned(x: f32[V], idx: u64[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[idx[i]]
    return y


@tdsl.kernel
def take_wrapped(x: f32[V], idx: u64[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[i64(idx[i])]
    return y


@tdsl.kernel
def pick(x: f32[V, W], rows: i32[N], columns: i64[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[rows[i], columns[i]] * 2.0
    return y


@tdsl.kernel
def column(x: f32[W, V], idx: i64[N]) -> f32[W, N]:
    y = tdsl.empty((W, N), f32)
    for i, j in tdsl.grid(W, N):
        y[i, j] = x[i, idx[j]]
    return y


@tdsl.kernel
def bag(table: f32[V, D], idx: i32[N, M]) -> f32[N, D]:
    out = tdsl.zeros((N, D), f32)
    for i, k, j in tdsl.grid(N, M, D):
        out[i, j] += table[idx[i, k], j]
    return out


@tdsl.kernel
def chain(x: f32[V], outer: i64[W], inner: i32[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        k = outer[inner[i]]
        y[i] = x[k] + 1.0
    return y


@tdsl.kernel
def or_zero(x: f32[V], idx: i64[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[idx[i]] if idx[i] >= 0 and idx[i] < V else 0.0
    return y


@tdsl.kernel
def histogram(idx: i32[N], w: f32[N]) -> f32[V]:
    y = tdsl.zeros(V, f32)
    for i in range(N):
        y[idx[i]] += w[i]
    return y


@tdsl.kernel
def put(idx: i64[N], x: f32[N], y: tdsl.inout(f32[V])):
    for i in range(N):
        y[idx[i]] = x[i]


@tdsl.kernel
def largest(idx: i64[N], x: f32[N], y: tdsl.inout(f32[V])):
    for i in range(N):
        y[idx[i]] = max(y[idx[i]], x[i])


@tdsl.kernel
def count_pairs(rows: i32[N], columns: i64[N], y: tdsl.inout(i64[V, W])):
    for i in range(N):
        y[rows[i], columns[i]] += 1


@tdsl.kernel
def triangle(x: f32[V]) -> f32[N, N]:
    y = tdsl.empty((N, N), f32)
    for i, j in tdsl.grid(N, N):
        y[i, j] = x[i * j]
    return y


def subscripts(count: int, size: int, dtype: Any = np.int64) -> Array:
    random = np.random.default_rng(count * 31 + size)
    return random.integers(0, size, count).astype(dtype)


def numbers(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).random(shape, np.float32)


def updated(ufunc: Any, start: Array, idx: Array, x: Array) -> Array:
    result = start.copy()
    ufunc.at(result, idx, x)
    return result


SIZES = (0, 1, 7, 64, 1003)


@pytest.mark.parametrize("n", SIZES)
def test_gathers(n: int) -> None:
    table, idx = numbers(57, 19), subscripts(n, 57)
    short = idx.astype(np.int32)
    assert np.array_equal(embed(table, idx), table[idx])
    assert np.array_equal(take(table[:, 3].copy(), short), table[short, 3])
    columns = subscripts(n, 19)
    assert np.array_equal(pick(table, short, columns), table[idx, columns] * 2)
    assert np.array_equal(column(table.T.copy(), idx), table.T[:, idx])
    outer, inner = subscripts(30, 57), subscripts(n, 30, np.int32)
    assert np.array_equal(
        chain(table[:, 0].copy(), outer, inner), table[outer[inner], 0] + 1
    )


@pytest.mark.parametrize("n", SIZES)
def test_scatters(n: int) -> None:
    idx, x, y = subscripts(n, 13), numbers(n), numbers(13)
    zero = np.zeros(13, np.float32)
    found = histogram(idx.astype(np.int32), x, V=13)
    assert np.array_equal(found, updated(np.add, zero, idx, x))
    target = y.copy()
    put(idx, x, target)
    expected = y.copy()
    expected[idx] = x
    assert np.array_equal(target, expected)
    target = y.copy()
    largest(idx, x, target)
    assert np.array_equal(target, updated(np.maximum, y, idx, x))


def test_a_sum_of_gathered_rows() -> None:
    table, idx = numbers(11, 33), subscripts(35, 11, np.int32).reshape(7, 5)
    assert np.allclose(bag(table, idx), table[idx].sum(axis=1))


def test_products_of_axes_are_gathers() -> None:
    x = numbers(50)
    i = np.arange(8)
    assert np.array_equal(triangle(x, N=8), x[np.outer(i, i)])
    with pytest.raises(
        SubscriptError, match=r"`i \* j` of `x` .* the size there is 50"
    ):
        triangle(x, N=9)


def test_views() -> None:
    table, idx = numbers(120, 40)[::2, ::2], subscripts(60, 60)[::3]
    assert np.array_equal(embed(table, idx), table[idx])
    fortran = np.asfortranarray(numbers(60, 20))
    assert np.array_equal(embed(fortran, idx), fortran[idx])
    rows, columns = subscripts(99, 60, np.int32), subscripts(99, 20)
    assert np.array_equal(pick(fortran, rows, columns), fortran[rows, columns] * 2)
    counted = np.asfortranarray(np.zeros((60, 20), np.int64))
    count_pairs(rows, columns, counted)
    expected = np.zeros((60, 20), np.int64)
    np.add.at(expected, (rows, columns), 1)
    assert np.array_equal(counted, expected)
    short = subscripts(90, 60, np.int32)[::-3]
    assert np.array_equal(take(table[:, 5], short), table[short, 5])
    backwards = numbers(60)[::-1]
    target = np.zeros((20, 3), np.float32)[:, 1]
    put(subscripts(60, 20), backwards, target)
    written = np.zeros(20, np.float32)
    written[subscripts(60, 20)] = backwards
    assert np.array_equal(target, written)


def test_the_interpreter_and_the_bound_agree() -> None:
    idx, x, y = subscripts(23, 9), numbers(23), numbers(9)
    arrays = {"idx": idx, "x": x, "y": y.copy()}
    dims = {"N": 23, "V": 9}
    values, bound = evaluate_with_bound(put.function, arrays, dims)["y"]
    interpret(put.function, arrays, dims)
    assert np.array_equal(values, arrays["y"])
    assert not bound.any()
    total = {"idx": idx.astype(np.int32), "w": x, "y": np.empty(9, np.float32)}
    values, bound = evaluate_with_bound(histogram.function, total, dims)["y"]
    interpret(histogram.function, total, dims)
    assert np.all(np.abs(values - total["y"]) <= bound)
    assert bound.max() < 1e-5
    gathered = {"x": y, "idx": idx.astype(np.int32)}
    values, bound = evaluate_with_bound(take.function, gathered, dims)["y"]
    assert np.array_equal(values, y[idx]) and not bound.any()


def test_the_bound_claims_nothing_of_what_is_out_of_range() -> None:
    arrays = {"x": numbers(4), "idx": np.array([1, 4, -1, 3], np.int64)}
    dims = {"N": 4, "V": 4}
    values, bound = evaluate_with_bound(or_zero.function, arrays, dims)["y"]
    assert not bound.any()
    assert values[1] == values[2] == 0
    short = {**arrays, "idx": arrays["idx"].astype(np.int32)}
    _, bound = evaluate_with_bound(take.function, short, dims)["y"]
    assert list(np.isinf(bound)) == [False, True, True, False]


def test_a_branch_that_is_not_taken_may_be_out_of_range() -> None:
    idx = np.array([3, -1, 99, 0, -(2**62)] * 20)
    expected = np.where((idx >= 0) & (idx < 4), numbers(4)[idx % 4], 0)
    assert np.array_equal(or_zero(numbers(4), idx), expected)
    assert not or_zero(numbers(0), idx).any()
    assert np.array_equal(on_reference(or_zero)(numbers(4), idx), expected)


@tdsl.kernel
def where_valid(
    x: f32[V], idx: i64[N], y: tdsl.inout(f32[N]), count: tdsl.inout(i64[V])
):
    for i in range(N):
        if idx[i] >= 0:
            t = x[idx[i]]
            if t > 0.25:
                y[i] = t
                count[idx[i]] += 1


def test_conditions_keep_invalid_subscripts_away() -> None:
    x, idx = numbers(30), subscripts(200, 30)
    idx[::3] = -5
    y, count = numbers(200), np.zeros(30, np.int64)
    valid = (idx >= 0) & (x[idx] > 0.25)
    expected = np.where(valid, x[idx], y)
    total = np.bincount(idx[valid], minlength=30)
    for kernel in (where_valid, on_reference(where_valid)):
        out, counted = y.copy(), count.copy()
        kernel(x, idx, out, counted)
        assert np.array_equal(out, expected)
        assert np.array_equal(counted, total)
    dims = {"V": 30, "N": 200}
    arrays = {"x": x, "idx": idx, "y": y.copy(), "count": count.copy()}
    found = evaluate_with_bound(where_valid.function, arrays, dims)
    assert np.array_equal(found["y"][0], expected) and not found["y"][1].any()
    assert np.array_equal(found["count"][0], total) and not found["count"][1].any()


def on_reference(kernel: Kernel) -> Kernel:
    return Kernel(kernel.function, backend=ReferenceBackend())


def line_of(kernel: Any, text: str) -> str:
    """Return the place in this file of the first line of *kernel* with *text*."""
    span = kernel.function.span
    with open(span.file, encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    number = next(n for n in range(span.line, len(lines)) if text in lines[n]) + 1
    return f"test_subscripts.py:{number}"


def changed(array: Array, position: int, value: int) -> Array:
    result = array.copy()
    result[position] = value
    return result


IDX = subscripts(1000, 50)
FAULTS: tuple[tuple[Kernel, Callable[[], tuple[Any, ...]], str, str], ...] = (
    (
        embed,
        lambda: (numbers(50, 8), changed(IDX, 997, 50)),
        "table[idx[i], j]",
        "embed: the subscript `idx[i]` of `table` in {} is 50, but the size "
        "there is 50: allowed are from 0 to 49. What the call has written is undefined",
    ),
    (
        take,
        lambda: (numbers(50), changed(IDX, 0, -1).astype(np.int32)),
        "x[idx[i]]",
        "take: the subscript `idx[i]` of `x` in {} is -1, but the size there is 50: "
        "allowed are from 0 to 49; negative subscripts do not count from the end. What "
        "the call has written is undefined",
    ),
    (
        pick,
        lambda: (numbers(50, 9), IDX.astype(np.int32), changed(IDX % 9, 500, 9)),
        "columns[i]]",
        "pick: the subscript `columns[i]` of `x` in {} is 9, but the size there "
        "is 9: allowed are from 0 to 8. What the call has written is undefined",
    ),
    (
        put,
        lambda: (changed(IDX, 3, 2**40), numbers(1000), numbers(50)),
        "y[idx[i]] =",
        "put: the subscript `idx[i]` of `y` in {} is 1099511627776, but the size "
        "there is 50: allowed are from 0 to 49. What the call has written is undefined",
    ),
    (
        take_unsigned,
        lambda: (numbers(50), np.array([3, 2**64 - 1], np.uint64)),
        "x[idx[i]]",
        "take_unsigned: the subscript `idx[i]` of `x` in {} is 18446744073709551615, "
        "but the size there is 50: allowed are from 0 to 49. What the call has written "
        "is undefined",
    ),
    (
        take_wrapped,
        lambda: (numbers(50), np.array([3, 2**64 - 1], np.uint64)),
        "x[i64(idx[i])]",
        "take_wrapped: the subscript `i64(idx[i])` of `x` in {} is -1, but the size "
        "there is 50: allowed are from 0 to 49; negative subscripts do not count from "
        "the end. What the call has written is undefined",
    ),
    (
        take,
        lambda: (numbers(0), np.array([0], np.int32)),
        "x[idx[i]]",
        "take: the subscript `idx[i]` of `x` in {} is 0, but the size there is 0: "
        "allowed are none, as it is empty. What the call has written is undefined",
    ),
)


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("case", range(len(FAULTS)))
def test_out_of_range(case: int, reference: bool) -> None:
    kernel, arguments, text, message = FAULTS[case]
    called = on_reference(kernel) if reference else kernel
    with pytest.raises(SubscriptError) as caught:
        called(*arguments())
    assert str(caught.value) == message.format(line_of(kernel, text))
    assert isinstance(caught.value, IndexError)
    assert isinstance(caught.value, TdslError)


def test_a_call_after_a_fault_is_clean() -> None:
    with pytest.raises(SubscriptError):
        take(numbers(5), np.array([5], np.int32))
    assert np.array_equal(take(numbers(5), np.array([4], np.int32)), numbers(5)[4:])


def test_every_element_of_a_parallel_loop_is_checked() -> None:
    x, idx = numbers(50), IDX.astype(np.int32)
    for position in range(0, 1000, 37):
        with pytest.raises(SubscriptError, match="is 1234, but"):
            take(x, changed(idx, position, 1234))


def test_kernels_without_gathers_call_compiled_code_directly() -> None:
    @tdsl.kernel
    def double(x: f32[N]) -> f32[N]:
        y = tdsl.empty(N, f32)
        for i in range(N):
            y[i] = x[i] * 2.0
        return y

    entry = double.compile(double.schedule()).entry_for(["C", "C"])
    assert type(entry).__name__ == "CPUDispatcher"


def test_a_schedule_of_a_gather() -> None:
    schedule = take.schedule().split("i", 48).vectorize("i_i").parallelize("i_o")
    scheduled = take.with_schedule(schedule)
    x, idx = numbers(50), IDX.astype(np.int32)
    assert np.array_equal(scheduled(x, idx), x[idx])
    with pytest.raises(SubscriptError):
        scheduled(x, changed(idx, 999, 50))


def test_default_schedules() -> None:
    target = Target("some", "some", (), vector_bits=512, vector_registers=32, cores=2)

    def steps(kernel: Kernel) -> str:
        return str(default_schedule(kernel.function, target))

    assert steps(embed) == (
        'schedule.split("j", 64, names=("j_o", "j_v")).reorder("i", "j_o", "j_v")'
        '.vectorize("j_v").parallelize("i")'
    )
    assert 'vectorize("i_v").parallelize("i_o")' in steps(take)
    assert steps(put) == "schedule"


def test_scattered_results_need_a_start() -> None:
    @tdsl.kernel
    def permuted(idx: i64[N], x: f32[N]) -> f32[N]:
        y = tdsl.empty(N, f32)
        for i in range(N):
            y[idx[i]] = x[i]
        return y

    with pytest.raises(KernelFaultError) as caught:
        reject_faults(permuted.function)
    assert caught.value.msg == (
        "permuted: the kernel may leave y[0] unwritten: it writes only elements that a "
        "subscript chooses when it runs for N=1: write every element first, for "
        "instance with tdsl.zeros"
    )


def test_gathers_need_all_elements() -> None:
    @tdsl.kernel
    def early(idx: i64[N], x: f32[N]) -> f32[N]:
        t = tdsl.empty(N, f32)
        y = tdsl.empty(N, f32)
        for i in range(N):
            t[i] = x[i]
            y[i] = t[idx[i]]
        return y

    with pytest.raises(KernelFaultError) as caught:
        reject_faults(early.function)
    assert caught.value.msg == (
        "early: the kernel may read t[1], which nothing has written: it gathers by a "
        "subscript that is known only when it runs for N=2: write every element first, "
        "for instance with tdsl.zeros"
    )


def test_subscripts_are_arguments_like_others() -> None:
    with pytest.raises(ArgumentError):
        take(numbers(5), np.zeros((2, 2), np.int32))
