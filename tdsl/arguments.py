"""One argument of a call: to a NumPy array or a Python number, or a clear refusal."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.exceptions import TooHardError
from numpy.typing import NDArray

from . import argument_advice as advice
from .errors import ArgumentError
from .ir.dtypes import DType, bf16, from_numpy
from .ir.given import kind_of, shown
from .ir.nodes import Function, Param, Role, Tensor
from .ir.ranges import LARGEST_DIM

_CPU = 1  # DLPack's kDLCPU
_TORCH_BF16 = "torch.bfloat16"
_OVERLAP_WORK = 10_000

Array = NDArray[Any]
Number = float | int | bool | complex


def element_text(tensor: Tensor) -> str:
    """Return the tensor as its declaration has it: `A[M, K]`."""
    return f"{tensor.name}[{', '.join(map(str, tensor.shape))}]"


def as_array(function: Function, param: Param, value: object) -> Array:
    """Return *value* as an array of the parameter's dtype and rank, never a copy
    of what the kernel writes."""
    tensor = param.tensor
    where = f"{function.name}: {tensor.name}"
    array = _view(where, param, value)
    _check_dtype(function, param, array, value)
    _check_shape(where, tensor, array)
    if not array.flags.aligned:
        copy = advice.copied(param, value)
        raise ArgumentError(
            f"{where} is misaligned: its address or strides are no multiple of "
            f"{tensor.dtype.bytes} bytes; "
            f"{advice.pass_and_copy_back(function, param, value, copy)}"
        )
    if param.role is not Role.INPUT:
        _check_writable(function, param, array, value)
    return array


def _check_shape(where: str, tensor: Tensor, array: Array) -> None:
    rank = len(tensor.shape)
    if array.ndim != rank:
        raise ArgumentError(
            f"{where} has shape {array.shape}, but {element_text(tensor)} has "
            f"{rank} dimension{'s' * (rank != 1)}"
        )
    for size in array.shape:
        if size > LARGEST_DIM:
            raise ArgumentError(
                f"{where} has shape {array.shape}: a dim may not exceed 2**31 - 1"
            )


def _view(where: str, param: Param, value: object) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        # What is written must be the array's own data, of which the mask is kept.
        instead = "filled(value)" if param.role is Role.INPUT else "data"
        verb = "give out=" if param.returned else "pass"
        raise ArgumentError(
            f"{where} is a masked array, and a kernel ignores the mask: {verb} "
            f"{param.tensor.name}.{instead}"
        )
    if isinstance(value, np.ndarray):
        return value if type(value) is np.ndarray else value.view(np.ndarray)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _from_dlpack(where, param, value)
    if hasattr(value, "__array__") and param.role is Role.INPUT:
        return np.asarray(value)
    may_convert = isinstance(value, Sequence | int | float) and advice.is_input(param)
    raise ArgumentError(
        f"{where} is {kind_of(value)}: "
        f"{advice.no_array(param, may_convert=may_convert)}"
    )


def _from_dlpack(where: str, param: Param, value: Any) -> Array:
    device = int(value.__dlpack_device__()[0])
    if device != _CPU:
        back = "" if param.role is Role.INPUT else ", and copy the result back"
        raise ArgumentError(
            f"{where} is not in the memory of the CPU (DLPack device type {device}): "
            f"copy it there first{back}"
        )
    if param.tensor.dtype == bf16 and str(getattr(value, "dtype", "")) == _TORCH_BF16:
        return _torch_bits(value)
    try:
        array = np.from_dlpack(value)
        if param.role is not Role.INPUT and not array.flags.writeable:
            # Without the writable flag of DLPack 1.0 the array protocol still helps.
            other = np.asarray(value)
            array = other if np.shares_memory(array, other) else array
    except (BufferError, RuntimeError, TypeError) as error:
        raise ArgumentError(f"{where} cannot be shared: {error}") from error
    return array


def _torch_bits(value: Any) -> Array:
    """Return a torch tensor of bf16, which NumPy's DLPack lacks, by way of its bits."""
    bits = value.view(sys.modules["torch"].int16)
    return np.from_dlpack(bits).view(bf16.numpy)


def _check_dtype(function: Function, param: Param, array: Array, value: object) -> None:
    tensor, wanted = param.tensor, param.tensor.dtype.numpy
    if array.dtype == wanted:
        return
    where = f"{function.name}: {tensor.name}"
    copy = advice.converted(param, value)
    instead = advice.pass_and_copy_back(function, param, value, copy)
    if array.dtype.newbyteorder("=") == wanted:
        raise ArgumentError(
            f"{where} has dtype {array.dtype.str}, which is not in the byte order of "
            f"this machine: {instead}"
        )
    raise ArgumentError(
        f"{where} has dtype {array.dtype}, but the kernel takes {tensor.dtype} "
        f"({wanted.name}): {instead}"
    )


def _check_writable(
    function: Function, param: Param, array: Array, value: object
) -> None:
    where = f"{function.name}: {param.tensor.name}"
    instead = advice.replace(function, param, advice.copied(param, value))
    if not array.flags.writeable:
        raise ArgumentError(
            f"{where} is read-only, and the kernel writes to it: {instead}"
        )
    if shares_elements(array):
        raise ArgumentError(
            f"{where} is written, but several of its elements share memory "
            f"(shape {array.shape}, strides {array.strides}): {instead}"
        )


