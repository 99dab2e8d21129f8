"""Operations for subscripts that data decides: tests, safe loads, and a fault word.

A fault is three integers in memory: the number of the place in the program (0 means
none), the subscript, and the size that it exceeds. The first thread to find one keeps
it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .lanes import declare_and_call
from .simd import VectorType, build_splat, shape_of
from .simd_memory import storage_bytes, storage_type

_WORD = ir.IntType(64)


@intrinsic
def within(_context: Any, subscript: Any, size: Any) -> Any:
    """Return whether 0 <= *subscript* < *size*, in each lane."""
    _, lanes = shape_of(subscript)
    result = VectorType("bool", lanes) if lanes else types.boolean

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        position, limit = values
        if lanes:
            limit = build_splat(builder, subscript, limit)
        return builder.icmp_unsigned("<", position, limit)

    return result(subscript, types.int64), generate


@intrinsic
def load_if(_context: Any, inside: Any, base: Any, offset: Any, target: Any) -> Any:
    """Return the element at *offset* if *inside*, else 0 without reading memory."""
    result = target.instance_type
    dtype, _ = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        holds, start, place = values[:3]
        element = storage_type(dtype, 0)
        pointer = builder.inttoptr(start, ir.PointerType())
        pointer = builder.gep(pointer, [place], source_etype=element)
        pointer = builder.select(holds, pointer, _zero(builder.module, element))
        value = builder.load(pointer, align=storage_bytes(dtype), typ=element)
        if dtype != "bool":
            return value
        return builder.icmp_unsigned("!=", value, ir.Constant(element, None))

    return result(types.boolean, types.int64, types.int64, target), generate


def _zero(module: Any, element: ir.Type) -> Any:
    """Return the address of a 0 that can be read in place of any element."""
    name = f"tdsl.zero.{element}"
    if name not in module.globals:
        zero = ir.GlobalVariable(module, element, name)
        zero.linkage, zero.global_constant = "internal", True
        zero.initializer = ir.Constant(element, None)
    return builder_pointer(module.globals[name])


def builder_pointer(value: Any) -> Any:
    """Return *value*, an address, with the type that opaque pointers have."""
    return value.bitcast(ir.PointerType())


@intrinsic
def report_fault(
    _context: Any, fault: Any, place: Any, subscript: Any, size: Any, bad: Any
) -> Any:
    """Keep the first *subscript* that is *bad* as a fault at *place*, if any is."""
    _, lanes = shape_of(bad)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        word, number, position, limit, wrong = values
        bits = builder.bitcast(wrong, ir.IntType(lanes)) if lanes else wrong
        some = builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
        with builder.if_then(some, likely=False):
            if lanes:
                name = f"llvm.cttz.i{lanes}"
                arguments = [bits, ir.IntType(1)(0)]
                lane = declare_and_call(builder, name, bits.type, arguments)
                position = builder.extract_element(position, lane)
            base = builder.inttoptr(word, ir.PointerType(_WORD))
            claim = builder.cmpxchg(base, _WORD(0), number, "monotonic", "monotonic")
            with builder.if_then(builder.extract_value(claim, 1)):
                for offset, value in ((1, position), (2, limit)):
                    target = builder.gep(base, [_WORD(offset)])
                    builder.store(value, target)

    integer = types.int64
    return types.void(integer, integer, subscript, integer, bad), generate
