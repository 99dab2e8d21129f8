"""Mathematical functions of scalars and vectors, as instructions in place.

Each function is a reduction of the argument and a polynomial, for float32 and float64
and any number of lanes. Errors are a few units in the last place; special values
(NaN, infinities, signed zeros, subnormals) are those of NumPy. `sin` and `cos` of very
large arguments and float64 powers call the C library lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

from llvmlite import ir

from .lanes import Lanes, declare_and_call, is_float, is_signed, llvm_type, suffix
from .simd import binary_operation, unary_operation
from .vector_formats import F32, F64, Format

_ERF_CENTRE = 2.0
_LOG2_E = 1.4426950408889634
_LN_2 = 0.6931471805599453


def _format(x: Lanes) -> Format:
    return F32 if x.dtype == "f32" else F64


def _polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """Return `c[0] + c[1] x + ...` by Horner's rule with fused steps."""
    total = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total.fma(x, coefficient)
    return total


def _absolute(x: Lanes) -> Lanes:
    if is_float(x.dtype):
        return x.call("fabs")
    return x if not is_signed(x.dtype) else x.compare("lt", 0).choose(-x, x)


# --- exponentials ---------------------------------------------------------------------


def _clamp(x: Lanes, low: float, high: float) -> Lanes:
    """Return *x* within the limits; NaN stays."""
    x = x.compare("gt", high).choose(high, x)
    return x.compare("lt", low).choose(low, x)


def _nearest(x: Lanes, factor: float) -> tuple[Lanes, Lanes]:
    """Return `x * factor` rounded to an integer, as a float and as an integer."""
    form = _format(x)
    shifted = x.fma(factor, form.magic)
    bits = shifted.bits_as(form.integer)
    offset = x.constant(form.magic).bits_as(form.integer)
    return shifted - form.magic, bits - offset


def _power_of_two(x: Lanes, exponent: Lanes) -> Lanes:
    """Return `2 ** exponent` for exponents of normal numbers."""
    form = _format(x)
    return ((exponent + form.bias) << form.mantissa).bits_as(x.dtype)


def _scale(x: Lanes, exponent: Lanes) -> Lanes:
    """Return `x * 2 ** exponent`, also where that power alone would overflow."""
    half = exponent >> 1
    first = x * _power_of_two(x, half)
    return first * _power_of_two(x, exponent - half)


def _exp_polynomial(r: Lanes) -> Lanes:
    """Return `(exp(r) - 1 - r) / r**2` for a small *r*."""
    terms = [1 / factorial(n) for n in range(2, _format(r).exp_terms + 1)]
    return _polynomial(r, terms)