def shares_elements(array: Array) -> bool:
    """Whether two elements of *array* may have one address, as in a broadcast."""
    reach = array.itemsize
    sizes = zip(array.strides, array.shape, strict=True)
    for stride, size in sorted((abs(stride), size) for stride, size in sizes):
        if size > 1 and array.size:
            if stride < reach:
                return True
            reach += stride * (size - 1)
    return False


def check_disjoint(function: Function, values: Mapping[str, Array]) -> None:
    """Check that no written array shares memory with another array of the call."""
    arrays = [param for param in function.params if param.tensor.shape]
    written = [param for param in arrays if not advice.is_input(param)]
    read = [param for param in arrays if advice.is_input(param)]
    for position, param in enumerate(written):
        name = param.tensor.name
        for other in (*written[:position], *read):
            if _overlaps(values[name], values[other.tensor.name]):
                raise ArgumentError(
                    f"{function.name}: {name} is written, and it shares memory with "
                    f"{other.tensor.name}: {advice.other_memory(param, other)}"
                )


def _overlaps(a: Array, b: Array) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=_OVERLAP_WORK))  # type: ignore[arg-type]
    except TooHardError:
        return True


def as_number(kernel: str, tensor: Tensor, value: Any) -> Number:
    """Return *value* as the Python number that a scalar parameter takes."""
    where, dtype = f"{kernel}: {tensor.name}", tensor.dtype
    number = _python_number(value)
    if number is None:
        shape = getattr(value, "shape", ())
        given = f"has shape {shape}" if shape else f"is {kind_of(value)}"
        raise ArgumentError(f"{where} {given}, but the kernel takes one {dtype} number")
    if dtype.kind == "bool":
        if not isinstance(number, bool):
            raise ArgumentError(
                f"{where} is {shown(number)}, but the kernel takes a bool: pass True "
                "or False"
            )
        return number
    if dtype.kind == "int":
        return _integer(where, dtype, number)
    if isinstance(number, bool):
        raise ArgumentError(
            f"{where} is {number!r}, but the kernel takes a number ({dtype}): pass "
            f"{float(number)!r}"
        )
    if dtype.kind == "complex":
        return _complex(where, dtype, number)
    if isinstance(number, complex):
        raise ArgumentError(
            f"{where} is {number!r}, but the kernel takes a real number ({dtype}): "
            "pass its real part, or declare the parameter c64 or c128"
        )
    return _float(where, dtype, number)


def _float(where: str, dtype: DType, number: float | int | bool) -> float:
    try:
        result = float(number)
    except OverflowError as error:
        bits = int(number).bit_length()
        raise ArgumentError(
            f"{where} is an integer of {bits} bits, which does not fit in {dtype}: "
            f"pass one below 2**{math.frexp(dtype.largest)[1]}"
        ) from error
    _check_size(where, dtype, result, (result,))
    return result


def _complex(where: str, dtype: DType, number: Number) -> complex:
    if not isinstance(number, complex):
        return complex(_float(where, dtype, number))
    _check_size(where, dtype, number, (number.real, number.imag))
    return number


def _check_size(
    where: str, dtype: DType, number: Number, parts: tuple[float, ...]
) -> None:
    """Refuse a finite number that rounding to *dtype* would make infinite."""
    sizes = [abs(part) for part in parts if math.isfinite(part)]
    if all(size <= dtype.largest for size in sizes):
        return
    wider = "f64" if max(sizes) > _LARGEST_F32 else "f32"
    if dtype.kind == "complex":
        wider = "c128"
    raise ArgumentError(
        f"{where} is {number!r}, which does not fit in {dtype}: declare it {wider}"
    )


_LARGEST_F32 = float(np.finfo(np.float32).max)


def _python_number(value: Any) -> Number | None:
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        value = value.item() if from_numpy(value.dtype) or _is_number(value) else None
    elif not isinstance(value, int | float) and getattr(value, "shape", None) == ():
        value = np.asarray(value).item()
    return value if isinstance(value, bool | int | float | complex) else None


def _is_number(value: Any) -> bool:
    return value.dtype.kind in "iufc"


def _integer(where: str, dtype: DType, number: Number) -> int:
    if isinstance(number, float | bool | complex):
        raise ArgumentError(
            f"{where} is {number!r}, but the kernel takes an integer ({dtype}): "
            f"{_whole(number)}"
        )
    if not dtype.lowest <= number <= dtype.highest:
        raise ArgumentError(
            f"{where} is {shown(number)}, which does not fit in {dtype}: pass one from "
            f"{dtype.lowest} to {dtype.highest}"
        )
    return number


def _whole(number: float | bool | complex) -> str:
    """Return what to pass in place of *number*, which is no integer."""
    if isinstance(number, complex):
        return "pass a whole number, or declare the parameter c64 or c128"
    if not math.isfinite(number):
        return "declare the parameter f32 or f64, which have NaN and infinities"
    if number == int(number):
        return f"pass {shown(int(number))}"
    return "pass a whole number, or declare the parameter f32 or f64"
