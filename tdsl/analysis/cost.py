"""How much work a function is: arithmetic operations, and bytes that must move.

Counts are exact for given dims, whatever the bounds (triangular, tiled): iterations of
a loop whose body costs the same each time are multiplied, others are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

from ..ir.dtypes import DType
from ..ir.nodes import (
    Alloc,
    Binary,
    Block,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Function,
    Gather,
    If,
    Index,
    Load,
    Reduce,
    Role,
    Scatter,
    Select,
    Stmt,
    Store,
    Unary,
    Write,
)
from ..ir.walk import Node, reads, walk
from .access import subscript_names

BALANCE = 4.0
"""Operations per byte that keep a usual core busy, where no peak was measured."""
_COMPLEX = {"add": 2, "sub": 2, "neg": 2, "mul": 6, "div": 11, "abs": 4}
"""What operations on complex numbers take on real ones, where that is not 1."""
_FREE = {"lt", "le", "gt", "ge", "eq", "ne", "and", "or"}
Weigh = Callable[[Write, str], int]
"""What to count of a statement in the loop of that name, the innermost around it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """*flops* counts operations on numbers; *traffic* each array once, in bytes."""

    flops: int
    traffic: int

    @property
    def intensity(self) -> float:
        """Operations per byte: below the machine's balance, memory is the limit."""
        return self.flops / max(self.traffic, 1)


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes that loads and stores move between a core and its caches."""

    loaded: int
    stored: int


def cost(function: Function, dims: Mapping[str, int]) -> Cost:
    """Return the work of *function* for concrete *dims*.

    An addition, a multiplication, a maximum and a call of `exp` count as one operation
    each; comparisons, casts and subscripts as none. An array that is read and written
    moves twice.
    """
    flops = _block(function.body, dict(dims), "", _flops)
    return Cost(flops, traffic(function, dims))


def moved(function: Function, dims: Mapping[str, int]) -> Moved:
    """Return what the statements of *function* load and store for concrete *dims*.

    An element that stays the same along the innermost loop is in a register there.
    """
    body, values = function.body, dict(dims)
    return Moved(
        _block(body, values, "", _loaded_bytes), _block(body, values, "", _stored_bytes)
    )


def traffic(function: Function, dims: Mapping[str, int]) -> int:
    """Return the bytes of the parameters: reads once, writes once."""
    total = 0
    for param in function.params:
        size = param.tensor.dtype.bytes
        for extent in param.tensor.shape:
            size *= max(0, extent.evaluate(dims))
        total += size * (2 if param.role is Role.INOUT else 1)
    return total


def arithmetic(function: Function) -> frozenset[DType]:
    """Return the types of the real numbers that the counted operations work on.

    Numbers that are widened to compute count as what they are widened to, complex ones
    as their parts.
    """
    found = (_operand(node) for node in walk(function))
    return frozenset(each.dtype.part.computed for each in found if each is not None)


def _operand(node: Node) -> Expr | None:
    """Return what *node* itself, if it counts, works on."""
    match node:
        case Call() | Unary(op="neg"):
            return node.operand
        case Binary():
            return None if node.op in _FREE else node.left
        case Reduce():
            return node.value
        case Scatter():
            return None if node.op is None else node.value
        case _:
            return None


def _block(block: Block, values: dict[str, int], axis: str, weigh: Weigh) -> int:
    return sum(_statement(each, values, axis, weigh) for each in block.statements)


def _statement(statement: Stmt, values: dict[str, int], axis: str, weigh: Weigh) -> int:
    match statement:
        case Alloc():
            return 0
        case Store() | Reduce() | Scatter():
            return weigh(statement, axis)
        case If():
            holds = all(form.evaluate(values) >= 0 for form in statement.conditions)
            return _block(statement.body, values, axis, weigh) if holds else 0
        case For():
            return _loop(statement, values, weigh)
        case _:
            assert_never(statement)


def _loop(loop: For, values: dict[str, int], weigh: Weigh) -> int:
    start = max(form.evaluate(values) for form in loop.starts)
    stop = min(form.evaluate(values) for form in loop.stops)
    iterations = range(start, stop, loop.step)

    def once(at: int) -> int:
        return _block(loop.body, {**values, loop.axis: at}, loop.axis, weigh)

    if iterations and loop.axis not in _steering(loop.body):
        return len(iterations) * once(start)
    return sum(map(once, iterations))


def _flops(statement: Write, axis: str) -> int:
    match statement:
        case Store():
            return operations(statement.value)
        case Reduce():
            value = statement.value
            return operations(value) + _weight(statement.op.value, value)
        case Scatter():
            parts = (*statement.index, statement.value, statement.condition)
            total = sum(operations(part) for part in parts if part is not None)
            if statement.op is None:
                return total
            return total + _weight(statement.op.value, statement.value)
        case _:
            assert_never(statement)


def _loaded_bytes(statement: Write, axis: str) -> int:
    """Return the bytes of the elements that *statement* reads anew along *axis*."""
    read = {(each.tensor, each.index): each for each in reads(statement)}
    total = sum(each.dtype.bytes for each in read.values() if _moves(each, axis))
    updates = isinstance(statement, Reduce) or (
        isinstance(statement, Scatter) and statement.op is not None
    )
    return total + (_stored_bytes(statement, axis) if updates else 0)


def _stored_bytes(statement: Write, axis: str) -> int:
    return statement.value.dtype.bytes if _moves(statement, axis) else 0


def _moves(access: Load | Gather | Write, axis: str) -> bool:
    """Whether *access* is to another element in each iteration of *axis*."""
    if isinstance(access, Gather | Scatter):
        return True
    return axis in subscript_names(access)


def _steering(block: Block) -> frozenset[str]:
    """Return the names that bounds and guards inside *block* depend on."""
    names: set[str] = set()
    for statement in block.statements:
        if isinstance(statement, For):
            for form in (*statement.starts, *statement.stops):
                names |= form.names()
        if isinstance(statement, If):
            for form in statement.conditions:
                names |= form.names()
        if isinstance(statement, For | If):
            names |= _steering(statement.body)
    return frozenset(names)


def operations(expr: Expr) -> int:
    """Return the operations on numbers that evaluating *expr* takes."""
    match expr:
        case Const() | Index() | Load():
            return 0
        case Gather():
            return sum(operations(part) for part in expr.index)
        case Cast():
            return operations(expr.operand)
        case Call():
            return operations(expr.operand) + _weight(expr.function, expr.operand)
        case Unary():
            free = expr.op != "neg"
            return operations(expr.operand) + (0 if free else _weight("neg", expr))
        case Binary():
            both = operations(expr.left) + operations(expr.right)
            return both + (0 if expr.op in _FREE else _weight(expr.op, expr.left))
        case Select():
            parts = (expr.condition, expr.then, expr.otherwise)
            return sum(operations(part) for part in parts)
        case _:
            assert_never(expr)


def _weight(operation: str, operand: Expr) -> int:
    return _COMPLEX.get(operation, 1) if operand.dtype.kind == "complex" else 1
