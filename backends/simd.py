"""SIMD values for Numba: a vector type and the operations that generated code calls.

`vector("f32", 16)` is a Numba type whose values are LLVM vectors. The operations are
intrinsics: each call becomes a few LLVM instructions in place. All of them work on
scalars as well, so that generated code has one vocabulary, and on any lane count:
LLVM splits a wide vector over as many registers as it needs.

`minimum` and `maximum` return NaN where either operand is NaN, and the left operand
where the two are equal, as NumPy does; integer division by zero gives 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model
from numba.np import numpy_support

from ..ir.dtypes import DTYPES
from .lanes import Lanes, declare_and_call, is_float, is_signed, llvm_type, suffix


class VectorType(types.Type):
    """The Numba type of *lanes* values of *dtype*; of dtype bool it is a mask.

    Numba has no scalars of f16 and bf16: those are this type with 0 lanes.
    """

    def __init__(self, dtype: str, lanes: int) -> None:
        self.dtype = dtype
        self.lanes = lanes
        super().__init__(name=f"{dtype}x{lanes}")


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector_type: VectorType) -> None:
        backend = llvm_type(vector_type.dtype, vector_type.lanes)
        super().__init__(manager, vector_type, backend)  # type: ignore[no-untyped-call]


_SCALARS: dict[str, types.Type] = {
    dtype.name: VectorType(dtype.name, 0)
    if dtype.is_storage
    else numpy_support.from_dtype(dtype.numpy)
    for dtype in DTYPES.values()
    if dtype.kind != "complex"  # `lower` takes complex numbers apart
}
_DTYPES = {scalar: dtype for dtype, scalar in _SCALARS.items()}


def vector(dtype: str, lanes: int) -> VectorType:
    """Return the type of *lanes* values of *dtype*."""
    return VectorType(dtype, lanes)


# --- between Numba types and lanes --------------------------------------------------


def shape_of(type_: Any) -> tuple[str, int]:
    """Return dtype and lanes of a Numba type; 0 lanes is a scalar."""
    if isinstance(type_, VectorType):
        return type_.dtype, type_.lanes
    dtype = _DTYPES.get(type_)
    if dtype is None:
        raise TypingError(f"no SIMD operation on {type_}")
    return dtype, 0


def _type(dtype: str, lanes: int) -> Any:
    return VectorType(dtype, lanes) if lanes else _SCALARS[dtype]


def as_lanes(builder: Any, type_: Any, value: Any) -> Lanes:
    """Return an LLVM value of a Numba type as `Lanes`."""
    dtype, lanes = shape_of(type_)
    return Lanes(builder, dtype, lanes, value)


def _require_same(*operands: Any) -> None:
    if any(operand != operands[0] for operand in operands):
        raise TypingError(f"operands differ in type: {', '.join(map(str, operands))}")


def unary_operation(name: str, build: Callable[[Lanes], Lanes]) -> Any:
    """Make an operation of one operand; *build* gives its instructions."""

    def operation(_context: Any, a: Any) -> Any:
        shape_of(a)

        def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
            return build(as_lanes(builder, a, values[0])).value

        return a(a), generate

    return _named(operation, name)


def binary_operation(
    name: str, build: Callable[[Lanes, Lanes], Lanes], result: str | None = None
) -> Any:
    """Make an operation of two operands of one type; *result* is its dtype."""

    def operation(_context: Any, a: Any, b: Any) -> Any:
        _require_same(a, b)
        dtype, lanes = shape_of(a)

        def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
            left, right = (as_lanes(builder, a, value) for value in values)
            return build(left, right).value

        return _type(result or dtype, lanes)(a, b), generate

    return _named(operation, name)


def _named(operation: Callable[..., Any], name: str) -> Any:
    operation.__name__ = operation.__qualname__ = name
    return intrinsic(operation)


def _comparison(test: str) -> Any:
    return binary_operation(test, lambda a, b: a.compare(test, b), "bool")


# --- arithmetic ---------------------------------------------------------------------

add = binary_operation("add", lambda a, b: a + b)
sub = binary_operation("sub", lambda a, b: a - b)
mul = binary_operation("mul", lambda a, b: a * b)
div = binary_operation("div", lambda a, b: a / b)
neg = unary_operation("neg", lambda a: -a)
lt, le, gt = _comparison("lt"), _comparison("le"), _comparison("gt")
ge, eq, ne = _comparison("ge"), _comparison("eq"), _comparison("ne")
logical_and = binary_operation("logical_and", lambda a, b: a & b)
logical_or = binary_operation("logical_or", lambda a, b: a | b)
logical_not = unary_operation("logical_not", lambda a: ~a)


def build_extreme(a: Lanes, b: Lanes, test: str) -> Lanes:
    """Return *b* where it is `lt` / `gt` than *a* or NaN, else *a*."""
    chosen = b.compare(test, a).choose(b, a)
    return b.is_nan().choose(b, chosen) if is_float(a.dtype) else chosen


minimum = binary_operation("minimum", lambda a, b: build_extreme(a, b, "lt"))
maximum = binary_operation("maximum", lambda a, b: build_extreme(a, b, "gt"))


def _floor_division(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """Return quotient and remainder, rounded down; both are 0 where *b* is 0."""
    if not is_signed(a.dtype):
        return _unsigned_division(a, b)
    minus_one, zero = b.compare("eq", -1), b.compare("eq", 0)
    safe = (minus_one | zero).choose(1, b)  # neither traps: dead lanes hold anything
    quotient = a.make(a.builder.sdiv(a.value, safe.value))
    remainder = a - quotient * safe
    signs_differ = (remainder ^ safe).compare("lt", 0)
    adjust = remainder.compare("ne", 0) & signs_differ
    quotient = adjust.choose(quotient - 1, quotient)
    remainder = adjust.choose(remainder + safe, remainder)
    quotient = zero.choose(0, minus_one.choose(-a, quotient))
    return quotient, (minus_one | zero).choose(0, remainder)


def _unsigned_division(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    zero = b.compare("eq", 0)
    safe = zero.choose(1, b)
    quotient = a.make(a.builder.udiv(a.value, safe.value))
    remainder = a - quotient * safe
    return zero.choose(0, quotient), zero.choose(0, remainder)


def _float_division(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """Return quotient and remainder, rounded down, as NumPy's `divmod` finds them."""
    if a.dtype == "f32":
        wide = _float_division(a.convert("f64"), b.convert("f64"))
        return wide[0].convert("f32"), wide[1].convert("f32")
    remainder = a.make(a.builder.frem(a.value, b.value))
    nonzero = remainder.compare("ne", 0.0)
    differ = nonzero & (remainder.compare("lt", 0.0) ^ b.compare("lt", 0.0))
    quotient = (a - remainder) / b
    quotient = differ.choose(quotient - 1.0, quotient)
    down = quotient.call("floor")
    nearest = (quotient - down).compare("gt", 0.5).choose(down + 1.0, down)
    zero = a.constant(0.0)
    is_zero = quotient.compare("eq", 0.0)
    whole = is_zero.choose(zero.call("copysign", a / b), nearest)
    whole = b.compare("eq", 0.0).choose(a / b, whole)
    adjusted = differ.choose(remainder + b, remainder)
    return whole, nonzero.choose(adjusted, zero.call("copysign", b))


