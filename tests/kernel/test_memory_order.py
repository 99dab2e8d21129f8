"""Arrays whose last axis is not that of neighbours in memory run as if it were."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import entries, f32
from tdsl.dispatch import entry_key
from tdsl.errors import BackendError, KernelFaultError
from tdsl.executable import ReferenceExecutable
from tdsl.ir.nodes import Function
from tdsl.ir.numerics import Numerics
from tdsl.ir.printer import print_function
from tdsl.kernel import Kernel
from tdsl.memory_order import axis_orders, has_neighbouring_lanes, reordered
from tdsl.schedules.schedule import Schedule

M, N, K = tdsl.dims("M N K")


@tdsl.kernel
def blend(A: f32[M, N, K], S: tdsl.inout(f32[M, N]), C: tdsl.out(f32[M, N, K])):
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j, k] = A[i, j, k] * 2 + 1
    for i, j in tdsl.grid(M, N):
        for k in range(K):
            S[i, j] += A[i, j, k]


@tdsl.kernel
def matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]:
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


@tdsl.kernel
def double(A: f32[M, N], C: tdsl.out(f32[M, N])):
    for i, j in tdsl.grid(M, N):
        C[i, j] = 2 * A[i, j]


@tdsl.kernel
def shifted(A: f32[M, N, K]) -> f32[M, N, K]:
    C = tdsl.empty((M, N, K), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j, k] = A[i, j, k] + 1
    return C


@dataclass(slots=True)
class Recorder:
    """A reference backend that keeps what it compiles."""

    machine: str = "recorder"
    threads: int = 1
    compiled: list[Function] = field(default_factory=list)

    def default_schedule(self, function: Function, numerics: Numerics) -> Schedule:
        return Schedule(function)

    def compile(self, function: Function, numerics: Numerics) -> ReferenceExecutable:
        self.compiled.append(function)
        return ReferenceExecutable(function)


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 4, shape).astype(np.float32)


def transposed(value: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """Return a copy with the axes in *order* in memory."""
    return np.ascontiguousarray(value.transpose(order)).transpose(np.argsort(order))


def cut(value: np.ndarray) -> np.ndarray:
    """Return a copy in memory with gaps, of which the last axis is the first."""
    wider = np.empty([size + 2 for size in value.shape[::-1]], value.dtype).T
    view = wider[tuple(slice(size) for size in value.shape)]
    view[...] = value
    return view


def stepped(value: np.ndarray) -> np.ndarray:
    """Return a copy of which each second element in memory is used."""
    wider = np.empty([2 * size for size in value.shape], value.dtype)
    view = wider[tuple(slice(None, None, 2) for _ in value.shape)]
    view[...] = value
    return view


def reversed_copy(value: np.ndarray) -> np.ndarray:
    """Return a copy that runs backwards in memory along each axis."""
    ways = tuple(slice(None, None, -1) for _ in value.shape)
    return value[ways].copy()[ways]


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.array,
    "F": np.asfortranarray,
    "cut": cut,
    "stepped": stepped,
    "reversed": reversed_copy,
    "reversed F": lambda value: reversed_copy(value.T).T,
}
ORDERS = list(itertools.permutations(range(3)))


def check_blend(kernel: Kernel, lay_out: Callable[[np.ndarray], np.ndarray]) -> None:
    a, s = array(5, 19, 21), array(5, 19)
    given, sums, out = lay_out(a), lay_out(s), lay_out(np.zeros_like(a))
    assert kernel(given, sums, out) is None
    np.testing.assert_array_equal(given, a)
    np.testing.assert_array_equal(out, 2 * a + 1)
    np.testing.assert_array_equal(sums, s + a.sum(2))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_inputs_updates_and_outputs(layout: str) -> None:
    """In compiled code, twice, since the second call is dispatched another way."""
    for _ in range(2):
        check_blend(blend, LAYOUTS[layout])


@pytest.mark.parametrize("order", ORDERS)
def test_any_order_of_axes(order: tuple[int, ...]) -> None:
    def lay_out(value: np.ndarray) -> np.ndarray:
        return transposed(value, order) if value.ndim == 3 else value.copy()

    kernel = Kernel(blend.function, backend=Recorder())
    for _ in range(2):
        check_blend(kernel, lay_out)


@pytest.mark.parametrize("names", list(itertools.product(LAYOUTS, repeat=2)))
def test_mixed_layouts(names: tuple[str, str]) -> None:
    """One kernel meets all of them, so keys that collide would show."""
    a, b = array(7, 9), array(9, 11)
    out = np.zeros((11, 7), np.float32).T
    left, right = (LAYOUTS[n](x) for n, x in zip(names, (a, b), strict=True))
    np.testing.assert_array_equal(MIXED(left, right), a @ b)
    assert MIXED(left, right, out=out) is out
    np.testing.assert_array_equal(out, a @ b)


MIXED = Kernel(matmul.function, backend=Recorder())


def test_the_program_is_in_the_order_of_memory() -> None:
    backend = Recorder()
    kernel = Kernel(double.function, backend=backend)
    a, c = array(3, 4), array(4, 3).T
    kernel(a, c)
    kernel(a.T, c.T)
    (first, second) = backend.compiled
    assert "C[j, i] = (2.0 * A[i, j])" in print_function(first)
    assert "A: f32[M, N], C: output f32[N, M]" in print_function(first)
    assert "C[i, j] = (2.0 * A[j, i])" in print_function(second)
    kernel(a, array(4, 3).T)
    assert len(backend.compiled) == 2


def test_the_order_of_axes() -> None:
    whole = array(4, 6)
    values = (whole, whole)
    for a, order in [
        (whole, None),
        (whole.T, (1, 0)),
        (whole[:, :3], None),
        (whole[:, :3].T, (1, 0)),
        (whole[:, ::2], None),
        (whole[:, ::-1], None),
        (whole[:3].T[:, ::-1], (1, 0)),
        (np.broadcast_to(np.float32(1), (4, 6)), None),
        (whole[:0], None),
    ]:
        assert axis_orders(double.function, (a, whole)) == (order, None)
    assert axis_orders(double.function, values) == (None, None)
    deep = array(2, 3, 4)
    for order in ORDERS:
        view = transposed(deep, order)
        (found, *_) = axis_orders(blend.function, (view, whole, deep))
        assert view.transpose(found or (0, 1, 2)).strides[-1] == 4


def test_code_for_row_major_axes_does_not_run_on_gaps() -> None:
    """In either order of calls: neighbours along one axis, without gaps and with."""
    for rows in (
        (slice(None), slice(None, None, 2)),
        (slice(None, None, 2), slice(None)),
    ):
        kernel = Kernel(shifted.function)
        for each in rows:
            view = np.moveaxis(array(4, 6, 8)[:, each], 2, 0)
            for _ in range(2):
                np.testing.assert_array_equal(kernel(view), view + 1)


def test_numbers_have_no_order() -> None:
    @tdsl.kernel
    def scaled(alpha: f32, A: f32[M, N]) -> f32[M, N]:
        C = tdsl.empty((M, N), f32)
        for i, j in tdsl.grid(M, N):
            C[i, j] = alpha * A[i, j]
        return C

    kernel = Kernel(scaled.function, backend=Recorder())
    np.testing.assert_array_equal(kernel(2, array(3, 4).T), 2 * array(3, 4).T)


def test_keys_differ_by_the_axis_of_neighbours() -> None:
    deep, sums = array(4, 4, 4), array(4, 4)
    views = [transposed(deep, order)[:3, :3, :3] for order in ORDERS]
    keys = {entry_key(blend.function, (v, sums, deep), ()) for v in views}
    assert len(keys) == 3


def test_an_explicit_schedule_is_kept() -> None:
    backend = Recorder()
    kernel = Kernel(double.function, backend=backend)
    schedule = kernel.schedule().split("j", 2)
    c = array(4, 3).T
    kernel.with_schedule(schedule)(array(4, 3).T, c)
    np.testing.assert_array_equal(c, 2 * array(4, 3).T)
    assert backend.compiled == [schedule.function]


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Store a tuned schedule, for the machine of a `Recorder`."""
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))

    def store(kernel: Kernel, schedule: Schedule, **dims: int) -> None:
        program = entries.program_hash(kernel.function)
        where = entries.situation(program, dims, 1, kernel.numerics, "recorder")
        entries.store(entries.Entry(where, schedule.to_json(), 1.0, 2.0, "proved"))

    yield store