def _reduce_exp(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return r and n with `x = n ln 2 + r`."""
    high, low = _format(x).ln2
    count, number = _nearest(x, _LOG2_E)
    return count.fma(-low, count.fma(-high, x)), number


def build_exp(x: Lanes) -> Lanes:
    """Return the exponential."""
    r, number = _reduce_exp(_clamp(x, *_format(x).exp_range))
    value = (r * r).fma(_exp_polynomial(r), r) + 1.0
    return _scale(value, number)


def build_exp2(x: Lanes) -> Lanes:
    """Return two to the power of *x*."""
    low, high = (bound * _LOG2_E for bound in _format(x).exp_range)
    x = _clamp(x, low, high)
    count, number = _nearest(x, 1.0)
    r = (x - count) * _LN_2
    value = (r * r).fma(_exp_polynomial(r), r) + 1.0
    return _scale(value, number)


def build_expm1(x: Lanes) -> Lanes:
    """Return `exp(x) - 1`, exact to the last places near 0."""
    limit = float(_format(x).mantissa)
    r, number = _reduce_exp(_clamp(x, -limit, limit))
    small = (r * r).fma(_exp_polynomial(r), r)
    scale = _power_of_two(x, number)
    value = scale.fma(small, scale - 1.0)
    value = x.compare("gt", limit).choose(build_exp(x), value)
    return x.compare("eq", 0.0).choose(x, value)


def build_sigmoid(x: Lanes) -> Lanes:
    """Return `1 / (1 + exp(-x))`."""
    tail = build_exp(-_absolute(x))
    numerator = x.compare("lt", 0.0).choose(tail, 1.0)
    return numerator / (tail + 1.0)


def build_tanh(x: Lanes) -> Lanes:
    """Return the hyperbolic tangent."""
    size = _absolute(x)
    size = size.compare("gt", 22.0).choose(22.0, size)
    growth = build_expm1(size + size)
    return (growth / (growth + 2.0)).call("copysign", x)


# --- logarithms -----------------------------------------------------------------------


def _log_parts(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return e and f with `x = 2**e (1 + f)` and `1 + f` near 1, for x > 0."""
    form = _format(x)
    smallest = 2.0 ** (1 - form.bias)
    tiny = x.compare("lt", smallest)
    lift = form.mantissa + 1
    scaled = tiny.choose(x * 2.0**lift, x)
    bits = scaled.bits_as(form.integer)
    # Adding this makes the exponent change at sqrt(1/2) instead of at 1.
    root = x.constant(0.70710678118654752).bits_as(form.integer)
    one = x.constant(1.0).bits_as(form.integer)
    shifted = bits + (one - root)
    exponent = (shifted >> form.mantissa) - form.bias
    fraction = (shifted & ((1 << form.mantissa) - 1)) + root
    exponent = tiny.choose(exponent - lift, exponent)
    return exponent.convert(x.dtype), fraction.bits_as(x.dtype) - 1.0


def _log_polynomial(f: Lanes) -> tuple[Lanes, Lanes]:
    """Return h and c with `log(1 + f) = f - (h - c)`."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    return half, s * (half + z * _polynomial(z, _format(f).log_terms))


def _log_special(x: Lanes, value: Lanes) -> Lanes:
    infinity = float("inf")
    value = x.compare("eq", infinity).choose(infinity, value)
    value = x.compare("eq", 0.0).choose(-infinity, value)
    invalid = x.compare("lt", 0.0) | x.is_nan()
    return invalid.choose(float("nan"), value)


def build_log(x: Lanes) -> Lanes:
    """Return the natural logarithm."""
    high, low = _format(x).ln2
    exponent, f = _log_parts(x)
    half, correction = _log_polynomial(f)
    rest = half - exponent.fma(low, correction)
    return _log_special(x, exponent.fma(high, f - rest))


def build_log2(x: Lanes) -> Lanes:
    """Return the logarithm to base 2, exact for powers of two."""
    exponent, f = _log_parts(x)
    half, correction = _log_polynomial(f)
    # log2(e) in two parts keeps the error of the product out of the last place.
    top = _LOG2_E if x.dtype == "f64" else 1.44269502162933349609375
    rest = _LOG2_E - top if x.dtype == "f32" else 2.0355273740931033e-17
    value = f - (half - correction)
    return _log_special(x, value.fma(top, value.fma(rest, exponent)))


def build_log1p(x: Lanes) -> Lanes:
    """Return `log(1 + x)`, exact to the last places near 0."""
    total = x + 1.0
    lost = (x - (total - 1.0)) / total
    value = build_log(total)
    ordinary = total.compare("gt", 0.0) & total.compare("lt", float("inf"))
    value = ordinary.choose(value + lost, value)
    return total.compare("eq", 1.0).choose(x, value)


# --- error function -------------------------------------------------------------------


def build_erf(x: Lanes) -> Lanes:
    """Return the error function."""
    form = _format(x)
    size = _absolute(x)
    square = size * size
    small = size * _polynomial(square, form.erf_small)
    limited = size.compare("gt", form.erf_limit).choose(form.erf_limit, size)
    t = (limited - _ERF_CENTRE) / (limited + _ERF_CENTRE)
    tail = build_exp(-(limited * limited)) * _polynomial(t, form.erf_large)
    large = x.constant(1.0) - tail
    value = size.compare("lt", 1.0).choose(small, large)
    return x.is_nan().choose(x, value.call("copysign", x))


# --- trigonometry ---------------------------------------------------------------------


def _trigonometric(x: Lanes, quarter_turns: int, name: str) -> Lanes:
    """Return the sine of *x* plus a number of quarter turns."""
    form = _format(x)
    count, number = _nearest(x, 0.6366197723675814)
    r = x
    for part in form.half_pi:
        r = count.fma(-part, r)
    square = r * r
    sine = (r * square).fma(_polynomial(square, form.sin_terms), r)
    terms = _polynomial(square, form.cos_terms)
    cosine = (square * square).fma(terms, square.fma(-0.5, 1.0))
    quadrant = number + quarter_turns
    value = (quadrant & 1).compare("ne", 0).choose(cosine, sine)
    value = (quadrant & 2).compare("ne", 0).choose(-value, value)
    return _library_where_large(x, value, name)


def _library_where_large(x: Lanes, value: Lanes, name: str) -> Lanes:
    """Replace *value* by the C library's where *x* is too large to reduce here."""
    builder = x.builder
    large = _absolute(x).compare("gt", _format(x).trig_limit)
    slot = builder.alloca(llvm_type(x.dtype, x.count))
    builder.store(value.value, slot)
    with builder.if_then(_any(large), likely=False):
        exact = _by_lane(f"llvm.{name}.{suffix(x.dtype, 0)}", x)
        builder.store(large.choose(exact, value).value, slot)
    return x.make(builder.load(slot, typ=llvm_type(x.dtype, x.count)))


def _any(mask: Lanes) -> Any:
    if not mask.count:
        return mask.value
    name = f"llvm.vector.reduce.or.{suffix('bool', mask.count)}"
    return declare_and_call(mask.builder, name, ir.IntType(1), [mask.value])


def _by_lane(function: str, *operands: Lanes) -> Lanes:
    """Call a scalar function for each lane."""
    first = operands[0]
    element = llvm_type(first.dtype, 0)
    values = [operand.value for operand in operands]
    if not first.count:
        return first.make(declare_and_call(first.builder, function, element, values))
    builder = first.builder
    whole = ir.Constant(llvm_type(first.dtype, first.count), ir.Undefined)
    for lane in range(first.count):
        index = ir.IntType(32)(lane)
        parts = [builder.extract_element(value, index) for value in values]
        result = declare_and_call(builder, function, element, parts)
        whole = builder.insert_element(whole, result, index)
    return first.make(whole)


def build_sin(x: Lanes) -> Lanes:
    """Return the sine."""
    return x.compare("eq", 0.0).choose(x, _trigonometric(x, 0, "sin"))


def build_cos(x: Lanes) -> Lanes:
    """Return the cosine."""
    return _trigonometric(x, 1, "cos")


# --- powers ---------------------------------------------------------------------------


def _build_power(x: Lanes, y: Lanes) -> Lanes:
    if not is_float(x.dtype):
        return _integer_power(x, y)
    if x.dtype == "f64":
        return _by_lane("llvm.pow.f64", x, y)
    return _power_in_double(x.convert("f64"), y.convert("f64")).convert("f32")


def _power_in_double(x: Lanes, y: Lanes) -> Lanes:
    """Return the power of two numbers that are exact in float32."""
    infinity = float("inf")
    size = _absolute(x)
    value = build_exp(y * build_log(size))
    whole = y.compare("eq", y.call("floor"))
    halved = y * 0.5
    odd = whole & halved.compare("ne", halved.call("floor"))
    negative = x.bits_as("i64").compare("lt", 0)
    value = (negative & odd).choose(-value, value)
    undefined = x.compare("lt", 0.0) & ~whole & x.compare("ne", -infinity)
    value = undefined.choose(float("nan"), value)
    flat = size.compare("eq", 1.0) & _absolute(y).compare("eq", infinity)
    one = y.compare("eq", 0.0) | x.compare("eq", 1.0) | flat
    return one.choose(1.0, value)


def _power_half(x: Lanes) -> Lanes:
    """Return `x ** 0.5`, which unlike the root is no -0 and is infinite at -inf."""
    infinity = float("inf")
    root = (x + 0.0).call("sqrt")
    return x.compare("eq", -infinity).choose(infinity, root)


def _integer_power(x: Lanes, y: Lanes) -> Lanes:
    """Return the wrapping power by repeated squaring, as long as any lane needs it.

    A negative exponent gives the reciprocal rounded towards zero.
    """
    builder = x.builder
    type_ = llvm_type(x.dtype, x.count)
    minus = y.compare("lt", 0)
    slots = [builder.alloca(type_) for _ in range(3)]
    for slot, start in zip(slots, (x.constant(1), x, minus.choose(0, y)), strict=True):
        builder.store(start.value, slot)
    loop = builder.append_basic_block("power")
    after = builder.append_basic_block("power_end")
    builder.branch(loop)
    builder.position_at_end(loop)
    result, base, exponent = (x.make(builder.load(s, typ=type_)) for s in slots)
    odd = (exponent & 1).compare("ne", 0)
    rest = exponent >> 1
    for slot, new in zip(
        slots, (odd.choose(result * base, result), base * base, rest), strict=True
    ):
        builder.store(new.value, slot)
    builder.cbranch(_any(rest.compare("ne", 0)), loop, after)
    builder.position_at_end(after)
    power = x.make(builder.load(slots[0], typ=type_))
    alternating = (y & 1).compare("eq", 0).choose(1, x)
    unit = x.compare("eq", 1) | x.compare("eq", -1)
    return minus.choose(unit.choose(alternating, 0), power)


def _rounding(intrinsic: str) -> Callable[[Lanes], Lanes]:
    return lambda x: x.call(intrinsic) if is_float(x.dtype) else x


def _build_rsqrt(x: Lanes) -> Lanes:
    return x.constant(1.0) / x.call("sqrt")


exp = unary_operation("exp", build_exp)
exp2 = unary_operation("exp2", build_exp2)
expm1 = unary_operation("expm1", build_expm1)
log = unary_operation("log", build_log)
log2 = unary_operation("log2", build_log2)
log1p = unary_operation("log1p", build_log1p)
sigmoid = unary_operation("sigmoid", build_sigmoid)
tanh = unary_operation("tanh", build_tanh)
erf = unary_operation("erf", build_erf)
sin = unary_operation("sin", build_sin)
cos = unary_operation("cos", build_cos)
sqrt = unary_operation("sqrt", lambda x: x.call("sqrt"))
rsqrt = unary_operation("rsqrt", _build_rsqrt)
absolute = unary_operation("absolute", _absolute)
floor = unary_operation("floor", _rounding("floor"))
ceil = unary_operation("ceil", _rounding("ceil"))
power = binary_operation("power", _build_power)
power_half = unary_operation("power_half", _power_half)
