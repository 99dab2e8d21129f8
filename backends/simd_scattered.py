"""Memory operations of the SIMD vocabulary on lanes that lie apart.

They go up or down by a stride, or each has an offset of its own; bases, offsets and
masks are those of `simd_memory`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .lanes import declare_and_call, llvm_type
from .simd import lane_numbers, shape_of
from .simd_memory import (
    element_pointer,
    from_storage,
    storage_bytes,
    storage_suffix,
    storage_type,
    to_storage,
)

# --- at a stride ------------------------------------------------------------------


@intrinsic
def load_strided(
    _context: Any, base: Any, offset: Any, stride: Any, target: Any
) -> Any:
    """Load lanes that lie *stride* elements apart."""
    result = target.instance_type
    dtype, lanes = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        if _is_two(values[2]) and lanes > 1 and dtype != "bool":
            return _every_other(builder, dtype, lanes, values)
        element, align = storage_type(dtype, 0), storage_bytes(dtype)
        whole = ir.Constant(storage_type(dtype, lanes), ir.Undefined)
        for lane in range(lanes):
            pointer = _lane_pointer(builder, dtype, values[:3], lane)
            value = builder.load(pointer, align=align, typ=element)
            whole = builder.insert_element(whole, value, ir.IntType(32)(lane))
        return from_storage(builder, dtype, whole)

    return result(types.int64, types.int64, types.int64, target), generate


def _is_two(stride: Any) -> bool:
    return isinstance(stride, ir.Constant) and stride.constant == 2


def _every_other(builder: Any, dtype: str, lanes: int, values: Any) -> Any:
    """Load lanes two elements apart as two vectors, which overlap in one element."""
    type_, align = storage_type(dtype, lanes), storage_bytes(dtype)
    base, offset = values[:2]
    second = builder.add(offset, ir.IntType(64)(lanes - 1))
    low, high = (
        builder.load(element_pointer(builder, dtype, base, at), align=align, typ=type_)
        for at in (offset, second)
    )
    order = [2 * n if 2 * n < lanes else 2 * n + 1 for n in range(lanes)]
    return _shuffle(builder, low, high, order)


def _lane_pointer(builder: Any, dtype: str, values: Any, lane: int) -> Any:
    base, offset, stride = values
    distance = builder.mul(stride, ir.IntType(64)(lane))
    return element_pointer(builder, dtype, base, builder.add(offset, distance))


@intrinsic
def store_strided(
    _context: Any, base: Any, offset: Any, stride: Any, value: Any
) -> Any:
    """Store lanes *stride* elements apart."""
    dtype, lanes = shape_of(value)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        stored = to_storage(builder, dtype, lanes, values[3])
        for lane in range(lanes):
            pointer = _lane_pointer(builder, dtype, values[:3], lane)
            element = builder.extract_element(stored, ir.IntType(32)(lane))
            builder.store(element, pointer, align=storage_bytes(dtype))

    return types.void(types.int64, types.int64, types.int64, value), generate


@intrinsic
def load_reversed(_context: Any, base: Any, offset: Any, target: Any) -> Any:
    """Load lanes of which each lies right before the last one."""
    result = target.instance_type
    dtype, lanes = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _last_lane(builder, dtype, values[0], values[1], lanes)
        type_, align = storage_type(dtype, lanes), storage_bytes(dtype)
        value = _turned(builder, builder.load(pointer, align=align, typ=type_))
        return from_storage(builder, dtype, value)

    return result(types.int64, types.int64, target), generate


@intrinsic
def load_reversed_masked(
    _context: Any, base: Any, offset: Any, mask: Any, target: Any
) -> Any:
    """Load lanes of which each lies right before the last one where *mask* holds."""
    result = target.instance_type
    dtype, lanes = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _last_lane(builder, dtype, values[0], values[1], lanes)
        type_, align = storage_type(dtype, lanes), ir.IntType(32)(storage_bytes(dtype))
        name = f"llvm.masked.load.{storage_suffix(dtype, lanes)}.p0"
        mask_ = _turned(builder, values[2])
        arguments = [pointer, align, mask_, ir.Constant(type_, None)]
        value = _turned(builder, declare_and_call(builder, name, type_, arguments))
        return from_storage(builder, dtype, value)

    return result(types.int64, types.int64, mask, target), generate


def _last_lane(builder: Any, dtype: str, base: Any, offset: Any, lanes: int) -> Any:
    """Return the address of the lane that comes first in memory, if they go down."""
    first = builder.sub(offset, ir.IntType(64)(lanes - 1))
    return element_pointer(builder, dtype, base, first)


def _turned(builder: Any, value: Any) -> Any:
    """Return the lanes of *value* in reverse order."""
    lanes = value.type.count
    wide = ir.VectorType(ir.IntType(32), lanes)
    order = ir.Constant(wide, [ir.IntType(32)(lanes - 1 - k) for k in range(lanes)])
    undefined = ir.Constant(value.type, ir.Undefined)
    return builder.shuffle_vector(value, undefined, order)


def _strided_offsets(builder: Any, offset: Any, stride: Any, lanes: int) -> Any:
    wide = ir.VectorType(ir.IntType(64), lanes)
    numbers = lane_numbers(builder, "i64", lanes).value
    steps = builder.mul(_spread(builder, stride, wide), numbers)
    return builder.add(_spread(builder, offset, wide), steps)


def _spread(builder: Any, scalar: Any, wide: ir.VectorType) -> Any:
    undefined = ir.Constant(wide, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.IntType(32)(0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), wide.count), None)
    return builder.shuffle_vector(first, undefined, order)


def _gather(builder: Any, dtype: str, base: Any, offsets: Any, mask: Any) -> Any:
    lanes = mask.type.count
    type_ = storage_type(dtype, lanes)
    pointers = _pointers(builder, dtype, base, offsets)
    align = ir.IntType(32)(storage_bytes(dtype))
    name = f"llvm.masked.gather.{storage_suffix(dtype, lanes)}.v{lanes}p0"
    arguments = [pointers, align, mask, ir.Constant(type_, None)]
    value = declare_and_call(builder, name, type_, arguments)
    return from_storage(builder, dtype, value)


def _scatter(
    builder: Any, dtype: str, base: Any, offsets: Any, mask: Any, value: Any
) -> None:
    lanes = mask.type.count
    pointers = _pointers(builder, dtype, base, offsets)
    align = ir.IntType(32)(storage_bytes(dtype))
    name = f"llvm.masked.scatter.{storage_suffix(dtype, lanes)}.v{lanes}p0"
    arguments = [to_storage(builder, dtype, lanes, value), pointers, align, mask]
    declare_and_call(builder, name, ir.VoidType(), arguments)


def _pointers(builder: Any, dtype: str, base: Any, offsets: Any) -> Any:
    """Return the addresses of the lanes, as a base and offsets in elements.

    That is the form that LLVM knows the machine's gathers by, with 32-bit offsets where
    they are extended from these.
    """
    places = element_pointer(builder, dtype, base, offsets)
    places.type = ir.VectorType(ir.PointerType(), offsets.type.count)
    return places


def _all_lanes(lanes: int) -> Any:
    return ir.Constant(llvm_type("bool", lanes), [ir.IntType(1)(1)] * lanes)


@intrinsic
def load_strided_masked(
    _context: Any, base: Any, offset: Any, stride: Any, mask: Any, target: Any
) -> Any:
    """Load lanes *stride* elements apart where *mask* holds."""
    result = target.instance_type
    dtype, lanes = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        offsets = _strided_offsets(builder, values[1], values[2], lanes)
        return _gather(builder, dtype, values[0], offsets, values[3])

    integer = types.int64
    return result(integer, integer, integer, mask, target), generate


@intrinsic
def store_strided_masked(
    _context: Any, base: Any, offset: Any, stride: Any, mask: Any, value: Any
) -> Any:
    """Store lanes *stride* elements apart where *mask* holds."""
    dtype, lanes = shape_of(value)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        offsets = _strided_offsets(builder, values[1], values[2], lanes)
        _scatter(builder, dtype, values[0], offsets, values[3], values[4])

    integer = types.int64
    return types.void(integer, integer, integer, mask, value), generate


@intrinsic
def gather(_context: Any, base: Any, offsets: Any, target: Any) -> Any:
    """Load each lane from its own offset."""
    result = target.instance_type
    dtype, lanes = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _gather(builder, dtype, values[0], values[1], _all_lanes(lanes))

    return result(types.int64, offsets, target), generate


@intrinsic
def gather_masked(
    _context: Any, base: Any, offsets: Any, mask: Any, target: Any
) -> Any:
    """Load each lane from its own offset where *mask* holds."""
    result = target.instance_type
    dtype, _ = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _gather(builder, dtype, values[0], values[1], values[2])

    return result(types.int64, offsets, mask, target), generate


@intrinsic
def scatter(_context: Any, base: Any, offsets: Any, value: Any) -> Any:
    """Store each lane at its own offset."""
    dtype, lanes = shape_of(value)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        everywhere = _all_lanes(lanes)
        _scatter(builder, dtype, values[0], values[1], everywhere, values[2])

    return types.void(types.int64, offsets, value), generate


@intrinsic
def scatter_masked(
    _context: Any, base: Any, offsets: Any, mask: Any, value: Any
) -> Any:
    """Store each lane at its own offset where *mask* holds."""
    dtype, _ = shape_of(value)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        _scatter(builder, dtype, values[0], values[1], values[2], values[3])

    return types.void(types.int64, offsets, mask, value), generate


# --- transposition --------------------------------------------------------------------


@intrinsic
def store_pairs(
    _context: Any, base: Any, offset: Any, stride: Any, a: Any, b: Any
) -> Any:
    """Store two rows of a matrix by columns, which lie *stride* elements apart."""

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        _store_columns(builder, a, values)

    integer = types.int64
    return types.void(integer, integer, integer, a, b), generate


@intrinsic
def store_quads(
    _context: Any, base: Any, offset: Any, stride: Any, a: Any, b: Any, c: Any, d: Any
) -> Any:
    """Store four rows of a matrix by columns, which lie *stride* elements apart."""

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        _store_columns(builder, a, values)

    integer = types.int64
    return types.void(integer, integer, integer, a, b, c, d), generate


def _store_columns(builder: Any, row: Any, values: Any) -> None:
    dtype, lanes = shape_of(row)
    stored = [to_storage(builder, dtype, lanes, each) for each in values[3:]]
    rows = len(stored)
    while len(stored) > 1:
        half = len(stored) // 2
        pairs = zip(stored[:half], stored[half:], strict=True)
        stored = [_interleave(builder, low, high) for low, high in pairs]
    for lane in range(lanes):
        pointer = _lane_pointer(builder, dtype, values[:3], lane)
        order = range(lane * rows, (lane + 1) * rows)
        column = _shuffle(builder, stored[0], stored[0], order)
        builder.store(column, pointer, align=storage_bytes(dtype))


def _interleave(builder: Any, low: Any, high: Any) -> Any:
    """Return the elements of two vectors in turn."""
    count = low.type.count
    order = [each for lane in range(count) for each in (lane, count + lane)]
    return _shuffle(builder, low, high, order)


def _shuffle(builder: Any, low: Any, high: Any, order: Iterable[int]) -> Any:
    numbers = [ir.Constant(ir.IntType(32), each) for each in order]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), numbers)
    return builder.shuffle_vector(low, high, mask)
