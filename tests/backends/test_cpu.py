"""Compiled functions against the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tdsl.backends.cpu import CompiledFunction, compile_function
from tdsl.backends.dealing import dealing_step
from tdsl.backends.reference import interpret
from tdsl.errors import BackendError, OutOfMemoryError, TdslError
from tdsl.ir.affine import affine, name
from tdsl.ir.dtypes import DType, boolean, f32, f64, i32, i64
from tdsl.ir.nodes import (
    Binary,
    Block,
    Cast,
    Const,
    Dim,
    For,
    Function,
    Index,
    Load,
    LoopKind,
    Param,
    Role,
    Select,
    Store,
    Tensor,
    Unary,
)
from tdsl.target import host

from ..ir_text import read_function
from .programs import PROGRAMS, copies, in_double, random_arrays
from .scheduled import KERNELS


def call(
    compiled: CompiledFunction,
    arrays: Mapping[str, Any],
    dims: Mapping[str, int],
    layouts: Sequence[str] | None = None,
) -> None:
    """Run *compiled* on *arrays*, in place."""
    function = compiled.function
    classes = layouts or ["C"] * len(function.params)
    values = [
        arrays[p.tensor.name] if p.tensor.shape else arrays[p.tensor.name].item()
        for p in function.params
    ]
    sizes = compiled.source_for(classes).sizes
    entry = compiled.entry_for(classes)
    entry(*values, *[dims[dim.name] for dim in function.dims], *sizes)


def check(
    compiled: CompiledFunction,
    dims: Mapping[str, int],
    layouts: Sequence[str] | None = None,
    tolerance: float = 1e-5,
) -> None:
    """Compare one run on random data with the interpreter."""
    function = compiled.function
    arrays = random_arrays(function, dims, seed=3)
    expected, actual = copies(arrays), copies(arrays)
    interpret(function, expected, dict(dims))
    if layouts:
        actual = {
            param.tensor.name: arranged(actual[param.tensor.name], layout)
            for param, layout in zip(function.params, layouts, strict=True)
        }
    call(compiled, actual, dims, layouts)
    for key, value in expected.items():
        np.testing.assert_allclose(
            actual[key], value, rtol=tolerance, atol=tolerance, err_msg=f"{key} {dims}"
        )


def arranged(array: NDArray[Any], layout: str) -> NDArray[Any]:
    """Return a copy of *array* of the stride class *layout*, amid other data."""
    if not array.ndim or layout == "C":
        return array
    if layout == "F":
        return np.asfortranarray(array)
    wide = np.full([2 * extent + 3 for extent in array.shape], 7, array.dtype)
    view = wide[tuple(slice(1, 1 + extent) for extent in array.shape)]
    if layout == "A":
        view = wide[tuple(slice(2 * n, None, -2) for n in array.shape)]
        view = view[tuple(slice(0, extent) for extent in array.shape)]
    view[...] = array
    return view


@pytest.mark.parametrize("kernel", KERNELS)
def test_scheduled_programs(kernel: str) -> None:
    text, sizes = KERNELS[kernel]
    parallel = "# parallel" in text
    compiled = compile_function(
        read_function(text), host(), parallel=parallel, runtime_sizes=parallel
    )
    for dims in sizes:
        check(compiled, dims)


@pytest.mark.parametrize(
    "program", ["softmax", "pooling", "triangular_solve", "functions"]
)
def test_serial_programs(program: str) -> None:
    chosen = PROGRAMS[program]
    check(compile_function(chosen.function, host()), chosen.dims, tolerance=1e-4)


@pytest.mark.parametrize("layouts", ["FCU", "AUA", "CFF"])
def test_stride_classes(layouts: str) -> None:
    text, sizes = KERNELS["direct"]
    compiled = compile_function(read_function(text), host(), parallel=False)
    check(compiled, sizes[0], layouts)


def test_stride_classes_are_checked() -> None:
    compiled = compile_function(read_function(KERNELS["axpy"][0]), host())
    with pytest.raises(BackendError, match="give one of C, F, U, A for each of the 3"):
        compiled.entry_for("CX")


def test_float64() -> None:
    text, sizes = KERNELS["packed"]
    function = in_double(read_function(text))
    compiled = compile_function(function, host(), parallel=False)
    check(compiled, sizes[1], tolerance=1e-13)


def vectorized(*params: Param, body: Store) -> Function:
    """Return a function that runs *body* in vectors of 8 along `i` of N."""
    inner = For(
        "i",
        (name("i_o"),),
        (name("i_o") + 8, name("N")),
        1,
        LoopKind.VECTORIZED,
        Block((body,)),
    )
    outer = For("i_o", (affine(0),), (name("N"),), 8, LoopKind.SERIAL, Block((inner,)))
    return Function("mixed", params, (Dim("N"),), Block((outer,)))


def test_integers_and_bools() -> None:
    """Division by zero in dead lanes and live ones, masks in memory, index values."""
    at = (name("i"),)
    a, b = Load("a", at, i32), Load("b", at, i32)
    wide = Binary(
        "add", Cast(Binary("floordiv", a, b, i32), i64), Index(at[0] * 3, i64), i64
    )
    condition = Binary(
        "and",
        Load("m", at, boolean),
        Unary("not", Binary("lt", a, b, boolean), boolean),
        boolean,
    )
    remainder = Cast(Binary("mod", a, b, i32), i64)
    body = Store("c", at, Select(condition, wide, remainder, i64), None)
    shape = (name("N"),)
    function = vectorized(
        Param(Tensor("a", i32, shape), Role.INPUT),
        Param(Tensor("b", i32, shape), Role.INPUT),
        Param(Tensor("m", boolean, shape), Role.INPUT),
        Param(Tensor("c", i64, shape), Role.OUTPUT),
        body=body,
    )
    random = np.random.default_rng(0)
    arrays = {
        "a": random.integers(-50, 50, 29).astype(np.int32),
        "b": random.integers(-3, 4, 29).astype(np.int32),
        "m": random.integers(0, 2, 29).astype(np.bool_),
        "c": np.zeros(29, np.int64),
    }
    expected = copies(arrays)
    interpret(function, expected, {"N": 29})
    call(compile_function(function, host()), arrays, {"N": 29})
    np.testing.assert_array_equal(arrays["c"], expected["c"])


def test_bool_results_and_casts() -> None:
    at, shape = (name("i"),), (name("N"),)
    x = Load("x", at, f32)
    test = Binary("gt", x, Const(0.25, f32), boolean)
    other = Cast(Cast(x, i32), boolean)
    function = vectorized(
        Param(Tensor("x", f32, shape), Role.INPUT),
        Param(Tensor("y", boolean, shape), Role.OUTPUT),
        body=Store("y", at, Binary("or", test, other, boolean), None),
    )
    x_values = np.linspace(-2, 2, 21, dtype=np.float32)
    y = np.zeros(21, np.bool_)
    call(compile_function(function, host()), {"x": x_values, "y": y}, {"N": 21})
    np.testing.assert_array_equal(y, (x_values > 0.25) | (x_values.astype(int) != 0))


def test_bools_and_integers_one_at_a_time() -> None:
    """Scalar loads and stores of bytes, a bool parameter, a cast from bool."""
    at, shape = (name("i"),), (name("N"),)
    flag, chosen = Load("flag", (), boolean), Load("m", at, boolean)
    both = Binary("and", flag, Unary("not", chosen, boolean), boolean)
    count = Binary("add", Cast(both, i32), Cast(Index(at[0] // 2, i64), i32), i32)
    keep = Store("m", at, both, None)
    body = Block((Store("c", at, count, None), keep))
    loop = For("i", (affine(0),), shape, 1, LoopKind.SERIAL, body)
    params = (
        Param(Tensor("flag", boolean, ()), Role.INPUT),
        Param(Tensor("m", boolean, shape), Role.INOUT),
        Param(Tensor("c", i32, shape), Role.OUTPUT),
    )
    function = Function("bools", params, (Dim("N"),), Block((loop,)))
    m = np.array([True, False, False, True, False])
    arrays = {"flag": np.bool_(True), "m": m.copy(), "c": np.zeros(5, np.int32)}
    call(compile_function(function, host()), arrays, {"N": 5})
    np.testing.assert_array_equal(arrays["m"], ~m)
    np.testing.assert_array_equal(arrays["c"], ~m + np.arange(5) // 2)


def test_bitwise_keeps_every_rounding() -> None:
    """A product and a sum round twice in `bitwise`, once otherwise."""
    function = read_function(KERNELS["axpy"][0])
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 64)).astype(np.float32)
    alpha = np.float32(1.1)
    for numerics, expected in (
        ("bitwise", alpha * x + y),
        ("reassoc", (np.float64(alpha) * x + y).astype(np.float32)),
    ):
        compiled = compile_function(function, host(), numerics=numerics)
        result = y.copy()
        call(compiled, {"alpha": alpha, "x": x, "y": result}, {"N": 64})
        np.testing.assert_array_equal(result, expected)
    assert (alpha * x + y != (np.float64(alpha) * x + y).astype(np.float32)).any()


def test_row_sums_are_the_same_bits_with_any_number_of_threads() -> None:
    import numba

    function = read_function(KERNELS["direct"][0])
    compiled = compile_function(function, host())
    dims = {"M": 7, "N": 50, "K": 9}
    results = []
    before = numba.get_num_threads()
    for threads in {1, before}:
        numba.set_num_threads(threads)
        arrays = random_arrays(function, dims, seed=1)
        call(compiled, arrays, dims)
        results.append(arrays["C"].tobytes())
    numba.set_num_threads(before)
    assert len(set(results)) == 1


def test_a_reduction_over_lanes_is_refused() -> None:
    text = """
