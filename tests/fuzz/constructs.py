"""What parsed kernels look like: branches, predicated writes, time loops, calls.

The parser leaves no `if` on data and no call behind: a condition goes to a bool
temporary that leaves select by, a branch that affine conditions decide is an `If` with
another for the rest, and a call is the text of the called kernel on other tensors.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from tdsl.ir.affine import Affine, name
from tdsl.ir.dtypes import DType
from tdsl.ir.nodes import (
    Alloc,
    Block,
    Const,
    Expr,
    For,
    Gather,
    If,
    Load,
    Reduce,
    ReduceOp,
    Scatter,
    Select,
    Stmt,
    Store,
    Tensor,
)
from tdsl.ir.walk import map_exprs, rewrite_block, substitute, walk

Fresh = Callable[[str], str]


def branched(
    conditions: tuple[Affine, ...], then: Block, otherwise: Block | None
) -> tuple[Stmt, ...]:
    """Return *then* where all *conditions* hold, *otherwise* where the first does not.

    With one condition, that is what the parser makes of `if` and `else`.
    """
    statements: list[Stmt] = [If(conditions, then)]
    if otherwise is not None:
        statements.append(If((-conditions[0] - 1,), otherwise))
    return tuple(statements)


def predicated(leaf: Stmt, condition: Expr, dtype: DType) -> Stmt:
    """Return *leaf* where it leaves everything as it is unless *condition* holds."""
    match leaf:
        case Store():
            old = Load(leaf.tensor, leaf.index, dtype)
            return replace(leaf, value=Select(condition, leaf.value, old, dtype))
        case Reduce():
            nothing = Const(_identity(leaf.op, dtype), dtype)
            return replace(leaf, value=Select(condition, leaf.value, nothing, dtype))
        case Scatter(condition=None):
            return replace(leaf, condition=condition)
    return leaf


def _identity(op: ReduceOp, dtype: DType) -> float | int:
    signed = op is ReduceOp.ADD and dtype.kind == "float"
    return -0.0 if signed else op.identity(dtype)


def called(block: Block, tensors: Mapping[str, str], fresh: Fresh) -> Block:
    """Return *block* with axes, labels and locals of its own, on other *tensors*."""
    renamed = dict(tensors)
    for node in walk(block):
        if isinstance(node, Alloc):
            renamed[node.tensor.name] = fresh("t")
    axes = {node.axis: fresh("i") for node in walk(block) if isinstance(node, For)}
    block = substitute(block, {old: name(new) for old, new in axes.items()})

    def expr_rule(expr: Expr) -> Expr:
        if isinstance(expr, Load | Gather):
            return replace(expr, tensor=renamed.get(expr.tensor, expr.tensor))
        return expr

    def rule(statement: Stmt) -> Stmt:
        match statement:
            case For():
                return replace(statement, axis=axes[statement.axis])
            case Alloc(tensor=tensor):
                new = replace(tensor, name=renamed[tensor.name])
                return replace(statement, tensor=new)
            case Store() | Reduce() | Scatter():
                assert statement.instance is not None
                instance = replace(statement.instance, label=fresh("S"))
                target = renamed.get(statement.tensor, statement.tensor)
                moved = replace(statement, tensor=target, instance=instance)
                return map_exprs(moved, expr_rule)
        return statement

    return rewrite_block(block, rule)


def other_tensors(
    block: Block,
    tensors: Mapping[str, Tensor],
    writable: set[str],
    rng: random.Random,
) -> dict[str, str]:
    """Return a choice of arguments of the same shapes for a call of *block*."""
    written = {n.tensor for n in walk(block) if isinstance(n, Store | Reduce | Scatter)}
    chosen: dict[str, str] = {}
    for label, tensor in tensors.items():
        like = [
            other
            for other, each in tensors.items()
            if each.shape == tensor.shape
            and each.dtype == tensor.dtype
            and (other in writable or label not in written)
        ]
        chosen[label] = rng.choice(like or [label])
    return chosen
