"""Expressions as calls of SIMD operations.

A value is the same in all lanes (a scalar) or one value a lane (a vector); scalars are
spread over the lanes only where they meet a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    ReduceOp,
    Select,
    Unary,
)
from ..ir.walk import gathers
from .products import is_product, product_in, short_exponent
from .storage import LANE, Addresses, Offset, Storage
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
UPDATES = {op: _OPERATIONS[op.value] for op in ReduceOp}
"""The operation that each kind of reduction updates by."""


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
            product, other, sign = product_in(node)
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

    # --- elements -----------------------------------------------------------------

    def offset(
        self, storage: Storage, index: Sequence[Affine | Value], lanes: int
    ) -> Offset:
        """Return the offset of an element: a vector of them where *lane* is None."""
        forms = tuple(part for part in index if isinstance(part, Affine))
        if len(forms) == len(index):
            offset = self._addresses.offset(storage, forms)
            if offset.lane is not None:
                return offset
        return Offset(self._lane_offsets(storage, index, lanes), None)

    def load_lanes(
        self, storage: Storage, offset: Offset, token: str, mask: str | None
    ) -> str:
        """Return a load of one element a lane: of all lanes, or those of *mask*."""
        operation, more = "load", []
        if offset.lane is None:
            operation = "gather"
        elif offset.lane == -1:
            operation = "load_reversed"
        elif offset.lane != 1:
            operation = "load_strided"
            more.append(str(offset.lane))
        if mask is not None:
            operation += "_masked"
            more.append(mask)
        return self.call(operation, storage.base, offset.text, *more, token)

    def _lane_offsets(
        self, storage: Storage, index: Sequence[Affine | Value], lanes: int
    ) -> str:
        """Return a vector of the element offsets in all lanes."""
        token = self.token(i64, lanes)
        total = ""
        for stride, part in zip(storage.strides, index, strict=True):
            if isinstance(part, Affine):
                text = self.lane_integers(part, lanes)
            else:
                text = self.spread(part, lanes)
            size = "*".join([str(stride.factor), *stride.names])
            if size != "1":
                text = self.call("mul", text, self.call("splat", size, token))
            total = self.call("add", total, text) if total else text
        return total

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
