"""Expressions as calls of SIMD operations.

A value is the same in all lanes (a scalar) or one value a lane (a vector); scalars are
spread over the lanes only where they meet a vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isinf, isnan
from typing import assert_never

import numpy as np

from ..errors import BackendError
from ..ir.affine import Affine, FloorDiv
from ..ir.dtypes import DType, f32, i64
from ..ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Gather,
    Index,
    Load,
    Select,
    Unary,
)
from ..ir.walk import gathers
from .storage import LANE, Addresses
from .vocabulary import FUNCTIONS
from .writer import Writer

_OPERATIONS = {
    "min": "minimum",
    "max": "maximum",
    "and": "logical_and",
    "or": "logical_or",
    "pow": "power",
    **{op: op for op in ("add", "sub", "mul", "div", "floordiv", "mod")},
    **{op: op for op in ("lt", "le", "gt", "ge", "eq", "ne")},
}


@dataclass(frozen=True, slots=True)
class Value:
    """The text of an expression; *lanes* is 0 for a scalar."""

    text: str
    dtype: DType
    lanes: int


def type_token(dtype: DType, lanes: int) -> str:
    """Return the name that generated code gives a scalar or vector type."""
    if lanes:
        return f"{dtype.name}x{lanes}"
    return "boolean" if dtype.name == "bool" else dtype.name


Read = Callable[[Load], Value]
Visit = Callable[[Expr], Value]
ReadChosen = Callable[[Gather, Value | None], Value]
"""Write a gather, given where its value is used."""


class Expressions:
    """Write expressions; *read* writes a load, *resolve* an affine form."""

    def __init__(
        self,
        writer: Writer,
        addresses: Addresses,
        used: set[str],
        types: set[tuple[DType, int]],
        contract: bool,
    ) -> None:
        self._writer = writer
        self._addresses = addresses
        self._used = used
        self._types = types
        self._contract = contract

    def use(self, *operations: str) -> None:
        """See that the module imports *operations*."""
        self._used.update(operations)

    @property
    def contracts(self) -> bool:
        """Whether a product and a sum become one fused operation."""
        return self._contract

    def call(self, operation: str, *arguments: str) -> str:
        """Return the text of a call of a SIMD operation."""
        self._used.add(operation)
        return f"{operation}({', '.join(arguments)})"

    def token(self, dtype: DType, lanes: int) -> str:
        """Return the name of a type, and see that the module defines it."""
        self._types.add((dtype, lanes))
        return type_token(dtype, lanes)

    def spread(self, value: Value, lanes: int) -> str:
        """Return the text of *value* with *lanes* lanes."""
        if value.lanes == lanes:
            return value.text
        return self.call("splat", value.text, self.token(value.dtype, lanes))

    def write(
        self,
        expr: Expr,
        lanes: int,
        read: Read,
        resolve: Callable[[Affine], Affine],
        gather: ReadChosen,
        used: Value | None = None,
    ) -> Value:
        """Return *expr* as text, inside a loop over *lanes* lanes (0: none).

        *used* says where anything is done with the value; None means everywhere.
        """

        def visit(node: Expr, used: Value | None) -> Value:
            def inner(part: Expr) -> Value:
                return visit(part, used)

            match node:
                case Const():
                    return self._constant(node)
                case Index():
                    return self._index(resolve(node.value), node.dtype, lanes)
                case Load():
                    return read(node)
                case Gather():
                    return gather(node, used)
                case Unary():
                    operation = "neg" if node.op == "neg" else "logical_not"
                    return self._apply(operation, node.dtype, inner(node.operand))
                case Binary():
                    return self._binary(node, inner)
                case Call():
                    return self._function(node, inner(node.operand))
                case Select():
                    return self._select(node, visit, used)
                case Cast():
                    return self.convert(inner(node.operand), node.dtype)
                case _:
                    assert_never(node)

        return visit(expr, used)

    def convert(self, value: Value, dtype: DType) -> Value:
        """Return *value* as *dtype*."""
        token = self.token(dtype, value.lanes)
        return Value(self.call("convert", value.text, token), dtype, value.lanes)

    def zero(self, dtype: DType, lanes: int) -> str:
        """Return the text of zeros of *dtype*."""
        if lanes:
            number = "False" if dtype.kind == "bool" else "0"
            return self.call("splat", number, self.token(dtype, lanes))
        kind = {"bool": False, "float": 0.0}.get(dtype.kind, 0)
        return self._constant(Const(kind, dtype)).text

    def factors(
        self, node: Binary, visit: Callable[[Expr], Value]
    ) -> tuple[Value, Value]:
        """Return the two operands of a product, which may be a square."""
        if node.op == "mul":
            return visit(node.left), visit(node.right)
        base = self.named(visit(node.left))
        return base, base

    def named(self, value: Value, stem: str = "base") -> Value:
        """Return *value* as a variable, so that using it twice computes it once."""
        if value.text.isidentifier():
            return value
        variable = self._writer.fresh(stem)
        self._writer.line(f"{variable} = {value.text}")
        return Value(variable, value.dtype, value.lanes)

    def _power(
        self, node: Binary, exponent: float, visit: Callable[[Expr], Value]
    ) -> Value:
        """Return a power with a constant exponent that has a shorter form."""
        if exponent == 0.5:
            return self._apply("power_half", node.dtype, visit(node.left))
        if exponent == -1:
            one = self._constant(Const(1.0, node.dtype))
            return self._apply("div", node.dtype, one, visit(node.left))
        base = self.named(visit(node.left))
        square = self._apply("mul", node.dtype, base, base)
        if exponent == 2:
            return square
        square = self.named(square)
        other = square if exponent == 4 else base
        return self._apply("mul", node.dtype, square, other)

    def combine(self, operation: str, left: Value, right: Value) -> Value:
        """Return a binary operation of two values of one dtype."""
        return self._apply(operation, left.dtype, left, right)

    def multiply_add(self, a: Value, b: Value, c: Value) -> Value:
        """Return `a * b + c`, rounded once."""
        return self._apply("fma", c.dtype, a, b, c)

    def _apply(self, operation: str, dtype: DType, *operands: Value) -> Value:
        lanes = max(operand.lanes for operand in operands)
        texts = [self.spread(operand, lanes) for operand in operands]
        return Value(self.call(operation, *texts), dtype, lanes)

    def _binary(self, node: Binary, visit: Callable[[Expr], Value]) -> Value:
        if self.fusible(node):
            product, other, sign = _product(node)
            a, b = self.factors(product, visit)
            c = visit(other)
            if sign == "a - c":
                c = self._apply("neg", c.dtype, c)
            if sign == "c - a":
                a = self._apply("neg", a.dtype, a)
            return self.multiply_add(a, b, c)
        exponent = short_exponent(node, self._contract)
        if exponent is not None:
            return self._power(node, exponent, visit)
        operation = _OPERATIONS.get(node.op)
        if operation is None or (node.op == "div" and node.dtype.kind != "float"):
            raise BackendError(f"the CPU backend has no {node.op!r} on {node.dtype}")
        return self._apply(operation, node.dtype, visit(node.left), visit(node.right))

    def fusible(self, node: Expr) -> bool:
        """Return whether *node* may become one fused multiply-add."""
        return (
            self._contract
            and isinstance(node, Binary)
            and node.op in ("add", "sub")
            and node.dtype.kind == "float"
            and (is_product(node.left) or is_product(node.right))
        )

    def _function(self, node: Call, operand: Value) -> Value:
        operation = FUNCTIONS.get(node.function)
        if operation is None:
            raise BackendError(
                f"the CPU backend has no function {node.function!r}; it has "
                f"{', '.join(sorted(FUNCTIONS))}"
            )
        return self._apply(operation, node.dtype, operand)

    def _select(
        self,
        node: Select,
        visit: Callable[[Expr, Value | None], Value],
        used: Value | None,
    ) -> Value:
        condition = visit(node.condition, used)
        taken = other = used
        chosen = [any(gathers(side)) for side in (node.then, node.otherwise)]
        if any(chosen):
            condition = self.named(condition, "taken")
        if chosen[0]:
            taken = self.both(used, condition)
        if chosen[1]:
            opposite = self._apply("logical_not", condition.dtype, condition)
            other = self.both(used, opposite)
        then, otherwise = visit(node.then, taken), visit(node.otherwise, other)
        lanes = max(condition.lanes, then.lanes, otherwise.lanes)
        texts = [self.spread(value, lanes) for value in (then, otherwise)]
        return Value(self.call("select", condition.text, *texts), node.dtype, lanes)

    def both(self, one: Value | None, other: Value) -> Value:
        """Return the conjunction of two conditions; None always holds."""
        if one is None:
            return self.named(other, "used")
        return self.named(self.combine("logical_and", one, other), "used")

    def _constant(self, node: Const) -> Value:
        if node.dtype.kind == "bool":
            return Value(repr(bool(node.value)), node.dtype, 0)
        if node.dtype.is_storage:
            given = np.asarray(node.value, np.float64)
            exact = float(given.astype(node.dtype.numpy))
            return self.convert(self._constant(Const(exact, f32)), node.dtype)
        is_float = node.dtype.kind == "float"
        assert not isinstance(node.value, complex), node
        number = float(node.value) if is_float else int(node.value)
        text = repr(number)
        if isinstance(number, float) and (isinf(number) or isnan(number)):
            text = "np.nan" if isnan(number) else "np.inf" if number > 0 else "-np.inf"
        return Value(f"{self.token(node.dtype, 0)}({text})", node.dtype, 0)

    def _index(self, form: Affine, dtype: DType, lanes: int) -> Value:
        if LANE not in form.names():
            text = f"{self.token(dtype, 0)}({self._addresses.integer(form)})"
            return Value(text, dtype, 0)
        text = self.lane_integers(form, lanes)
        if dtype.name != "i64":
            text = self.call("convert", text, self.token(dtype, lanes))
        return Value(text, dtype, lanes)

    def lane_integers(self, form: Affine, lanes: int) -> str:
        """Return a vector of the 64-bit values of *form* in all lanes."""
        integers = self.token(i64, lanes)
        if LANE not in form.names():
            return self.call("splat", self._addresses.integer(form), integers)
        rest = Affine(
            tuple(
                (atom, c)
                for atom, c in form.terms
                if not (atom == LANE or _holds_lane(atom))
            ),
            form.constant,
        )
        total = self.call("splat", self._addresses.integer(rest), integers)
        for atom, coefficient in form.terms:
            if isinstance(atom, FloorDiv) and _holds_lane(atom):
                numerator = self.lane_integers(atom.numerator, lanes)
                divisor = self.call("splat", f"i64({atom.divisor})", integers)
                term = self.call("floordiv", numerator, divisor)
                self.token(i64, 0)
            elif atom == LANE:
                term = self.call("iota", integers)
            else:
                continue
            if coefficient != 1:
                self.token(i64, 0)
                factor = self.call("splat", f"i64({coefficient})", integers)
                term = self.call("mul", term, factor)
            total = self.call("add", total, term)
        return total


def _holds_lane(atom: str | FloorDiv) -> bool:
    return isinstance(atom, FloorDiv) and LANE in atom.numerator.names()


def is_product(node: Expr) -> bool:
    """Return whether *node* is a product of two numbers, or a square."""
    if not isinstance(node, Binary):
        return False
    return node.op == "mul" or short_exponent(node, True) == 2


def short_exponent(node: Binary, rounds: bool) -> float | None:
    """Return a constant exponent for which a power is a product, root or quotient.

    Unless *rounds* allows other roundings only those that give the same bits: products
    of integers, and the square of an f32, which is exact in double.
    """
    if node.op != "pow" or not isinstance(node.right, Const):
        return None
    if node.dtype.kind not in ("int", "float"):
        return None
    assert not isinstance(node.right.value, complex), node
    exponent = float(node.right.value)
    if node.dtype.kind == "int":
        return exponent if exponent in (2, 3, 4) else None
    if exponent == 2 and (rounds or node.dtype.bits == 32):
        return exponent
    return exponent if rounds and exponent in (3, 4, 0.5, -1) else None


def _product(node: Binary) -> tuple[Binary, Expr, str]:
    """Return the product in a sum or difference, the other operand, and the signs."""
    left, right = node.left, node.right
    if isinstance(left, Binary) and is_product(left):
        return left, right, "a + c" if node.op == "add" else "a - c"
    assert isinstance(right, Binary)
    return right, left, "a + c" if node.op == "add" else "c - a"