def test_a_tuned_schedule_serves_where_its_lanes_are_neighbours(tuned: Any) -> None:
    backend = Recorder()
    kernel = Kernel(double.function, backend=backend)
    schedule = kernel.schedule().split("j", 2).vectorize("j_i")
    tuned(kernel, schedule, M=3, N=4)
    a, c = array(3, 4), array(3, 4)
    kernel(a, c)
    column_major = np.asfortranarray(c)
    kernel(np.asfortranarray(a), column_major)
    np.testing.assert_array_equal(column_major, 2 * a)
    (row_major, other) = backend.compiled
    assert "vectorized" in print_function(row_major)
    assert "vectorized" not in print_function(other)


def test_a_tuned_schedule_that_copies_into_order_serves(tuned: Any) -> None:
    backend = Recorder()
    kernel = Kernel(matmul.function, backend=backend)
    schedule = (
        kernel.schedule()
        .split("j", 2)
        .cache_read("B", None, layout=("j_o", "k", "j_i"))
        .vectorize("j_i")
    )
    tuned(kernel, schedule, M=3, N=5, K=4)
    a, b = array(3, 4), array(4, 5)
    np.testing.assert_array_equal(kernel(a, np.asfortranarray(b)), a @ b)
    (compiled,) = backend.compiled
    assert "vectorized" in print_function(compiled)


def test_neighbouring_lanes() -> None:
    def lanes(function: Function, axis: str) -> bool:
        schedule = Schedule(function).split(axis, 4).vectorize(f"{axis}_i")
        return has_neighbouring_lanes(schedule.function)

    column_major = reordered(double.function, ((1, 0), (1, 0)))
    mixed = reordered(double.function, ((1, 0), None))
    assert lanes(double.function, "j")
    assert lanes(column_major, "i")
    assert not lanes(double.function, "i")
    assert not lanes(column_major, "j")
    assert not lanes(mixed, "i")
    assert not lanes(mixed, "j")


def test_what_does_not_compile_in_order_runs_as_it_is() -> None:
    class Picky(Recorder):
        def compile(self, function: Function, numerics: Numerics) -> Any:
            if function != double.function:
                raise BackendError("too many registers")
            return Recorder.compile(self, function, numerics)

    backend = Picky()
    kernel = Kernel(double.function, backend=backend)
    c = array(4, 3).T
    kernel(array(4, 3).T, c)
    np.testing.assert_array_equal(c, 2 * array(4, 3).T)
    assert backend.compiled == [double.function]


def test_a_fault_is_told_in_the_words_of_the_kernel() -> None:
    @tdsl.kernel
    def beyond(A: f32[M, N]) -> f32[M, N]:
        C = tdsl.empty((M, N), f32)
        for i, j in tdsl.grid(M, N):
            C[i, j] = A[i, j + 1]
        return C

    messages = []
    for a in (array(3, 4), array(4, 3).T):
        with pytest.raises(KernelFaultError) as caught:
            beyond(a)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