def total(x: f32[N], y: output f32[1]) for N:
    for i in range(8):  # vectorized
        y[0] += x[i]
"""
    with pytest.raises(BackendError, match="all write one element of 'y'; use rfactor"):
        compile_function(read_function(text), host()).compile()


def test_a_tile_loop_without_constant_extent_is_refused() -> None:
    text = """
def scale(x: inout f32[N]) for N:
    for i in range(N):  # vectorized
        x[i] = 2.0 * x[i]
"""
    with pytest.raises(BackendError, match="split it by a constant first"):
        compile_function(read_function(text), host()).compile()


def test_assembly_of_a_matmul_has_fused_multiply_adds() -> None:
    function = read_function(KERNELS["packed"][0])
    compiled = compile_function(function, host(), parallel=False)
    assert "fma" in compiled.assembly().lower()


def test_inputs_that_must_not_be_written_are_not_compiled_for_again() -> None:
    function = read_function(KERNELS["axpy"][0].replace("axpy", "guarded"))
    compiled = compile_function(function, host())
    compiled.compile()
    for writable in (True, False):
        x, y = np.ones(9, np.float32), np.zeros(9, np.float32)
        x.flags.writeable = writable
        call(compiled, {"alpha": np.float32(2), "x": x, "y": y}, {"N": 9})
        assert (y == 2).all()
    assert len(compiled.entry.signatures) == 1
    y.flags.writeable = False
    with pytest.raises(TypeError, match="No matching definition"):
        compiled.entry(2.0, x, y, 9)


def test_one_text_for_two_stride_classes_is_compiled_once() -> None:
    function = read_function(KERNELS["axpy"][0].replace("axpy", "classes"))
    compiled = compile_function(function, host())
    for layouts in ("CCC", "AUC", "UCF", "CCA"):
        compiled.compile(layouts)
        check(compiled, {"N": 9}, layouts)
    assert len(compiled.entry.signatures) == 1


def test_a_local_array_without_elements_may_have_a_negative_extent() -> None:
    text = """
