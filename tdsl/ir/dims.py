"""Symbolic sizes: dims with assumptions, and expressions over them.

This is the only module that imports sympy. Dims and dim expressions are sympy
objects where users write them (annotations, captured variables); `to_affine` and
`to_dim` turn them into what the IR holds.
"""

from __future__ import annotations

import keyword
import math
from typing import Any

import sympy

from ..errors import ArgumentError, KernelTypeError
from .affine import Affine, constant, name
from .given import shown
from .nodes import Dim


class DimSymbol(sympy.Symbol):  # type: ignore[misc]
    """A sympy integer symbol that carries the assumptions of a dim."""

    __slots__ = ("maximum", "minimum", "multiple")

    minimum: int
    maximum: int | None
    multiple: int

    def __new__(
        cls, name: str, minimum: int, maximum: int | None, multiple: int
    ) -> DimSymbol:
        """Create the symbol; equal name and assumptions give equal symbols."""
        self: DimSymbol = sympy.Symbol.__xnew__(
            cls, name, integer=True, nonnegative=True
        )
        self.minimum, self.maximum, self.multiple = minimum, maximum, multiple
        return self

    def _hashable_content(self) -> tuple[Any, ...]:
        maximum = -1 if self.maximum is None else self.maximum
        facts = (self.minimum, maximum, self.multiple)
        return (*super()._hashable_content(), *facts)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what `pickle` and `copy` pass to `__new__`."""
        return (self.name, self.minimum, self.maximum, self.multiple), {}


def dim(
    name: str, min: int = 0, max: int | None = None, multiple: int = 1
) -> DimSymbol:
    """Create a symbolic size: `min <= size <= max`, and *multiple* divides it."""
    if not (isinstance(name, str) and name.isidentifier()):
        raise ArgumentError(f"dim({shown(name)}): write a name such as dim('M')")
    if keyword.iskeyword(name):
        raise ArgumentError(
            f"dim({name!r}): {name} is a keyword of Python: write another name, such "
            f"as dim('{name}_')"
        )
    facts = {"min": min, "multiple": multiple} | ({} if max is None else {"max": max})
    for fact, value in facts.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ArgumentError(
                f"dim({name!r}): {fact} must be an integer: {shown(value)}"
            )
    if min < 0:
        raise ArgumentError(f"dim({name!r}): min is {min}, but a size is at least 0")
    if multiple < 1:
        raise ArgumentError(f"dim({name!r}): multiple is {multiple}; use 1 or more")
    if max is not None and max < min:
        raise ArgumentError(f"dim({name!r}): max {max} is less than min {min}")
    return DimSymbol(name, min, max, multiple)


def dims(names: str, min: int = 0, max: int | None = None) -> tuple[DimSymbol, ...]:
    """Create several dims from names with spaces between them: `dims("M N K")`."""
    if not isinstance(names, str):
        raise ArgumentError(
            f"dims({shown(names)}): write names in one text: dims('M N')"
        )
    found = names.replace(",", " ").split()
    if not found:
        raise ArgumentError("dims(): write names with spaces between: dims('M N')")
    for position, each in enumerate(found):
        if each in found[:position]:
            raise ArgumentError(
                f"dims({names!r}): {each} is there twice, and equal names are one dim: "
                "write each name once"
            )
    return tuple(dim(each, min, max) for each in found)


def to_dim(symbol: DimSymbol) -> Dim:
    """Return the IR's record of *symbol*."""
    return Dim(symbol.name, symbol.minimum, symbol.maximum, symbol.multiple)


def is_dim_expression(value: object) -> bool:
    """Whether *value* is a dim or an expression over dims."""
    return isinstance(value, sympy.Expr)


def dims_of(expression: Any) -> tuple[DimSymbol, ...]:
    """Return the dims that occur in *expression*, by name."""
    symbols = sympy.sympify(expression).free_symbols
    return tuple(
        sorted((s for s in symbols if isinstance(s, DimSymbol)), key=lambda s: s.name)
    )


def to_affine(expression: Any) -> Affine:
    """Return *expression* (an integer, a dim or sympy) as an affine form."""
    numerator, denominator = _fraction(sympy.sympify(expression))
    if denominator != 1:
        raise KernelTypeError(
            f"`{expression}` is not always an integer: write a floor division `//`"
        )
    return numerator


def _fraction(expression: Any) -> tuple[Affine, int]:
    """Return an affine form and a positive divisor whose quotient is *expression*."""
    match expression:
        case sympy.Rational():
            return constant(int(expression.p)), int(expression.q)
        case DimSymbol():
            return name(expression.name), 1
        case sympy.Add():
            return _sum([_fraction(term) for term in expression.args])
        case sympy.Mul():
            return _product(expression)
        case sympy.floor():
            numerator, divisor = _fraction(expression.args[0])
            return numerator // divisor, 1
        case sympy.ceiling():
            numerator, divisor = _fraction(expression.args[0])
            return (numerator + (divisor - 1)) // divisor, 1
        case sympy.Mod():
            return _remainder(expression)
        case sympy.Symbol():
            raise KernelTypeError(
                f"`{expression}` is a sympy symbol but no dim: "
                f'create it with tdsl.dim("{expression}")'
            )
        case _:
            raise KernelTypeError(_not_affine(expression))


def _sum(terms: list[tuple[Affine, int]]) -> tuple[Affine, int]:
    common = math.lcm(*(divisor for _, divisor in terms))
    total = Affine()
    for numerator, divisor in terms:
        total = total + numerator * (common // divisor)
    return total, common


def _product(expression: Any) -> tuple[Affine, int]:
    factor, rest = expression.as_coeff_Mul()
    if not isinstance(factor, sympy.Rational) or isinstance(rest, sympy.Mul):
        raise KernelTypeError(_not_affine(expression))
    numerator, divisor = _fraction(rest)
    if factor == 0:
        return Affine(), 1
    shared = math.gcd(int(factor.p), divisor * int(factor.q))
    scaled = numerator * (int(factor.p) // shared)
    return scaled, divisor * int(factor.q) // shared


def _remainder(expression: Any) -> tuple[Affine, int]:
    left, right = expression.args
    numerator, divisor = _fraction(left)
    if not isinstance(right, sympy.Integer) or right <= 0:
        raise KernelTypeError(_not_affine(expression))
    # (n/d) mod m  ==  (n mod m*d) / d
    return numerator % (int(right) * divisor), divisor


def _not_affine(expression: Any) -> str:
    return (
        f"`{expression}` is not affine in the dims: use sums, multiples, "
        "and // and % by constants"
    )
