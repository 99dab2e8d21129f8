"""The generated call takes the usual path, and hands everything else on."""

from __future__ import annotations

import linecache
import traceback
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32, f64, i32
from tdsl.dispatch import entry_key, make_dispatcher, stride_classes
from tdsl.frontend.parser import parse

M, N, H = tdsl.dims("M N H")
E = tdsl.dim("E", min=4, max=64, multiple=4)


def scale(alpha: f32, A: f32[M, N]) -> f32[M, N]:
    C = tdsl.empty((M, N), f32)
    for i, j in tdsl.grid(M, N):
        C[i, j] = alpha * A[i, j]
    return C


def shift(n: i32, A: f64[2 * H + 1, E], C: tdsl.inout(f64[H])):
    for i in range(H):
        C[i] = C[i] + A[2 * i, 0] * n


def middle(A: f32[M, M]) -> f32[(M + 1) // 2]:
    C = tdsl.empty((M + 1) // 2, f32)
    for i in range((M + 1) // 2):
        C[i] = A[i, i]
    return C


def stretched(k: f64, X: f32[2 * M]) -> f32[4 * M]:
    Y = tdsl.zeros(4 * M, f32)
    for i in range(2 * M):
        Y[i] = X[i] * f32(k)
    return Y


def first(X: f32[2 * M]) -> f32[1]:
    Y = tdsl.empty(1, f32)
    for i in range(1):
        Y[i] = X[i]
    return Y


def fixed(A: f32[2]) -> f32[2]:
    B = tdsl.empty(2, f32)
    for i in range(2):
        B[i] = A[i]
    return B


class Spy:
    """Record the calls of an entry, or of the slow path."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> str:
        self.calls.append(arguments)
        return "spy"


class Setup:
    """A dispatcher whose entries all lead to one spy."""

    def __init__(self, function: Any, *, by_size: bool = False) -> None:
        self.entry, self.slow, self.keys = Spy(), Spy(), []
        self.function = parse(function)
        self.dispatch = make_dispatcher(self.function, self, self.slow, by_size=by_size)

    def get(self, key: Any) -> Any:
        self.keys.append(key)
        return self.entry

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.dispatch(args, kwargs)

    def is_fast(self, *args: Any, **kwargs: Any) -> bool:
        before = len(self.slow.calls)
        self(*args, **kwargs)
        return len(self.slow.calls) == before


def array(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.ones(shape, dtype)


def test_the_entry_gets_arrays_numbers_and_dims() -> None:
    call, a = Setup(scale), array(2, 3)
    c = call(2.0, a)
    assert (c.shape, c.dtype) == ((2, 3), np.float32)
    ((alpha, given, result, *dims),) = call.entry.calls
    assert (alpha, dims) == (2.0, [2, 3])
    assert given is a
    assert result is c


def test_expressions_in_shapes() -> None:
    call = Setup(shift)
    assert call(3, array(11, 8, dtype=np.float64), array(5, dtype=np.float64)) is None
    ((_, _, _, *dims),) = call.entry.calls
    assert dims == [5, 8]
    middle_call = Setup(middle)
    assert middle_call(array(5, 5)).shape == (3,)


def test_the_storage_of_a_result() -> None:
    call, a, c = Setup(scale), array(2, 3), array(2, 3)
    assert call(2.0, a, out=c) is c
    assert call.is_fast(2.0, a, out=np.asfortranarray(c))
    assert call.is_fast(2.0, a, out=array(4, 3)[::2])
    for wrong in (a, a[:], array(3, 2), array(2, 3, dtype=np.float64), [1], None):
        assert not call.is_fast(2.0, a, out=wrong)


def test_numbers() -> None:
    call, a = Setup(scale), array(2, 3)
    for good in (2.0, 2, np.float32(2), np.float64(2), np.int64(2)):
        assert call.is_fast(good, a)
        assert type(call.entry.calls[-1][0]) is float
    for odd in (True, "2", 1e39, float("nan"), np.array(2.0)):
        assert not call.is_fast(odd, a)
    shift_call = Setup(shift)
    x, y = array(11, 8, dtype=np.float64), array(5, dtype=np.float64)
    assert shift_call.is_fast(-(2**31), x, y)
    for odd in (2**31, 1.0, True):
        assert not shift_call.is_fast(odd, x, y)


def test_numbers_that_no_float_holds_go_the_slow_way() -> None:
    call = Setup(stretched)
    assert call.is_fast(10**300, array(2))
    assert not call.is_fast(10**400, array(2))


@pytest.mark.parametrize("size", [8, 2**31, 2**32])
def test_sizes_above_the_limit_go_the_slow_way(size: int) -> None:
    repeated = np.lib.stride_tricks.as_strided(array(1), (size,), (0,))
    assert Setup(first).is_fast(repeated) is (size == 8)


def test_a_result_above_the_limit_goes_the_slow_way() -> None:
    huge = np.lib.stride_tricks.as_strided(array(1), (2**30,), (0,))
    assert not Setup(stretched).is_fast(1.0, huge)


def odd_arrays() -> dict[str, Any]:
    raw = np.zeros(25, np.uint8)
    huge = np.lib.stride_tricks.as_strided(array(1), (2**31, 1), (0, 0))
    return {
        "list": [[1.0]],
        "subclass": array(2, 3).view(np.recarray),
        "dtype": array(2, 3, dtype=np.float64),
        "byte order": array(2, 3, dtype=">f4"),
        "rank": array(2),
        "misaligned": raw[1:].view(np.float32).reshape(2, 3),
        "too large": huge,
    }


@pytest.mark.parametrize("name", odd_arrays())
def test_odd_arrays_go_the_slow_way(name: str) -> None:
    assert not Setup(scale).is_fast(1.0, odd_arrays()[name])


def test_odd_calls_go_the_slow_way() -> None:
    call, a = Setup(scale), array(2, 3)
    assert call() == "spy"
    for args, kwargs in [
        ((1.0,), {}),
        ((1.0, a, a), {}),
        ((1.0,), {"A": a}),
        ((1.0, a), {"out": array(2, 3), "M": 2}),
    ]:
        assert not call.is_fast(*args, **kwargs)


@pytest.mark.parametrize("shape", [(10, 8), (11, 2), (11, 10), (11, 68)])
def test_odd_sizes_go_the_slow_way(shape: tuple[int, int]) -> None:
    call, y = Setup(shift), array(5, dtype=np.float64)
    assert not call.is_fast(1, array(*shape, dtype=np.float64), y)


def test_results_that_cannot_be_written_go_the_slow_way() -> None:
    call, x = Setup(shift), array(11, 8, dtype=np.float64)
    read_only = array(5, dtype=np.float64)
    read_only.flags.writeable = False
    repeated = np.lib.stride_tricks.as_strided(x, (5,), (0,))
    for y in (read_only, x[:5, 0], repeated):
        assert not call.is_fast(1, x, y)
    assert call.is_fast(1, x, array(5, dtype=np.float64)[::-1])
    assert call.is_fast(1, x[::-1], array(10, dtype=np.float64)[::2])


@pytest.mark.parametrize("by_size", [False, True])
def test_the_key_without_dims(by_size: bool) -> None:
    call = Setup(fixed, by_size=by_size)
    result = call(array(2))
    assert call.keys == [entry_key(call.function, (array(2), result), ())]


@pytest.mark.parametrize("by_size", [False, True])
def test_keys_are_those_of_entry_key(by_size: bool) -> None:
    call = Setup(scale, by_size=by_size)
    whole = array(4, 6)
    for a in (array(2, 3), array(1, 1), whole.T, whole[:, :3], whole[::2, ::2]):
        for c in (None, np.empty(a.shape, "f4"), np.empty(a.T.shape, "f4").T):
            result = call(1.0, a) if c is None else call(1.0, a, out=c)
            dims = a.shape if by_size else ()
            assert call.keys[-1] == entry_key(call.function, (1.0, a, result), dims)
    assert len(set(call.keys)) > 6
    assert not call.slow.calls


def test_stride_classes() -> None:
    function, whole = parse(scale), array(4, 6)
    for a, code in [
        (whole, "C"),
        (whole.T, "F"),
        (whole[:, :3], "U"),
        (whole[:, ::2], "A"),
    ]:
        assert stride_classes(function, (1.0, a, whole)) == ("C", code, "C")


@pytest.mark.parametrize("name", ["_entry", "len", "args"])
def test_names_that_the_text_uses(name: str) -> None:
    function = parse(scale)
    first, second, result = function.params
    renamed = replace(second, tensor=replace(second.tensor, name=name))
    function = replace(function, params=(first, renamed, result))
    slow = Spy()
    assert make_dispatcher(function, {}, slow, by_size=False) is slow


def test_a_missing_entry_goes_the_slow_way() -> None:
    slow = Spy()
    call = make_dispatcher(parse(scale), {}, slow, by_size=False)
    assert call((1.0, array(2, 3)), {}) == "spy"


def test_tracebacks_show_the_call() -> None:
    def fail(*arguments: Any) -> None:
        raise RuntimeError("inside")

    call = Setup(scale)
    call.entry = fail  # type: ignore[assignment]
    with pytest.raises(RuntimeError) as caught:
        call(1.0, array(2, 3))
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "_entry(alpha, A, C, M, N)" in lines
    linecache.checkcache()
