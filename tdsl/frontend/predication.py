"""Statements that take effect only where a bool holds.

`y[i] = v` becomes `y[i] = v if c else y[i]`, and an update adds, multiplies or compares
with a number that changes nothing. Tensors that the statements declare themselves are
written as before: nobody sees them elsewhere. But what is read where data chooses is
read only where the bool holds, as nothing else may exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..ir.affine import Affine
from ..ir.dtypes import DType, boolean
from ..ir.nodes import (
    Alloc,
    Binary,
    Block,
    Const,
    Expr,
    For,
    If,
    Load,
    Reduce,
    ReduceOp,
    Scatter,
    Select,
    Span,
    Stmt,
    Store,
    Unary,
)
from ..ir.walk import gathers, loads, map_exprs, walk

Key = tuple[str, tuple[Affine, ...], ReduceOp | None]


@dataclass(frozen=True, slots=True)
class Choice:
    """*then* where *condition* holds, else *otherwise*; both set the new *fresh*."""

    condition: Expr
    then: list[Stmt]
    otherwise: list[Stmt]
    fresh: set[str]
    span: Span


def branched(choice: Choice) -> list[Stmt]:
    """Return the statements of both branches, each with effect where it is taken.

    Where both write the same element, one statement does: `y[i] = a if c else b`. The
    statements between such pairs keep their order in their branch. *then* may set the
    variables in *fresh* anyway, until *otherwise* has set them: they have no old value.
    """
    condition, otherwise, span = choice.condition, choice.otherwise, choice.span
    negated = Unary("not", condition, boolean, span=span)
    inside = declared([*choice.then, *otherwise])
    no = _Predicate(negated, inside, span)
    result: list[Stmt] = []
    start = 0
    for statement in choice.then:
        key = _key(statement, inside)
        other = _find(otherwise, start, key, inside) if key else None
        if other is None:
            unset = choice.fresh and choice.fresh - written(otherwise[:start])
            yes = _Predicate(condition, inside | unset, span)
            result.append(yes.statement(statement))
            continue
        result.extend(no.block(otherwise[start:other]))
        result.append(_joined(condition, statement, otherwise[other], span))
        start = other + 1
    result.extend(no.block(otherwise[start:]))
    return result


def guarded(
    condition: Expr, statements: list[Stmt], span: Span, exempt: Iterable[str] = ()
) -> list[Stmt]:
    """Return *statements*, without effect where *condition* is false.

    Writes to the tensors in *exempt* are left as they are.
    """
    inside = declared(statements) | set(exempt)
    return _Predicate(condition, inside, span).block(statements)


def declared(statements: Iterable[Stmt]) -> set[str]:
    """Return the tensors declared in *statements*."""
    nodes = (node for statement in statements for node in walk(statement))
    return {node.tensor.name for node in nodes if isinstance(node, Alloc)}


def written(statements: Iterable[Stmt]) -> set[str]:
    """Return the tensors that *statements* write."""
    nodes = (node for statement in statements for node in walk(statement))
    return {node.tensor for node in nodes if isinstance(node, Store | Reduce | Scatter)}


def may_read_unset(variable: str, statements: list[Stmt]) -> bool:
    """Whether one of *statements* reads *variable* and none sets it before for sure.

    Such a read is the old value of a choice, whose value is never used.
    """
    for statement in statements:
        if any(load.tensor == variable for load in loads(statement)):
            return True
        if isinstance(statement, Store) and statement.tensor == variable:
            return False
    return False


def with_condition_in_place(
    name: str, condition: Expr, statements: list[Stmt]
) -> list[Stmt] | None:
    """Return *statements* with *condition* where they read *name*; None if not once."""
    reads = [
        node
        for statement in statements
        for node in loads(statement)
        if node.tensor == name
    ]
    leaves = [each for each in statements if not isinstance(each, Alloc)]
    if len(reads) != 1 or len(leaves) != 1 or isinstance(leaves[0], For | If):
        return None

    def rule(expr: Expr) -> Expr:
        same = isinstance(expr, Load) and expr.tensor == name
        return condition if same else expr

    return [
        map_exprs(each, rule) if isinstance(each, Store | Reduce | Scatter) else each
        for each in statements
    ]


class _Predicate:
    def __init__(self, condition: Expr, inside: set[str], span: Span) -> None:
        self.condition, self.inside, self.span = condition, inside, span

    def block(self, statements: Iterable[Stmt]) -> list[Stmt]:
        return [self.statement(each) for each in statements]

    def statement(self, statement: Stmt) -> Stmt:
        match statement:
            case For() | If():
                return replace(
                    statement, body=Block(tuple(self.block(statement.body.statements)))
                )
            case Store() if statement.tensor not in self.inside:
                dtype = statement.value.dtype
                old = Load(
                    statement.tensor, statement.index, dtype, span=statement.span
                )
                return replace(statement, value=self._selected(statement.value, old))
            case Reduce() if statement.tensor not in self.inside:
                dtype = statement.value.dtype
                unchanged = Const(neutral(statement.op, dtype), dtype, span=self.span)
                value = self._selected(statement.value, unchanged)
                return replace(statement, value=value)
            case Scatter():
                condition = self.condition
                if statement.condition is not None:
                    condition = self._and(condition, statement.condition)
                return replace(statement, condition=condition)
            case Store() | Reduce() if any(gathers(statement)):
                dtype = statement.value.dtype
                nothing = dtype.numpy.type(0).item()
                if isinstance(statement, Reduce):
                    nothing = neutral(statement.op, dtype)
                value = self._selected(statement.value, Const(nothing, dtype))
                return replace(statement, value=value)
            case _:
                return statement

    def _and(self, left: Expr, right: Expr) -> Expr:
        return Binary("and", left, right, boolean, span=right.span)

    def _selected(self, value: Expr, old: Expr) -> Expr:
        condition = self.condition
        if isinstance(value, Select) and value.otherwise == old:  # predicated inside
            condition = Binary(
                "and", condition, value.condition, boolean, span=value.span
            )
            value = value.then
        return Select(condition, value, old, old.dtype, span=self.span)


def neutral(op: ReduceOp, dtype: DType) -> float | int | complex:
    """Return the number that leaves every other one as it is, with its sign."""
    if op is ReduceOp.ADD and dtype.kind == "float":
        return -0.0  # -0.0 + 0.0 is 0.0
    if op is ReduceOp.ADD and dtype.kind == "complex":
        return complex(-0.0, -0.0)
    return op.identity(dtype)


def _key(statement: Stmt, inside: set[str]) -> Key | None:
    match statement:
        case Store() if statement.tensor not in inside:
            return statement.tensor, statement.index, None
        case Reduce() if statement.tensor not in inside:
            return statement.tensor, statement.index, statement.op
        case _:
            return None


def _find(statements: list[Stmt], start: int, key: Key, inside: set[str]) -> int | None:
    for position in range(start, len(statements)):
        if _key(statements[position], inside) == key:
            return position
    return None


def _joined(condition: Expr, then: Stmt, otherwise: Stmt, span: Span) -> Stmt:
    assert isinstance(then, Store | Reduce)
    assert isinstance(otherwise, Store | Reduce)
    dtype = then.value.dtype
    value = Select(condition, then.value, otherwise.value, dtype, span=span)
    return replace(then, value=value)