def _division(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    return _float_division(a, b) if is_float(a.dtype) else _floor_division(a, b)


floordiv = binary_operation("floordiv", lambda a, b: _division(a, b)[0])
mod = binary_operation("mod", lambda a, b: _division(a, b)[1])


@intrinsic
def fma(_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return `a * b + c` with one rounding (integers: wrapping)."""
    _require_same(a, b, c)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        x, y, z = (as_lanes(builder, a, value) for value in values)
        return (x.fma(y, z) if is_float(x.dtype) else x * y + z).value

    return a(a, b, c), generate


@intrinsic
def select(_context: Any, mask: Any, then: Any, otherwise: Any) -> Any:
    """Return *then* where *mask* holds, else *otherwise*."""
    _require_same(then, otherwise)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(*values)

    return then(mask, then, otherwise), generate


# --- making and taking apart --------------------------------------------------------


@intrinsic
def convert(_context: Any, a: Any, target: Any) -> Any:
    """Convert every lane to the dtype of the type *target*, as NumPy's `astype`."""
    result = target.instance_type
    dtype, _ = shape_of(result)

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        return as_lanes(builder, a, values[0]).convert(dtype).value

    return result(a, target), generate


@intrinsic
def splat(_context: Any, scalar: Any, target: Any) -> Any:
    """Return *scalar*, converted to the dtype of *target*, in every lane."""
    result = target.instance_type

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = as_lanes(builder, scalar, values[0]).convert(result.dtype)
        return build_splat(builder, result, element.value)

    return result(scalar, target), generate


def build_splat(builder: Any, result: VectorType, element: Any) -> Any:
    """Return an LLVM vector with *element* in every lane."""
    type_ = llvm_type(result.dtype, result.lanes)
    undefined = ir.Constant(type_, ir.Undefined)
    first = builder.insert_element(undefined, element, ir.IntType(32)(0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), result.lanes), None)
    return builder.shuffle_vector(first, undefined, order)


def lane_numbers(builder: Any, dtype: str, lanes: int) -> Lanes:
    """Return 0, 1, 2, ... as integers of *dtype*."""
    element = llvm_type(dtype, 0)
    numbers = [ir.Constant(element, lane) for lane in range(lanes)]
    return Lanes(builder, dtype, lanes, ir.Constant(llvm_type(dtype, lanes), numbers))


@intrinsic
def iota(_context: Any, target: Any) -> Any:
    """Return 0, 1, 2, ... in the lanes of the integer vector type *target*."""
    result = target.instance_type

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        return lane_numbers(builder, result.dtype, result.lanes).value

    return result(target), generate


@intrinsic
def first_lanes(_context: Any, count: Any, target: Any) -> Any:
    """Return a mask that holds in the lanes below *count* (any integer)."""
    result = target.instance_type

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        number = as_lanes(builder, types.int64, values[0])
        number = number.call("smax", 0).call("smin", result.lanes).convert("i32")
        limit = build_splat(builder, VectorType("i32", result.lanes), number.value)
        lanes = lane_numbers(builder, "i32", result.lanes)
        return lanes.compare("lt", lanes.make(limit)).value

    return result(types.int64, target), generate


@intrinsic(prefer_literal=True)
def extract(_context: Any, a: Any, lane: Any) -> Any:
    """Return the element of the constant *lane*."""
    number = lane.literal_value

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.extract_element(values[0], ir.IntType(32)(number))

    return _SCALARS[a.dtype](a, lane), generate


@intrinsic(prefer_literal=True)
def insert(_context: Any, a: Any, element: Any, lane: Any) -> Any:
    """Return *a* with *element* in the constant *lane*."""
    number = lane.literal_value

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.insert_element(values[0], values[1], ir.IntType(32)(number))

    return a(a, _SCALARS[a.dtype], lane), generate


def _reduction(name: str, build: Callable[[Lanes, Lanes], Lanes]) -> Any:
    def operation(_context: Any, a: Any) -> Any:
        def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
            return _halve(as_lanes(builder, a, values[0]), build)

        return _SCALARS[a.dtype](a), generate

    return _named(operation, name)


def _halve(whole: Lanes, build: Callable[[Lanes, Lanes], Lanes]) -> Any:
    """Combine the two halves until one lane is left: a tree in a fixed order."""
    builder = whole.builder
    while whole.count > 1:
        half = whole.count // 2
        index = ir.IntType(32)
        parts = [
            builder.shuffle_vector(
                whole.value,
                whole.value,
                ir.Constant(
                    ir.VectorType(index, half),
                    [ir.Constant(index, start + lane) for lane in range(half)],
                ),
            )
            for start in (0, half)
        ]
        low, high = (Lanes(builder, whole.dtype, half, part) for part in parts)
        whole = build(low, high)
    return builder.extract_element(whole.value, ir.IntType(32)(0))


reduce_add = _reduction("reduce_add", lambda a, b: a + b)
reduce_mul = _reduction("reduce_mul", lambda a, b: a * b)
reduce_min = _reduction("reduce_min", lambda a, b: build_extreme(a, b, "lt"))
reduce_max = _reduction("reduce_max", lambda a, b: build_extreme(a, b, "gt"))


@intrinsic
def any_lane(_context: Any, mask: Any) -> Any:
    """Return whether *mask* holds in any lane."""

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        name = f"llvm.vector.reduce.or.{suffix('bool', mask.lanes)}"
        return declare_and_call(builder, name, ir.IntType(1), values)

    return types.boolean(mask), generate


@intrinsic
def mask_where(_context: Any, form: Any, mask: Any) -> Any:
    """Return *mask* if the integer *form* is >= 0, else no lane."""

    def generate(_target: Any, builder: Any, signature: Any, values: Any) -> Any:
        holds = builder.icmp_signed(">=", values[0], ir.IntType(64)(0))
        return builder.select(holds, values[1], ir.Constant(values[1].type, None))

    return mask(types.int64, mask), generate
