"""LLVM values with operators: what the SIMD operations and vector mathematics build on.

A `Lanes` is a scalar or a vector of one dtype together with the builder that makes
instructions for it, so that arithmetic on LLVM values reads like arithmetic.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import config

from ..ir.dtypes import DTYPES

BITS = {dtype.name: dtype.bits for dtype in DTYPES.values()}
_FLOATS: dict[int, ir.Type] = {32: ir.FloatType(), 64: ir.DoubleType()}


def is_float(dtype: str) -> bool:
    """Return whether *dtype* is a floating-point type that one computes with."""
    return DTYPES[dtype].kind == "float" and not is_stored(dtype)


def is_stored(dtype: str) -> bool:
    """Return whether *dtype* is a float that is widened before it is computed with."""
    return DTYPES[dtype].is_storage


def is_signed(dtype: str) -> bool:
    """Return whether numbers of *dtype* have a sign."""
    return DTYPES[dtype].signed


# 16-bit floats are their bits: copies keep every NaN, and no target has to know them.
_ELEMENTS: dict[str, ir.Type] = {
    name: _FLOATS[dtype.bits] if is_float(name) else ir.IntType(dtype.bits)
    for name, dtype in DTYPES.items()
}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def llvm_type(dtype: str, count: int) -> ir.Type:
    """Return the LLVM type of *count* lanes of *dtype*; 0 lanes is a scalar."""
    element = _ELEMENTS[dtype]
    return ir.VectorType(element, count) if count else element


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
        build = self.builder.ashr if is_signed(self.dtype) else self.builder.lshr
        return self.make(build(self.value, self._other(amount)))

    def bits_as(self, dtype: str) -> Lanes:
        """Reinterpret the bits of every lane."""
        type_ = llvm_type(dtype, self.count)
        return self.make(self.builder.bitcast(self.value, type_), dtype)

    def convert_bits(self, dtype: str) -> Lanes:
        """Take the low bits of every lane, with zeros in front of them."""
        build = self.builder.zext if BITS[dtype] > BITS[self.dtype] else None
        build = build or self.builder.trunc
        return self.make(build(self.value, llvm_type(dtype, self.count)), dtype)

    # --- comparison and choice ----------------------------------------------------

    def compare(self, test: str, other: Lanes | float | int) -> Lanes:
        """Compare by `lt le gt ge eq ne`; NaN differs from everything."""
        operator, right = _COMPARISONS[test], self._other(other)
        if not is_float(self.dtype):
            signed = is_signed(self.dtype)
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
        if is_stored(self.dtype):
            return _widened(self).convert(dtype)
        if is_stored(dtype):
            return _narrowed(self, dtype)
        if dtype == "bool":
            return self.compare("ne", 0)
        type_ = llvm_type(dtype, self.count)
        wider = BITS[dtype] > BITS[self.dtype]
        if is_float(self.dtype):
            if not is_float(dtype):
                return self._to_integer(dtype)
            build = self.builder.fpext if wider else self.builder.fptrunc
        elif is_float(dtype):
            signed = is_signed(self.dtype)
            build = self.builder.sitofp if signed else self.builder.uitofp
        elif BITS[dtype] == BITS[self.dtype]:
            return self.make(self.value, dtype)
        elif wider:
            build = self.builder.sext if is_signed(self.dtype) else self.builder.zext
        else:
            build = self.builder.trunc
        return self.make(build(self.value, type_), dtype)

    def _to_integer(self, dtype: str) -> Lanes:
        # LLVM leaves what does not fit undefined. A float type without fractions near
        # the lowest integer has no number between that and the integer below.
        lowest, highest = DTYPES[dtype].lowest, DTYPES[dtype].highest
        if BITS[dtype] <= DTYPES[self.dtype].precision or not is_signed(dtype):
            fits = self.compare("gt", float(lowest - 1))
        else:
            fits = self.compare("ge", float(lowest))
        fits = fits & self.compare("lt", float(highest + 1))
        safe = fits.choose(self, 0.0)
        signed = is_signed(dtype)
        build = self.builder.fptosi if signed else self.builder.fptoui
        type_ = llvm_type(dtype, self.count)
        return fits.choose(self.make(build(safe.value, type_), dtype), lowest)


# --- 16-bit floats --------------------------------------------------------------------


def _widen_bf16(x: Lanes) -> Lanes:
    return (x.convert_bits("u32") << 16).bits_as("f32")


def _narrow_bf16(x: Lanes) -> Lanes:
    """Round f32 to nearest even, which is an addition to its bits."""
    bits = x.bits_as("u32")
    rounded = (bits + ((bits >> 16) & 1) + 0x7FFF) >> 16
    quiet = (bits >> 16) | 0x40
    return x.is_nan().choose(quiet, rounded).convert_bits("bf16")


def _widen_f16(x: Lanes) -> Lanes:
    half = ir.VectorType(ir.HalfType(), x.count) if x.count else ir.HalfType()
    bits = x.builder.bitcast(x.value, half)
    return x.make(x.builder.fpext(bits, llvm_type("f32", x.count)), "f32")


def _narrow_f16(x: Lanes) -> Lanes:
    half = ir.VectorType(ir.HalfType(), x.count) if x.count else ir.HalfType()
    bits = x.builder.fptrunc(x.value, half)
    return x.make(x.builder.bitcast(bits, llvm_type("f16", x.count)), "f16")


def widen_f16_in_software(x: Lanes) -> Lanes:
    """Return f16 as f32 where the target has no instruction for it."""
    bits = x.convert_bits("u32")
    shifted = (bits & 0x7FFF) << 13
    exponent = shifted & (0x7C00 << 13)
    normal = shifted + (112 << 23)
    special = normal + (112 << 23)
    subnormal = ((normal + (1 << 23)).bits_as("f32") - 2.0**-14).bits_as("u32")
    size = exponent.compare("eq", 0x7C00 << 13).choose(special, normal)
    size = exponent.compare("eq", 0).choose(subnormal, size)
    return (size | ((bits & 0x8000) << 16)).bits_as("f32")


def narrow_f16_in_software(x: Lanes) -> Lanes:
    """Return f32 as f16, rounded to nearest even."""
    bits = x.bits_as("u32")
    size = bits & 0x7FFFFFFF
    # Adding this lets the hardware round to the last place of subnormal f16.
    aligned = (size.bits_as("f32") + 0.5).bits_as("u32") - 0x3F000000
    normal = (size + ((size >> 13) & 1) + (0x100000000 - (112 << 23) + 0xFFF)) >> 13
    special = size.compare("gt", 0x7F800000).choose(x.constant(0x7E00, "u32"), 0x7C00)
    value = size.compare("lt", 113 << 23).choose(aligned, normal)
    value = size.compare("ge", 143 << 23).choose(special, value)
    return (value | ((bits >> 16) & 0x8000)).convert_bits("f16")


def _to_odd(x: Lanes) -> Lanes:
    """Return f64 as f32 such that rounding it again to f16 rounds once.

    What is not exact gets the neighbour whose last bit is set.
    """
    near = x.convert("f32")
    back, bits = near.convert("f64"), near.bits_as("u32")
    inexact = back.compare("lt", x) | back.compare("gt", x)
    away = back.call("fabs").compare("gt", x.call("fabs"))
    other = away.choose(bits - 1, bits + 1)
    even = (bits & 1).compare("eq", 0)
    return (inexact & even).choose(other, bits).bits_as("f32")


@cache
def _has_half() -> bool:
    """Return whether the processor that code is made for converts f16."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return True
    chosen = getattr(config, "CPU_FEATURES", None)
    if chosen is None:
        return bool(get_host_cpu_features().get("f16c"))
    return "+f16c" in chosen.split(",")


def _widened(x: Lanes) -> Lanes:
    """Return 16-bit floats as f32, exactly."""
    if x.dtype == "bf16":
        return _widen_bf16(x)
    return _widen_f16(x) if _has_half() else widen_f16_in_software(x)


def _narrowed(x: Lanes, dtype: str) -> Lanes:
    """Return numbers as 16-bit floats, as NumPy: all but f64 to f16 through f32."""
    if dtype == "bf16":
        return _narrow_bf16(x.convert("f32"))
    single = _to_odd(x) if x.dtype == "f64" else x.convert("f32")
    return _narrow_f16(single) if _has_half() else narrow_f16_in_software(single)


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
