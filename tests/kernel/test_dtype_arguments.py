"""Arguments of every dtype: arrays and numbers that are taken, and refusals."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tdsl
from tdsl.errors import ArgumentError
from tdsl.ir.dtypes import DTYPES, DType, bf16, boolean
from tdsl.kernel import Kernel

M = tdsl.dim("M")
ALL = list(DTYPES.values())
NUMBERS = [dtype for dtype in ALL if dtype != boolean]


def copying(T: DType) -> Kernel:
    @tdsl.kernel
    def copy(A: T[M], x: T) -> T[M]:
        C = tdsl.empty((M,), T)
        for i in range(M):
            C[i] = A[i] if i > 0 else x
        return C

    return copy


KERNELS = {dtype.name: copying(dtype) for dtype in ALL}


def sample(dtype: DType) -> Any:
    return np.array([0, 1, 0, 3, 1], dtype.numpy)


def message(dtype: str, *arguments: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        KERNELS[dtype](*arguments)
    return str(caught.value)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_arrays_and_numbers(dtype: DType) -> None:
    array, kernel = sample(dtype), KERNELS[dtype.name]
    plain = array[1].item()
    for number in (plain, array[1], np.array(plain, dtype.numpy)):
        result = kernel(array, number)
        assert result.dtype == dtype.numpy
        assert (result == np.array([1, *array[1:]], dtype.numpy)).all()
    storage = np.empty(10, dtype.numpy)
    assert kernel(array[::-1], plain, out=storage[::2]).base is storage
    assert (storage[::2] == np.array([1, *array[::-1][1:]], dtype.numpy)).all()


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_other_dtypes_are_refused(dtype: DType) -> None:
    for other in ALL:
        if other == dtype:
            continue
        said = message(dtype.name, sample(other), 1)
        assert said == (
            f"copy: A has dtype {other.numpy}, but the kernel takes {dtype} "
            f"({dtype.numpy.name}): pass A.astype({dtype.numpy_text})"
        )
    if dtype.bytes > 1 and dtype != bf16:
        swapped = sample(dtype).astype(dtype.numpy.newbyteorder())
        said = message(dtype.name, swapped, 1)
        assert "not in the byte order of this machine" in said


NOT_A_NUMBER = {
    ("i8", 128): "copy: x is 128, which does not fit in i8: pass one from -128 to 127",
    (
        "i8",
        -129,
    ): "copy: x is -129, which does not fit in i8: pass one from -128 to 127",
    ("u8", -1): "copy: x is -1, which does not fit in u8: pass one from 0 to 255",
    ("u8", 256): "copy: x is 256, which does not fit in u8: pass one from 0 to 255",
    ("u64", 2**64): (
        "copy: x is 18446744073709551616, which does not fit in u64: pass one from 0 "
        "to 18446744073709551615"
    ),
    ("u16", 1.0): "copy: x is 1.0, but the kernel takes an integer (u16): pass 1",
    ("u16", 1j): (
        "copy: x is 1j, but the kernel takes an integer (u16): pass a whole number, or "
        "declare the parameter c64 or c128"
    ),
    ("c64", 1e300): "copy: x is 1e+300, which does not fit in c64: declare it c128",
    ("f16", 7e4): "copy: x is 70000.0, which does not fit in f16: declare it f32",
    ("bf16", 1e39): "copy: x is 1e+39, which does not fit in bf16: declare it f64",
    ("f64", 2j): (
        "copy: x is 2j, but the kernel takes a real number (f64): pass its real part, "
        "or declare the parameter c64 or c128"
    ),
    ("c64", 1e39j): "copy: x is 1e+39j, which does not fit in c64: declare it c128",
    ("c64", 10**400): (
        "copy: x is an integer of 1329 bits, which does not fit in c64: "
        "pass one below 2**128"
    ),
}


@pytest.mark.parametrize(("dtype", "number"), NOT_A_NUMBER)
def test_numbers_that_do_not_fit(dtype: str, number: Any) -> None:
    said = message(dtype, sample(DTYPES[dtype]), number)
    assert said == NOT_A_NUMBER[dtype, number]


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_the_ends_of_the_range_fit(dtype: DType) -> None:
    ends = [dtype.lowest, dtype.highest] if dtype.kind == "int" else []
    if dtype.kind != "int":
        ends = [dtype.largest, -dtype.largest, float("inf"), float("nan")]
    for end in ends:
        first = KERNELS[dtype.name](sample(dtype), end)[0]
        expected = dtype.numpy.type(end)
        assert first == expected or (first != first and end != end)


def test_complex_parameters_take_real_numbers_and_specials() -> None:
    kernel = KERNELS["c64"]
    array = sample(DTYPES["c64"])
    for number in (2, 2.5, complex("inf"), complex(float("inf"), -1), 1 - 3j):
        assert kernel(array, number)[0] == np.complex64(number)


class _Torch:
    """A tensor of bf16 as torch has it: NumPy cannot import it, but its bits."""

    def __init__(self, bits: np.ndarray[Any, Any], dtype: str) -> None:
        self.bits, self.dtype = bits, dtype

    def view(self, dtype: object) -> _Torch:
        return _Torch(self.bits, str(dtype))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        if self.dtype == "torch.bfloat16":
            raise BufferError("bfloat16 is not supported by NumPy")
        return self.bits.__dlpack__(**options)


def test_torch_tensors_of_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = ModuleType("torch")
    torch.int16 = "torch.int16"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    values = np.array([1, 2, -3.5], ml_dtypes.bfloat16)
    tensor = _Torch(values.view(np.int16), "torch.bfloat16")
    assert (KERNELS["bf16"](tensor, 1) == values).all()
    storage = np.zeros(3, ml_dtypes.bfloat16)
    KERNELS["bf16"](values, 4.0, out=_Torch(storage.view(np.int16), "torch.bfloat16"))
    assert (storage == np.array([4, 2, -3.5], ml_dtypes.bfloat16)).all()


def test_repeated_calls_stay_on_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype in (bf16, DTYPES["u8"], DTYPES["c64"]):
        kernel, array = KERNELS[dtype.name], sample(dtype)
        number = array[1].item()
        kernel(array, number)
        monkeypatch.setattr(sys.modules["tdsl.kernel"], "bind", _never)
        assert (kernel(array, number)[1:] == array[1:]).all()
        monkeypatch.undo()


def _never(*arguments: Any) -> Any:
    raise AssertionError("the slow path")
