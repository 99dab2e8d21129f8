"""Recognise updates: `C[i] = C[i] + x` and `C[i] = max(C[i], x)`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from ..ir.nodes import ReduceOp
from .captured import root_name


@dataclass(frozen=True, slots=True)
class Update:
    """`target = op(target, operand)`, or with `-operand` if *negated*."""

    op: ReduceOp
    operand: ast.expr
    negated: bool = False


_AUGMENTED: dict[type[ast.operator], tuple[ReduceOp, bool]] = {
    ast.Add: (ReduceOp.ADD, False),
    ast.Sub: (ReduceOp.ADD, True),
    ast.Mult: (ReduceOp.MUL, False),
}
_FUNCTIONS = {"max": ReduceOp.MAX, "min": ReduceOp.MIN}


def augmented_update(node: ast.AugAssign) -> Update | None:
    """Return what `+=`, `-=` or `*=` does; None for other operators."""
    if type(node.op) not in _AUGMENTED:
        return None
    op, negated = _AUGMENTED[type(node.op)]
    return Update(op, node.value, negated)


def find_update(
    target: ast.expr, value: ast.expr, name_of: Callable[[ast.Call], str | None]
) -> Update | None:
    """Return the update that `target = value` is, if it is one.

    Only the outermost operation counts: `C + a + b` adds twice, and adding `a + b`
    once would round differently.
    """
    match value:
        case ast.BinOp(left=left, right=right) if type(value.op) in _AUGMENTED:
            op, negated = _AUGMENTED[type(value.op)]
            if _same(target, left):
                return _unless_read(target, Update(op, right, negated))
            if _same(target, right) and not negated:
                return _unless_read(target, Update(op, left))
        case ast.Call(args=[left, right], keywords=[]):
            operand = right if _same(target, left) else left
            if operand is left and not _same(target, right):
                return None
            name = name_of(value)
            if name in _FUNCTIONS:
                return _unless_read(target, Update(_FUNCTIONS[name], operand))
    return None


def reads_target(target: ast.expr, operand: ast.expr) -> bool:
    """Whether *operand* reads the variable, or may read the element, of *target*.

    Other elements of the tensor, `A[i, j] += A[i, k] * A[k, j]`, are like those of
    other tensors: it is for the proof to say which values they have.
    """
    owner = target.value if isinstance(target, ast.Subscript) else target
    name = root_name(owner)
    others = {
        id(node.value)
        for node in ast.walk(operand)
        if isinstance(target, ast.Subscript)
        and isinstance(node, ast.Subscript)
        and not _same(node, target)
    }
    return any(
        isinstance(node, ast.Name) and node.id == name and id(node) not in others
        for node in ast.walk(operand)
    )


def _unless_read(target: ast.expr, update: Update) -> Update | None:
    return None if reads_target(target, update.operand) else update


def _same(target: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(target) == ast.unparse(other)
