"""What may be passed as a tensor or a number, and what each refusal says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32, i32
from tdsl.binding import bind
from tdsl.errors import ArgumentError
from tdsl.frontend.parser import parse

M, N = tdsl.dims("M N")


def copy(A: f32[M, N], C: tdsl.out(f32[M, N])):
    for i, j in tdsl.grid(M, N):
        C[i, j] = A[i, j]


def scale(alpha: f32, n: i32, on: tdsl.bool_, Y: tdsl.inout(f32[M])):
    for i in range(M):
        Y[i] = Y[i] + alpha * f32(n) if on else 0


def heat(u: f32[M]) -> f32[M]:
    V = tdsl.empty(M, f32)
    for i in range(M):
        V[i] = u[i]
    return V


def split(A: f32[M]) -> tuple[f32[M], f32[M]]:
    P = tdsl.empty(M, f32)
    Q = tdsl.empty(M, f32)
    for i in range(M):
        P[i] = A[i]
        Q[i] = -A[i]
    return P, Q


COPY, SCALE, HEAT, SPLIT = parse(copy), parse(scale), parse(heat), parse(split)


class Interface:
    """Has the array interface, and no more."""

    def __init__(self, array: np.ndarray) -> None:
        self.__array_interface__ = array.__array_interface__
        self._owner = array


class Convertible:
    """Has only `__array__`."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.ones((2, 3), np.float32)


class Shared:
    """Speaks DLPack, and no more."""

    def __init__(self, array: np.ndarray, device: int = 1) -> None:
        self._array, self._device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self._device, 0)


