"""Programs in the order of memory, where neighbours differ in the last subscript.

A schedule makes vectors along the last axis of a tensor. The neighbours in memory of a
column-major array, or of a transposed view, lie along another axis. Such an array is
passed with its axes in the order of memory, to a program whose subscripts are in that
order too. So it is scheduled, proved and compiled as if it had been written that way:

    for i in range(M):                      for i in range(M):
        for j in range(N):                      for j in range(N):
            C[i, j] = 2.0 * A[i, j]                 C[j, i] = 2.0 * A[j, i]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from .analysis.access import is_contiguous, leaves, statement_loads, subscript_names
from .arguments import Array
from .ir.nodes import (
    Expr,
    For,
    Function,
    Gather,
    Load,
    LoopKind,
    Param,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from .ir.walk import map_exprs, rewrite, walk

Order = tuple[int, ...]
Orders = tuple[Order | None, ...]
"""For each parameter the axes in the order of memory, or None to leave it as it is."""

_T = TypeVar("_T")


def inner_axis(array: Array) -> int | None:
    """Return the first axis along which the elements of *array* are neighbours."""
    for axis, (stride, size) in enumerate(zip(array.strides, array.shape, strict=True)):
        if stride == array.itemsize and size > 1:
            return axis
    return None


def axis_orders(function: Function, values: Sequence[Any]) -> Orders:
    """Return the order of the axes of each argument in memory."""
    return tuple(
        _axis_order(value) if param.tensor.shape else None
        for param, value in zip(function.params, values, strict=True)
    )


def _axis_order(array: Array) -> Order | None:
    if array.flags.c_contiguous:
        return None
    if array.flags.f_contiguous:
        return tuple(reversed(range(array.ndim)))
    inner = inner_axis(array)
    if inner is None or array.strides[-1] == array.itemsize:
        return None
    return axis_last(array.ndim, inner)


def axis_last(rank: int, axis: int) -> Order:
    """Return the axes of an array in their order, but *axis* last."""
    return (*range(axis), *range(axis + 1, rank), axis)


def reordered(function: Function, orders: Orders) -> Function:
    """Return *function* with the subscripts of its parameters in these orders."""
    by_name = {
        param.tensor.name: order
        for param, order in zip(function.params, orders, strict=True)
        if order is not None
    }

    def expression(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.tensor in by_name:
            return replace(expr, index=_picked(expr.index, by_name[expr.tensor]))
        if isinstance(expr, Gather) and expr.tensor in by_name:
            return replace(expr, index=_picked(expr.index, by_name[expr.tensor]))
        return expr

    def statement(node: Stmt) -> Stmt:
        if not isinstance(node, Store | Reduce | Scatter):
            return node
        changed = map_exprs(node, expression)
        order = by_name.get(node.tensor)
        if order is None:
            return changed
        if isinstance(changed, Scatter):
            return replace(changed, index=_picked(changed.index, order))
        return replace(changed, index=_picked(changed.index, order))

    params = tuple(map(_reordered_param, function.params, orders))
    return replace(rewrite(function, statement), params=params)


def _reordered_param(param: Param, order: Order | None) -> Param:
    if order is None:
        return param
    shape = _picked(param.tensor.shape, order)
    return replace(param, tensor=replace(param.tensor, shape=shape))


def _picked(items: tuple[_T, ...], order: Order) -> tuple[_T, ...]:
    return tuple(items[axis] for axis in order)


def in_orders(values: Sequence[Any], orders: Orders) -> list[Any]:
    """Return *values* with the axes of each in its order."""
    return [
        value if order is None else value.transpose(order)
        for value, order in zip(values, orders, strict=True)
    ]


def reordering(entry: Callable[..., Any], orders: Orders) -> Callable[..., Any]:
    """Return *entry* as code for arrays whose axes are not in these *orders* yet."""
    moves = [(at, order) for at, order in enumerate(orders) if order is not None]

    def call(*arguments: Any) -> Any:
        passed = list(arguments)
        for position, order in moves:
            passed[position] = arguments[position].transpose(order)
        return entry(*passed)

    return call


def has_neighbouring_lanes(function: Function) -> bool:
    """Whether lanes of vectors are neighbours in memory, but for copies to stage data.

    A copy is made once and read often, so its lanes may come from anywhere.
    """
    return all(
        is_contiguous(access, loop.axis)
        for loop in walk(function)
        if isinstance(loop, For) and loop.kind is LoopKind.VECTORIZED
        for leaf in leaves(loop.body)
        if leaf.instance is not None
        for access in (leaf, *statement_loads(leaf))
        if loop.axis in subscript_names(access)
    )
