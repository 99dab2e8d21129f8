"""Memory operations of the SIMD vocabulary on elements that are neighbours.

Memory is addressed by a base (`address(array)`, an integer) and an offset in elements,
so no bounds or wrap-around code is made. Vectors are read and written with the
alignment of an element. A masked operation does not touch the memory of a lane whose
mask is off; a masked load gives 0 there. A bool is a byte in memory.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .lanes import BITS, declare_and_call, llvm_type, suffix
from .simd import build_splat, shape_of


def storage_type(dtype: str, lanes: int) -> ir.Type:
    """Return the type in memory, where a bool is a byte."""
    element = ir.IntType(8) if dtype == "bool" else llvm_type(dtype, 0)
    return ir.VectorType(element, lanes) if lanes else element


def storage_bytes(dtype: str) -> int:
    """Return the size of an element in memory."""
    return max(1, BITS[dtype] // 8)


def element_pointer(builder: Any, dtype: str, base: Any, offset: Any) -> Any:
    """Return the address of the element at *offset*, or those of several."""
    pointer = builder.inttoptr(base, ir.PointerType())
    return builder.gep(pointer, [offset], source_etype=storage_type(dtype, 0))


def from_storage(builder: Any, dtype: str, value: Any) -> Any:
    """Return what was loaded as a value: the bools of bytes."""
    if dtype != "bool":
        return value
    return builder.icmp_unsigned("!=", value, ir.Constant(value.type, None))


def to_storage(builder: Any, dtype: str, lanes: int, value: Any) -> Any:
    """Return *value* as it is stored: the bytes of bools."""
    if dtype != "bool":
        return value
    return builder.zext(value, storage_type(dtype, lanes))


@intrinsic
def address(_context: Any, array: Any) -> Any:
    """Return the address of the first element of *array* as an integer."""

    def generate(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        struct = target.make_array(array)(target, builder, values[0])
        return builder.ptrtoint(struct.data, ir.IntType(64))

    return types.int64(array), generate


@intrinsic
def keep(_context: Any, array: Any) -> Any:
    """Hold a reference to *array* until here; its address is in use."""
    return types.void(array), lambda _target, _builder, _signature, _values: None


@intrinsic
def load(_context: Any, base: Any, offset: Any, target: Any) -> Any:
    """Return the elements from *offset* on: one per lane of *target*."""
    result = target.instance_type
    dtype, lanes = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = element_pointer(builder, dtype, values[0], values[1])
        type_, align = storage_type(dtype, lanes), storage_bytes(dtype)
        value = builder.load(pointer, align=align, typ=type_)
        return from_storage(builder, dtype, value)

    return result(types.int64, types.int64, target), generate


@intrinsic
def load_splat(_context: Any, base: Any, offset: Any, target: Any) -> Any:
    """Return the one element at *offset* in every lane of *target*."""
    result = target.instance_type
    dtype = result.dtype

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = element_pointer(builder, dtype, values[0], values[1])
        type_, align = storage_type(dtype, 0), storage_bytes(dtype)
        value = builder.load(pointer, align=align, typ=type_)
        return build_splat(builder, result, from_storage(builder, dtype, value))

    return result(types.int64, types.int64, target), generate


@intrinsic
def load_masked(_context: Any, base: Any, offset: Any, mask: Any, target: Any) -> Any:
    """Load where *mask* holds; the other lanes are 0 and their memory is not read."""
    result = target.instance_type
    dtype, lanes = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        base_, offset_, mask_ = values[:3]
        pointer = element_pointer(builder, dtype, base_, offset_)
        type_, align = storage_type(dtype, lanes), ir.IntType(32)(storage_bytes(dtype))
        name = f"llvm.masked.load.{storage_suffix(dtype, lanes)}.p0"
        arguments = [pointer, align, mask_, ir.Constant(type_, None)]
        value = declare_and_call(builder, name, type_, arguments)
        return from_storage(builder, dtype, value)

    return result(types.int64, types.int64, mask, target), generate


def storage_suffix(dtype: str, lanes: int) -> str:
    """Return how LLVM calls the type in memory in the names of its operations."""
    return f"v{lanes}i8" if dtype == "bool" else suffix(dtype, lanes)


@intrinsic
def store(_context: Any, base: Any, offset: Any, value: Any) -> Any:
    """Store the lanes of *value* from *offset* on."""
    dtype, lanes = shape_of(value)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = element_pointer(builder, dtype, values[0], values[1])
        stored = to_storage(builder, dtype, lanes, values[2])
        builder.store(stored, pointer, align=storage_bytes(dtype))

    return types.void(types.int64, types.int64, value), generate


@intrinsic
def store_masked(_context: Any, base: Any, offset: Any, mask: Any, value: Any) -> Any:
    """Store the lanes of *value* where *mask* holds."""
    dtype, lanes = shape_of(value)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        base_, offset_, mask_, value_ = values
        pointer = element_pointer(builder, dtype, base_, offset_)
        stored = to_storage(builder, dtype, lanes, value_)
        name = f"llvm.masked.store.{storage_suffix(dtype, lanes)}.p0"
        align = ir.IntType(32)(storage_bytes(dtype))
        arguments = [stored, pointer, align, mask_]
        declare_and_call(builder, name, ir.VoidType(), arguments)

    return types.void(types.int64, types.int64, mask, value), generate