def inner(X: f32[N], Y: inout f32[N]) for N:
    T = local f32[N - 40, 8]
    for i in range(N - 40):
        T[i, 0] = X[i]
    for j in range(N - 40):
        Y[j] = T[j, 0]
"""
    compiled = compile_function(read_function(text), host())
    check(compiled, {"N": 3})
    check(compiled, {"N": 44})


def test_a_scalar_that_threads_share_is_in_memory() -> None:
    """It is an array without extents."""
    text = """
def shifted(X: f32[N], Y: inout f32[N]) for N:
    s = local f32 in registers
    s = (X[0] + 1.0)
    for t in range(2):
        for i in range(N):  # parallel
            Y[i] = (s * X[i])
"""
    compiled = compile_function(read_function(text), host(), parallel=True)
    check(compiled, {"N": 9})


def test_a_local_array_whose_bytes_are_no_i64_is_refused() -> None:
    """Its size would wrap around, to memory that is far too small."""
    text = """
def corner(X: f32[K], Y: inout f32[K], P: f32[M], Q: f32[N]) for M, N, K:
    T = local f32[M, N, K]
    for i in range(1, 2):
        T[i, N - 1, K - 1] = X[0]
    for j in range(1, 2):
        Y[0] = T[j, N - 1, K - 1]
