"""Expressions over a grid of iterations, as values with bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from ..ir.dtypes import DType
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
from ..ir.numerics import Numerics
from .accumulate import Cells
from .chosen import gathered
from .grid import Grid
from .semantics import CALLS
from .uncertain import (
    EXACT,
    Uncertain,
    binary,
    distance,
    integer_binary,
    negate,
    rounding,
)
from .uncertain_calls import COMPLEX_DIVISION_ULPS, call, cast, function_ulps


def wide(dtype: DType) -> np.dtype[Any]:
    """Return what the evaluation computes in for *dtype*."""
    if dtype.kind == "int":
        return np.dtype(np.uint64 if dtype.name == "u64" else np.int64)
    kinds = {"float": "float64", "complex": "complex128", "bool": "bool"}
    return np.dtype(kinds[dtype.kind])


def evaluate(
    expr: Expr, grid: Grid, cells: Mapping[str, Cells], numerics: Numerics
) -> Uncertain:
    """Return the values of *expr* over *grid* with their bounds."""

    def value(part: Expr) -> Uncertain:
        return evaluate(part, grid, cells, numerics)

    match expr:
        case Const():
            number = expr.dtype.numpy.type(expr.value)
            return Uncertain(grid.full(number).astype(wide(expr.dtype)))
        case Index():
            form = grid.form(expr.value)
            numbers = form if isinstance(form, np.ndarray) else grid.full(form)
            return _index(numbers.astype(np.int64), expr.dtype)
        case Load():
            source = cells[expr.tensor]
            return source.read(source.locate(grid, expr.tensor, expr.index))
        case Gather():
            return gathered(expr, grid, cells[expr.tensor], value)
        case Unary():
            operand = value(expr.operand)
            if expr.op == "not":
                return Uncertain(np.logical_not(operand.value), operand.error)
            return _wrapped(negate(operand), expr.dtype)
        case Binary():
            return _binary(expr, value(expr.left), value(expr.right), numerics)
        case Call():
            operand = value(expr.operand)
            if expr.dtype.kind == "int":
                exact = Uncertain(CALLS[expr.function](operand.value), operand.error)
                return _wrapped(exact, expr.dtype)
            return call(expr.function, operand, expr.dtype, numerics)
        case Select():
            return _select(
                value(expr.condition), value(expr.then), value(expr.otherwise)
            )
        case Cast():
            operand = value(expr.operand)
            return cast(operand, expr.operand.dtype, expr.dtype, wide(expr.dtype))
        case _:
            assert_never(expr)


def _index(numbers: Any, dtype: DType) -> Uncertain:
    if dtype.kind != "float":
        return _wrapped(Uncertain(numbers), dtype)
    exact = numbers.astype(dtype.numpy).astype(np.float64)
    return Uncertain(exact)


def _binary(
    expr: Binary, left: Uncertain, right: Uncertain, numerics: Numerics
) -> Uncertain:
    dtype = expr.left.dtype
    if dtype.kind in ("float", "complex"):
        ulps = function_ulps(expr.op, numerics)
        if dtype.kind == "complex" and expr.op == "div":
            ulps = COMPLEX_DIVISION_ULPS
        return binary(expr.op, left, right, rounding(dtype, ulps))
    return _wrapped(integer_binary(expr.op, left, right), expr.dtype)


def _wrapped(result: Uncertain, dtype: DType) -> Uncertain:
    """Return integers of *dtype*, wrapped as its overflow does."""
    kind = wide(dtype)
    if dtype.kind != "int" or (dtype.bits == 64 and result.value.dtype == kind):
        return result
    return Uncertain(result.value.astype(dtype.numpy).astype(kind), result.error)


def _select(condition: Uncertain, then: Uncertain, otherwise: Uncertain) -> Uncertain:
    """Return the chosen side; where the condition is unsure, cover both sides."""
    value = np.where(condition.value, then.value, otherwise.value)
    if condition.is_exact:
        if then.is_exact and otherwise.is_exact:
            return Uncertain(value)
        return Uncertain(value, np.where(condition.value, then.error, otherwise.error))
    chosen = np.where(condition.value, then.error, otherwise.error)
    difference = distance(then.value, otherwise.value)
    gap = np.where(then.value == otherwise.value, 0.0, difference)
    both = gap + np.maximum(then.error, otherwise.error)
    both = np.where(np.isnan(both), np.inf, both)
    error = np.where(condition.error > 0, both, chosen)
    return Uncertain(value, error if error.any() else EXACT)
