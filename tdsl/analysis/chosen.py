"""Elements that data chooses, as integer sets see them.

A gather may read, and a scatter may write, every element along the dimensions that data
decides. So a gather has one more coordinate for each of these, free within the tensor,
and a scatter stands for a loop over all of them:

    y[idx[i]] += w[i]     is     for e in range(N):
                                     y[e] += w[i] if e == idx[i] else -0.0

    y[idx[i]] = w[i]      is     for e in range(N):
                                     y[e] = w[i] if e == idx[i] else y[e]

What is proved of all elements holds for the one that is meant.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from ..ir.affine import Affine, constant, name
from ..ir.dtypes import DType, boolean, i64
from ..ir.nodes import (
    Binary,
    Block,
    Const,
    Expr,
    For,
    Gather,
    Index,
    Instance,
    Load,
    LoopKind,
    Reduce,
    ReduceOp,
    Scatter,
    Select,
    Stmt,
    Store,
    Tensor,
)
from ..ir.walk import chosen_by_data


def free_loops(access: Gather | Scatter, tensor: Tensor, stem: str) -> tuple[For, ...]:
    """Return an empty loop over each dimension along which data chooses."""
    return tuple(
        For(
            f"{stem}{position}",
            (constant(0),),
            (tensor.shape[position],),
            1,
            LoopKind.SERIAL,
            Block(()),
        )
        for position in chosen_by_data(access.index)
    )


def free_index(access: Gather | Scatter, free: tuple[For, ...]) -> tuple[Affine, ...]:
    """Return the subscripts of *access*, those that data decides by a free axis."""
    axes = iter(free)
    return tuple(
        part.value if isinstance(part, Index) else name(next(axes).axis)
        for part in access.index
    )


def scatter_nest(scatter: Scatter, tensor: Tensor, stem: str) -> Stmt:
    """Return the loops that *scatter* stands for."""
    free = free_loops(scatter, tensor, stem)
    index = free_index(scatter, free)
    axes = tuple(name(loop.axis) for loop in free)
    instance = scatter.instance and Instance(
        scatter.instance.label, (*scatter.instance.coordinates, *axes)
    )
    meant = _is_meant(scatter, axes)
    leaf: Stmt
    if scatter.op is None:
        old = Load(scatter.tensor, index, tensor.dtype, span=scatter.span)
        value = Select(meant, scatter.value, old, tensor.dtype)
        leaf = Store(scatter.tensor, index, value, instance, span=scatter.span)
    else:
        nothing = _identity(scatter.op, tensor.dtype)
        value = Select(meant, scatter.value, nothing, tensor.dtype)
        leaf = Reduce(
            scatter.op, scatter.tensor, index, value, instance, span=scatter.span
        )
    for loop in reversed(free):
        leaf = replace(loop, body=Block((leaf,)), span=scatter.span)
    return leaf


def _is_meant(scatter: Scatter, axes: tuple[Affine, ...]) -> Expr:
    chosen = [scatter.index[n] for n in chosen_by_data(scatter.index)]
    tests: list[Expr] = [
        Binary("eq", Index(axis, i64), part, boolean)
        for axis, part in zip(axes, chosen, strict=True)
    ]
    if scatter.condition is not None:
        tests.append(scatter.condition)
    return reduce(lambda a, b: Binary("and", a, b, boolean), tests)


def _identity(op: ReduceOp, dtype: DType) -> Const:
    # Adding 0.0 would lose the sign of a negative zero.
    zero = op is ReduceOp.ADD and dtype.kind == "float"
    return Const(-0.0 if zero else op.identity(dtype), dtype)