"""
    compiled = compile_function(read_function(text), host())
    x = np.ones(2**22, np.float32)
    many = np.broadcast_to(x[:1], x.shape)
    with pytest.raises(OutOfMemoryError) as caught:
        compiled.entry_for(("C", "C", "A", "A"))(
            x, x.copy(), many, many, *(x.size,) * 3
        )
    assert str(caught.value) == (
        "corner: there is no memory for the local tensor T, f32[M, N, K]: use smaller "
        "sizes, or a schedule that keeps less of it at a time (it takes at least "
        "4,611,686,018,427,387,904 bytes)"
    )


LOCAL_TO_A_THREAD = """
def rows(X: f32[M], Y: inout f32[M], P: f32[N]) for M, N:
    for i in range(M):  # parallel
        T = local f32[N, N, 1024]
        T[0, 0, 0] = X[i]
        Y[i] = T[0, 0, 0]
"""
INSIDE_ANOTHER_LOOP = """
def rows(X: f32[M], Y: inout f32[M], P: f32[N]) for M, N:
    for r in range(2):
        for i in range(M):  # parallel
            T = local f32[N, N, 1024]
            T[0, 0, 0] = X[i]
            Y[i] = T[0, 0, 0]
"""


@pytest.mark.parametrize("text", [LOCAL_TO_A_THREAD, INSIDE_ANOTHER_LOOP])
@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_a_local_array_without_memory_in_a_thread(rows: int, text: str) -> None:
    """An error that leaves a parallel loop is another one, or is lost."""
    function = read_function(text)
    compiled = compile_function(function, host(), parallel=True)
    x = np.ones(rows, np.float32)
    many = np.broadcast_to(x[:1], (2**24,))
    entry = compiled.entry_for(("C", "C", "A"))
    size = "(it takes 1,152,921,504,606,846,976 bytes)"
    message = (
        "rows: there is no memory for each thread's local tensor T, f32[N, N, 1024]: "
        "use smaller sizes, or a schedule that keeps less of it at a time"
    )
    for _ in range(3):
        with pytest.raises(OutOfMemoryError) as caught:
            entry(x, x.copy(), many, rows, many.size)
        assert str(caught.value) == f"{message} {size}"
        assert isinstance(caught.value, TdslError)
    y = np.zeros_like(x)
    entry(x, y, many[:7], rows, 7)
    assert np.array_equal(y, x)
    with pytest.raises(OutOfMemoryError) as interpreted:
        interpret(function, {"X": x, "Y": y, "P": many}, {"M": rows, "N": 2**24})
    message = message.replace("each thread's", "the")
    assert str(interpreted.value) == f"{message} {size}"


def test_what_is_dealt_out_stays_in_i64() -> None:
    for count in (1, 2, 1000, 2**31, 2**31 + 1, 2**40, 2**62):
        step = dealing_step(count)
        assert gcd(count, step) == 1 and (count - 1) * step < 2**63


@pytest.mark.parametrize("exponent", [2.0, 3.0, 4.0, 0.5, -1.0])
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_short_powers_stay_within_the_contract(dtype: DType, exponent: float) -> None:
    at, shape = (name("i"),), (name("N"),)
    value = Binary("pow", Load("x", at, dtype), Const(exponent, dtype), dtype)
    function = vectorized(
        Param(Tensor("x", dtype, shape), Role.INPUT),
        Param(Tensor("y", dtype, shape), Role.OUTPUT),
        body=Store("y", at, value, None),
    )
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-45, 3e38, -2.0]
    random = np.random.default_rng(0).uniform(-30, 30, 200)
    x = np.concatenate([special, random, np.exp(random)]).astype(dtype.numpy)
    y = np.zeros_like(x)
    compiled = compile_function(function, host())
    assert "power(" not in compiled.source
    call(compiled, {"x": x, "y": y}, {"N": len(x)})
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), np.longdouble(exponent))
        wanted = exact.astype(dtype.numpy)
        distance = np.abs(y - exact) / np.spacing(np.abs(wanted))
    same = (y == wanted) & (np.signbit(y) == np.signbit(wanted))
    right = same | (np.isnan(y) & np.isnan(wanted)) | (distance <= 2)
    assert right.all(), (x[~right], y[~right], wanted[~right])
