"""Programs of other types, made from those in f32 and f64 that `tests.fuzz` has."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tdsl.ir.dtypes import DType, bf16, c64, c128, f16, f32, f64
from tdsl.ir.nodes import (
    Alloc,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Function,
    Gather,
    Index,
    Load,
    Reduce,
    ReduceOp,
    Scatter,
    Select,
    Stmt,
    Store,
    Tensor,
    Unary,
)
from tdsl.ir.walk import map_exprs, rewrite, walk

_COMPLEX = {f32: c64, f64: c128}
_REAL = {"min": "sub", "max": "mul", "floordiv": "div", "mod": "add", "pow": "mul"}
_ORDERED = {ReduceOp.MAX: ReduceOp.ADD, ReduceOp.MIN: ReduceOp.MUL}


def stored(function: Function, rng: random.Random) -> Function:
    """Return a float program with some tensors stored in f16, bf16 or another float.

    A reduction keeps its type: those that only store numbers cannot be updated.
    """
    updated = {n.tensor for n in walk(function) if isinstance(n, Reduce)}
    updated |= {n.tensor for n in walk(function) if isinstance(n, Scatter) and n.op}
    formats = {
        tensor.name: rng.choice((f16, bf16, f16, bf16, f32, f64))
        for tensor in _tensors(function)
        if tensor.dtype.kind == "float" and tensor.name not in updated
    }

    def expression(expr: Expr) -> Expr:
        if isinstance(expr, Load | Gather) and expr.tensor in formats:
            return _cast(replace(expr, dtype=formats[expr.tensor]), expr.dtype)
        rounded = isinstance(expr, Binary) and expr.dtype.kind == "float"
        if rounded and rng.random() < 0.1:
            return _cast(_cast(expr, rng.choice((f16, bf16))), expr.dtype)
        return expr

    def statement(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Store | Reduce | Scatter):
            return stmt
        changed = map_exprs(stmt, expression)
        dtype = formats.get(stmt.tensor, changed.value.dtype)
        return replace(changed, value=_cast(changed.value, dtype))

    return _retyped(
        rewrite(function, statement), lambda t: formats.get(t.name, t.dtype)
    )


def complexified(function: Function, rng: random.Random) -> Function:
    """Return a float program on complex numbers; absolute values are compared."""

    def expression(expr: Expr) -> Expr:
        dtype = _COMPLEX.get(expr.dtype, expr.dtype)
        match expr:
            case Const():
                value = complex(expr.value) if dtype.kind == "complex" else expr.value
                return replace(expr, value=value, dtype=dtype)
            case Index():
                return _cast(expr, dtype)
            case Cast():
                return _cast(_real_part(expr.operand, "abs", dtype), dtype)
            case Binary() if expr.left.dtype.kind == "complex":
                return _complex_binary(expr, dtype, rng)
            case Call() if expr.operand.dtype.kind == "complex":
                function = rng.choice(("abs", "real", "imag"))
                return _cast(_real_part(expr.operand, function, dtype.part), dtype)
            case Load() | Gather() | Unary() | Select():
                return replace(expr, dtype=dtype)
        return expr

    def statement(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Store | Reduce | Scatter):
            return stmt
        changed = map_exprs(stmt, expression)
        if isinstance(changed, Store) or changed.value.dtype.kind != "complex":
            return changed
        if changed.op is None:
            return changed
        return replace(changed, op=_ORDERED.get(changed.op, changed.op))

    return _retyped(
        rewrite(function, statement), lambda t: _COMPLEX.get(t.dtype, t.dtype)
    )


def _complex_binary(expr: Binary, dtype: DType, rng: random.Random) -> Expr:
    if dtype.kind != "complex":  # a comparison
        left = _real_part(expr.left, "abs", dtype)
        return replace(expr, left=left, right=_real_part(expr.right, "abs", dtype))
    op = _REAL.get(expr.op, rng.choice((expr.op, expr.op, "mul", "div")))
    result: Expr = replace(expr, op=op, dtype=dtype)
    return Call("conj", result, dtype) if rng.random() < 0.1 else result


def _real_part(expr: Expr, function: str, wanted: DType) -> Expr:
    """Return *function* of a complex number where no complex number is *wanted*."""
    if expr.dtype.kind != "complex" or wanted.kind == "complex":
        return expr
    return Call(function, expr, expr.dtype.part)


def _cast(expr: Expr, dtype: DType) -> Expr:
    return expr if expr.dtype == dtype else Cast(expr, dtype)


def _tensors(function: Function) -> list[Tensor]:
    found = [param.tensor for param in function.params]
    return found + [n.tensor for n in walk(function) if isinstance(n, Alloc)]


def _retyped(function: Function, dtype: Callable[[Tensor], DType]) -> Function:
    """Return *function* with its tensors declared anew."""

    def statement(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Alloc):
            return stmt
        return replace(stmt, tensor=replace(stmt.tensor, dtype=dtype(stmt.tensor)))

    params = tuple(
        replace(p, tensor=replace(p.tensor, dtype=dtype(p.tensor)))
        for p in function.params
    )
    return replace(rewrite(function, statement), params=params)
