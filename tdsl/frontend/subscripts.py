"""Elements of tensors: affine subscripts make loads and stores, others gathers."""

from __future__ import annotations

from ..ir.affine import Affine
from ..ir.dtypes import i64
from ..ir.nodes import (
    Expr,
    Gather,
    Index,
    Instance,
    Load,
    Reduce,
    ReduceOp,
    Scatter,
    Span,
    Store,
    Tensor,
    Write,
)

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
