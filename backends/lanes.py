"""LLVM values with operators: what the SIMD operations and vector mathematics build on.

A `Lanes` is a scalar or a vector of one dtype together with the builder that makes
instructions for it, so that arithmetic on LLVM values reads like arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ..ir.dtypes import DTYPES

BITS = {dtype.name: dtype.bits for dtype in DTYPES.values()}
_FLOATS: dict[int, ir.Type] = {32: ir.FloatType(), 64: ir.DoubleType()}
_ELEMENTS: dict[str, ir.Type] = {
    dtype.name: _FLOATS[dtype.bits] if dtype.kind == "float" else ir.IntType(dtype.bits)
    for dtype in DTYPES.values()
}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def llvm_type(dtype: str, count: int) -> ir.Type:
    """Return the LLVM type of *count* lanes of *dtype*; 0 lanes is a scalar."""
    element = _ELEMENTS[dtype]
    return ir.VectorType(element, count) if count else element


def is_float(dtype: str) -> bool:
    """Return whether *dtype* is a floating-point type."""
    return DTYPES[dtype].kind == "float"


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """An LLVM value of *count* lanes of *dtype* (a scalar where *count* is 0)."""

    builder: Any
    dtype: str
    count: int
    value: Any

    # --- making values ------------------------------------------------------------

    def make(self, value: Any, dtype: str | None = None) -> Lanes:
        """Wrap an LLVM value of as many lanes."""
        return Lanes(self.builder, dtype or self.dtype, self.count, value)

    def constant(self, number: float | int, dtype: str | None = None) -> Lanes:
        """Return *number* in every lane."""
        kind = dtype or self.dtype
        plain: float | int = float(number) if is_float(kind) else int(number)
        type_ = llvm_type(kind, self.count)
        element = ir.Constant(_ELEMENTS[kind], plain)
        return self.make(
            ir.Constant(type_, [element] * self.count) if self.count else element, kind
        )

    def _other(self, other: Lanes | float | int) -> Any:
        return (other if isinstance(other, Lanes) else self.constant(other)).value

    def call(self, intrinsic: str, *operands: Lanes | float | int) -> Lanes:
        """Call an LLVM intrinsic that maps lanes of one type to the same type."""
        type_ = llvm_type(self.dtype, self.count)
        name = f"llvm.{intrinsic}.{suffix(self.dtype, self.count)}"
        values = [self.value, *(self._other(operand) for operand in operands)]
        return self.make(declare_and_call(self.builder, name, type_, values))

    # --- arithmetic ---------------------------------------------------------------

    def _binary(self, other: Lanes | float | int, instruction: str) -> Lanes:
        prefix = "f" if is_float(self.dtype) else ""
        build = getattr(self.builder, prefix + instruction)
        return self.make(build(self.value, self._other(other)))

    def __add__(self, other: Lanes | float | int) -> Lanes:
        return self._binary(other, "add")

    def __sub__(self, other: Lanes | float | int) -> Lanes:
        return self._binary(other, "sub")

    def __mul__(self, other: Lanes | float | int) -> Lanes:
        return self._binary(other, "mul")

    def __truediv__(self, other: Lanes | float | int) -> Lanes:
        return self.make(self.builder.fdiv(self.value, self._other(other)))

    def __neg__(self) -> Lanes:
        if is_float(self.dtype):
            return self.make(self.builder.fneg(self.value))
        return self.make(self.builder.neg(self.value))

    def fma(self, factor: Lanes | float, addend: Lanes | float) -> Lanes:
        """Return `self * factor + addend` with one rounding."""
        return self.call("fma", factor, addend)

    # --- bits and logic -----------------------------------------------------------

    def __and__(self, other: Lanes | int) -> Lanes:
        return self.make(self.builder.and_(self.value, self._other(other)))

    def __or__(self, other: Lanes | int) -> Lanes:
        return self.make(self.builder.or_(self.value, self._other(other)))

    def __xor__(self, other: Lanes | int) -> Lanes:
        return self.make(self.builder.xor(self.value, self._other(other)))

    def __invert__(self) -> Lanes:
        return self.make(self.builder.not_(self.value))

    def __lshift__(self, amount: int) -> Lanes:
        return self.make(self.builder.shl(self.value, self._other(amount)))

    def __rshift__(self, amount: int) -> Lanes:
        return self.make(self.builder.ashr(self.value, self._other(amount)))

    def bits_as(self, dtype: str) -> Lanes:
        """Reinterpret the bits of every lane."""
        type_ = llvm_type(dtype, self.count)
        return self.make(self.builder.bitcast(self.value, type_), dtype)

    # --- comparison and choice ----------------------------------------------------

    def compare(self, test: str, other: Lanes | float | int) -> Lanes:
        """Compare by `lt le gt ge eq ne`; NaN differs from everything."""
        operator, right = _COMPARISONS[test], self._other(other)
        if not is_float(self.dtype):
            signed = self.dtype != "bool"
            build = self.builder.icmp_signed if signed else self.builder.icmp_unsigned
            return self.make(build(operator, self.value, right), "bool")
        unordered = test == "ne"
        build = self.builder.fcmp_unordered if unordered else self.builder.fcmp_ordered
        return self.make(build(operator, self.value, right), "bool")

    def is_nan(self) -> Lanes:
        """Return where the value is not a number."""
        return self.make(
            self.builder.fcmp_unordered("uno", self.value, self.value), "bool"
        )

    def choose(
        self, then: Lanes | float | int, otherwise: Lanes | float | int
    ) -> Lanes:
        """Return *then* where this mask holds, else *otherwise*."""
        model = then if isinstance(then, Lanes) else otherwise
        assert isinstance(model, Lanes)
        left, right = model._other(then), model._other(otherwise)
        return model.make(self.builder.select(self.value, left, right))

    # --- conversion ---------------------------------------------------------------

    def convert(self, dtype: str) -> Lanes:
        """Convert by NumPy's `astype`: towards zero, wrapping, `x != 0` for bool."""
        if dtype == self.dtype:
            return self
        if dtype == "bool":
            return self.compare("ne", 0)
        type_ = llvm_type(dtype, self.count)
        if self.dtype == "bool":
            build = self.builder.uitofp if is_float(dtype) else self.builder.zext
        elif is_float(self.dtype):
            if not is_float(dtype):
                return self._to_integer(dtype)
            wider = BITS[dtype] > BITS[self.dtype]
            build = self.builder.fpext if wider else self.builder.fptrunc
        elif is_float(dtype):
            build = self.builder.sitofp
        else:
            wider = BITS[dtype] > BITS[self.dtype]
            build = self.builder.sext if wider else self.builder.trunc
        return self.make(build(self.value, type_), dtype)

    def _to_integer(self, dtype: str) -> Lanes:
        # LLVM leaves what does not fit undefined; x86 gives the smallest integer.
        limit = 2.0 ** (BITS[dtype] - 1)
        fits = self.compare("ge", -limit) & self.compare("lt", limit)
        safe = fits.choose(self, 0.0)
        type_ = llvm_type(dtype, self.count)
        whole = self.make(self.builder.fptosi(safe.value, type_), dtype)
        return fits.choose(whole, -(2 ** (BITS[dtype] - 1)))


def suffix(dtype: str, count: int) -> str:
    """Return the name LLVM appends to an overloaded intrinsic for this type."""
    element = dtype if is_float(dtype) else f"i{BITS[dtype]}"
    return f"v{count}{element}" if count else element


def declare_and_call(
    builder: Any, name: str, result: ir.Type, values: Sequence[Any]
) -> Any:
    """Call the function *name*, declaring it in the module where it is absent."""
    module = builder.module
    function = module.globals.get(name)
    if function is None:
        signature = ir.FunctionType(result, [value.type for value in values])
        function = ir.Function(module, signature, name=name)
    return builder.call(function, values)