def array(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.ones(shape, dtype)


def values(a: Any, c: Any) -> tuple[np.ndarray, ...]:
    return bind(COPY, (a, c), {}).values


def refusal(a: Any, c: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        values(a, c)
    return str(caught.value)


VIEWS = {
    "C": array(2, 3),
    "Fortran": np.ones((2, 3), np.float32, order="F"),
    "strided": array(4, 6)[::2, ::2],
    "reversed": array(2, 3)[::-1, ::-1],
    "broadcast": np.broadcast_to(np.float32(1), (2, 3)),
    "empty": array(0, 3),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_not_copied(name: str) -> None:
    view = VIEWS[name]
    (taken, _) = values(view, array(*view.shape))
    assert taken.strides == view.strides
    assert taken.__array_interface__["data"][0] == view.__array_interface__["data"][0]


def test_other_arrays_share_their_memory() -> None:
    for wrap in (Interface, Shared):
        a, c = array(2, 3), array(2, 3)
        taken = values(wrap(a), c)[0]
        assert np.shares_memory(taken, a)
    c = array(2, 3)
    assert np.shares_memory(values(array(2, 3), Interface(c))[1], c)


def test_an_object_with_array_is_an_input_only() -> None:
    assert values(Convertible(), array(2, 3))[0].sum() == 6
    assert refusal(array(2, 3), Convertible()) == (
        "copy: C is a Convertible: pass a NumPy array of dtype float32"
    )


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    a, c = torch.ones(2, 3), torch.zeros(2, 3)
    taken = values(a, c)
    taken[1][:] = taken[0]
    assert c.sum() == 6
    assert refusal(a.requires_grad_(), c).startswith("copy: A cannot be shared: ")


def test_memory_of_another_device() -> None:
    assert refusal(Shared(array(2, 3), device=2), array(2, 3)) == (
        "copy: A is not in the memory of the CPU (DLPack device type 2): copy it there "
        "first"
    )


def test_lists() -> None:
    assert refusal([[1.0]], array(1, 1)) == (
        "copy: A is a list: pass np.asarray(A, dtype=np.float32)"
    )
    assert refusal(array(1, 1), [[1.0]]) == (
        "copy: C is a list: pass a NumPy array of dtype float32"
    )


def test_masked_arrays() -> None:
    assert refusal(np.ma.ones((2, 3), np.float32), array(2, 3)) == (
        "copy: A is a masked array, and a kernel ignores the mask: pass A.filled(value)"
    )


def test_dtypes() -> None:
    assert refusal(array(2, 3, dtype=np.float64), array(2, 3)) == (
        "copy: A has dtype float64, but the kernel takes f32 (float32): pass "
        "A.astype(np.float32)"
    )
    assert refusal(array(2, 3, dtype=">f4"), array(2, 3)) == (
        "copy: A has dtype >f4, which is not in the byte order of this machine: pass "
        "A.astype(np.float32)"
    )


# What is written: a copy in its place would take the result and be lost.

CONVERTED = {
    "out": """\
pass a copy and copy the result back:
    C_new = C.{copy}
    copy(A, C_new)
    C[...] = C_new""",
    "inout": """\
pass a copy and copy the result back:
    Y_new = Y.{copy}
    scale(alpha, n, on, Y_new)
    Y[...] = Y_new""",
    "returned": """\
leave out= away and copy what the call returns:
    V_new = heat(u)
    V[...] = V_new""",
    "one of two": """\
leave out= away and copy what the call returns:
    P_new, Q = split(A)
    P[...] = P_new""",
}
REPLACED = {
    "out": """\
make a copy and use that as C from then on:
    C = C.copy()
    copy(A, C)""",
    "inout": """\
make a copy and use that as Y from then on:
    Y = Y.copy()
    scale(alpha, n, on, Y)""",
    "returned": """\
leave out= away and use what the call returns:
    V = heat(u)""",
    "one of two": """\
leave out= away and use what the call returns:
    P, Q = split(A)""",
}
STARTS = {
    "out": "copy: C",
    "inout": "scale: Y",
    "returned": "heat: V",
    "one of two": "split: P",
}


def written_refusal(role: str, value: Any) -> str:
    """Return what a call says to *value*, of six elements, in this role."""
    if role == "out" and getattr(value, "ndim", 2) == 1:
        value = value[np.newaxis]
    with pytest.raises(ArgumentError) as caught:
        match role:
            case "out":
                bind(COPY, (array(1, 6), value), {})
            case "inout":
                bind(SCALE, (1.0, 2, True, value), {})
            case "returned":
                bind(HEAT, (array(6),), {"out": value})
            case _:
                bind(SPLIT, (array(6),), {"out": (value, None)})
    return str(caught.value)


@pytest.mark.parametrize("role", CONVERTED)
def test_other_dtypes_of_what_is_written(role: str) -> None:
    instead = CONVERTED[role].format(copy="astype(np.float32)")
    assert written_refusal(role, array(6, dtype=np.float64)) == (
        f"{STARTS[role]} has dtype float64, but the kernel takes f32 (float32): "
        f"{instead}"
    )
    assert written_refusal(role, array(6, dtype=">f4")) == (
        f"{STARTS[role]} has dtype >f4, which is not in the byte order of this "
        f"machine: {instead}"
    )


@pytest.mark.parametrize("role", CONVERTED)
def test_misaligned_storage_of_what_is_written(role: str) -> None:
    misaligned = np.zeros(25, np.uint8)[1:].view(np.float32)
    assert written_refusal(role, misaligned) == (
        f"{STARTS[role]} is misaligned: its address or strides are no multiple of 4 "
        f"bytes; {CONVERTED[role].format(copy='copy()')}"
    )


@pytest.mark.parametrize("role", REPLACED)
def test_read_only_storage_of_what_is_written(role: str) -> None:
    read_only = array(6)
    read_only.flags.writeable = False
    for value in (read_only, np.broadcast_to(np.float32(1), (6,))):
        assert written_refusal(role, value) == (
            f"{STARTS[role]} is read-only, and the kernel writes to it: "
            f"{REPLACED[role]}"
        )


@pytest.mark.parametrize("role", REPLACED)
def test_storage_that_overlaps_itself(role: str) -> None:
    shape, strides = ((1, 6), (0, 0)) if role == "out" else ((6,), (0,))
    repeated = np.lib.stride_tricks.as_strided(array(1), shape, strides)
    assert written_refusal(role, repeated) == (
        f"{STARTS[role]} is written, but several of its elements share memory (shape "
        f"{shape}, strides {strides}): {REPLACED[role]}"
    )


@pytest.mark.parametrize("role", CONVERTED)
def test_advice_that_is_followed_keeps_the_result(role: str) -> None:
    """The lines of each message run, and the result is where they say."""
    kernels = {f.__name__: tdsl.kernel(f) for f in (copy, scale, heat, split)}
    shape = (1, 6) if role == "out" else (6,)
    name = STARTS[role][-1]
    for dtype in (np.float32, np.float64, ">f4"):
        storage = array(*shape, dtype=dtype)
        storage.flags.writeable = dtype is not np.float32
        scope: dict[str, Any] = {
            **kernels,
            **{"np": np, "alpha": 1.0, "n": 2, "on": True},
            **{"A": 3 * array(*shape), "u": 3 * array(*shape), name: storage},
        }
        lines = written_refusal(role, storage).splitlines()[1:]
        exec("\n".join(line.strip() for line in lines), scope)
        np.testing.assert_array_equal(scope[name], 3)
        assert (scope[name] is storage) is (dtype is not np.float32)


def test_what_is_written_and_no_array() -> None:
    start = {**STARTS, "masked": "is a masked array, and a kernel ignores the mask: "}
    for role in ("out", "inout"):
        assert written_refusal(role, [1.0]) == (
            f"{start[role]} is a list: pass a NumPy array of dtype float32"
        )
        name = start[role][-1]
        assert written_refusal(role, np.ma.ones(6, np.float32)) == (
            f"{start[role]} {start['masked']}pass {name}.data"
        )
    assert written_refusal("returned", [1.0]) == (
        "heat: V is a list: give out= a NumPy array of dtype float32"
    )
    assert written_refusal("returned", np.ma.ones(6, np.float32)) == (
        f"heat: V {start['masked']}give out= V.data"
    )


def test_what_is_written_in_other_memory() -> None:
    assert written_refusal("inout", Shared(array(6), device=2)) == (
        "scale: Y is not in the memory of the CPU (DLPack device type 2): copy it "
        "there first, and copy the result back"
    )


def test_other_arrays_are_converted_by_numpy() -> None:
    wide = array(1, 6, dtype=np.float64)
    assert refusal(Interface(wide), array(1, 6)) == (
        "copy: A has dtype float64, but the kernel takes f32 (float32): pass "
        "np.array(A, np.float32)"
    )
    assert refusal(array(1, 6), Interface(wide)).splitlines()[1:] == [
        "    C_new = np.array(C, np.float32)",
        "    copy(A, C_new)",
        "    np.asarray(C)[...] = C_new",
    ]


def test_rank() -> None:
    assert refusal(array(2), array(2, 3)) == (
        "copy: A has shape (2,), but A[M, N] has 2 dimensions"
    )


def test_misaligned() -> None:
    raw = np.zeros(25, np.uint8)
    assert refusal(raw[1:].view(np.float32).reshape(2, 3), array(2, 3)) == (
        "copy: A is misaligned: its address or strides are no multiple of 4 bytes; "
        "pass A.copy()"
    )


def test_inputs_may_be_read_only_and_overlap_themselves() -> None:
    a = np.broadcast_to(np.float32(1), (2, 3))
    assert not values(a, array(2, 3))[0].flags.writeable


def test_results_that_overlap_inputs() -> None:
    whole = array(4, 3)
    message = (
        "copy: C is written, and it shares memory with A: pass A.copy(), or pass "
        "another array for C"
    )
    assert refusal(whole, whole) == message
    assert refusal(whole[:2], whole[1:3]) == message
    assert len(values(whole[::2], whole[1::2])) == 2
    with pytest.raises(ArgumentError) as caught:
        bind(HEAT, (whole[0],), {"out": whole[0]})
    assert str(caught.value) == (
        "heat: V is written, and it shares memory with u: pass u.copy(), or leave out= "
        "away"
    )


def test_results_that_overlap_one_another() -> None:
    whole = array(4)
    with pytest.raises(ArgumentError) as caught:
        bind(SPLIT, (array(4),), {"out": (whole, whole)})
    assert str(caught.value) == (
        "split: Q is written, and it shares memory with P: pass arrays for P and Q "
        "that share none"
    )


def test_too_large_a_dim() -> None:
    huge = np.lib.stride_tricks.as_strided(array(1), (2**31, 1), (0, 0))
    assert refusal(huge, array(1, 1)) == (
        "copy: A has shape (2147483648, 1): a dim may not exceed 2**31 - 1"
    )


# --- numbers ----------------------------------------------------------------------


def numbers(alpha: Any = 1.0, n: Any = 1, on: Any = True) -> tuple[Any, ...]:
    return bind(SCALE, (alpha, n, on, array(2)), {}).values[:3]


def test_numbers_become_python_numbers() -> None:
    given: list[tuple[Any, Any, Any]] = [
        (2, 3, True),
        (np.float32(2), np.int8(3), np.bool_(True)),
        (np.array(2), np.array(3), np.array(True)),
    ]
    for alpha, n, on in given:
        taken = numbers(alpha, n, on)
        assert taken == (2.0, 3, True)
        assert [type(each) for each in taken] == [float, int, bool]
    assert numbers(alpha=float("inf"))[0] == float("inf")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "fraction": (
        {"n": 1.5},
        "scale: n is 1.5, but the kernel takes an integer (i32): pass a whole number, "
        "or declare the parameter f32 or f64",
    ),
    "float that is whole": (
        {"n": 2.0},
        "scale: n is 2.0, but the kernel takes an integer (i32): pass 2",
    ),
    "NaN as integer": (
        {"n": float("nan")},
        "scale: n is nan, but the kernel takes an integer (i32): declare the parameter "
        "f32 or f64, which have NaN and infinities",
    ),
    "infinity as integer": (
        {"n": -np.inf},
        "scale: n is -inf, but the kernel takes an integer (i32): declare the "
        "parameter f32 or f64, which have NaN and infinities",
    ),
    "NaN as bool": (
        {"on": float("nan")},
        "scale: on is nan, but the kernel takes a bool: pass True or False",
    ),
    "huge integer as bool": (
        {"on": 10**400},
        "scale: on is a very large int, but the kernel takes a bool: pass True or "
        "False",
    ),
    "huge integer": (
        {"n": 10**400},
        "scale: n is a very large int, which does not fit in i32: pass one from "
        "-2147483648 to 2147483647",
    ),
    "bool as integer": (
        {"n": True},
        "scale: n is True, but the kernel takes an integer (i32): pass 1",
    ),
    "bool as float": (
        {"alpha": np.bool_(True)},
        "scale: alpha is True, but the kernel takes a number (f32): pass 1.0",
    ),
    "large integer": (
        {"n": 2**31},
        "scale: n is 2147483648, which does not fit in i32: pass one from -2147483648 "
        "to 2147483647",
    ),
    "number as bool": (
        {"on": 1},
        "scale: on is 1, but the kernel takes a bool: pass True or False",
    ),
    "huge float": (
        {"alpha": 1e39},
        "scale: alpha is 1e+39, which does not fit in f32: declare it f64",
    ),
    "integer beyond floats": (
        {"alpha": 10**400},
        "scale: alpha is an integer of 1329 bits, which does not fit in f32: "
        "pass one below 2**128",
    ),
    "array": (
        {"alpha": array(2)},
        "scale: alpha has shape (2,), but the kernel takes one f32 number",
    ),
    "text": (
        {"alpha": "1"},
        "scale: alpha is a str, but the kernel takes one f32 number",
    ),
    "complex": (
        {"alpha": 1j},
        "scale: alpha is 1j, but the kernel takes a real number (f32): pass its real "
        "part, or declare the parameter c64 or c128",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_numbers_that_do_not_fit(name: str) -> None:
    arguments, message = REFUSED[name]
    with pytest.raises(ArgumentError) as caught:
        numbers(**arguments)
    assert str(caught.value) == message
