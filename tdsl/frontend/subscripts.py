"""Elements of tensors: affine subscripts make loads and stores, others gathers."""

from __future__ import annotations

from dataclasses import replace

from ..ir.affine import Affine
from ..ir.dtypes import i64
from ..ir.nodes import (
    Cast,
    Expr,
    Function,
    Gather,
    Index,
    Instance,
    Load,
    Reduce,
    ReduceOp,
    Role,
    Scatter,
    Span,
    Stmt,
    Store,
    Tensor,
    Write,
)
from ..ir.walk import allocations, chosen_by_data, map_exprs, rewrite

Subscripts = tuple[Affine | Expr, ...]
"""Forms, and i64 expressions where data decides."""


def read_element(tensor: Tensor, index: Subscripts, span: Span) -> Load | Gather:
    """Return the read of an element."""
    forms = _forms(index)
    if forms is not None:
        return Load(tensor.name, forms, tensor.dtype, span=span)
    return Gather(tensor.name, _exprs(index, span), tensor.dtype, span=span)


def write_element(
    tensor: str,
    index: Subscripts,
    op: ReduceOp | None,
    value: Expr,
    instance: Instance,
    span: Span,
) -> Write:
    """Return the assignment of an element, or its update by *op*."""
    forms = _forms(index)
    if forms is None:
        exprs = _exprs(index, span)
        return Scatter(tensor, exprs, op, value, instance, span=span)
    if op is None:
        return Store(tensor, forms, value, instance, span=span)
    return Reduce(op, tensor, forms, value, instance, span=span)


def _forms(index: Subscripts) -> tuple[Affine, ...] | None:
    forms = tuple(part for part in index if isinstance(part, Affine))
    return forms if len(forms) == len(index) else None


def _exprs(index: Subscripts, span: Span) -> tuple[Expr, ...]:
    return tuple(
        Index(part, i64, span=span) if isinstance(part, Affine) else part
        for part in index
    )


def trusted(function: Function) -> Function:
    """Return *function* without checks of subscripts that it assumes to be in range."""
    ranges = {name: (low, high) for name, low, high in function.assumptions.in_range}
    if not ranges:
        return function
    tensors = {param.tensor.name: param.tensor for param in function.params}
    tensors |= {name: a.tensor for name, a in allocations(function).items()}
    inputs = {p.tensor.name for p in function.params if p.role is Role.INPUT}

    def holds(access: Gather | Scatter, position: int) -> bool:
        part = access.index[position]
        part = part.operand if isinstance(part, Cast) else part
        if not isinstance(part, Load) or part.tensor not in inputs & ranges.keys():
            return False
        low, high = ranges[part.tensor]
        room = tensors[access.tensor].shape[position] - high
        return (low.is_constant and low.constant >= 0) and (
            room.is_constant and room.constant >= 0
        )

    def unchecked(access: Gather | Scatter) -> bool:
        return all(holds(access, each) for each in chosen_by_data(access.index))

    def expr_rule(expr: Expr) -> Expr:
        if isinstance(expr, Gather) and unchecked(expr):
            return replace(expr, checked=False)
        return expr

    def rule(statement: Stmt) -> Stmt:
        if not isinstance(statement, Store | Reduce | Scatter):
            return statement
        changed = map_exprs(statement, expr_rule)
        if isinstance(changed, Scatter) and unchecked(changed):
            return replace(changed, checked=False)
        return changed

    return rewrite(function, rule)
