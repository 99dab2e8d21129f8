"""Many sets of data in one run: every tensor of a program gets a leading dimension.

A trial of the campaign is one place along it. Compiling a program takes a second, and
running it for one small set of data takes a microsecond; this makes trials cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tdsl.ir.affine import constant, name
from tdsl.ir.dtypes import i64
from tdsl.ir.nodes import (
    Block,
    Dim,
    Expr,
    For,
    Function,
    Gather,
    Index,
    Load,
    LoopKind,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from tdsl.ir.walk import map_exprs, rewrite_block

TRIALS, TRIAL = "Trials", "trial"


def batched(function: Function) -> Function:
    """Return *function* as the body of a loop over `Trials` sets of arguments."""
    outer = {param.tensor.name for param in function.params}
    place = name(TRIAL)

    def expression(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.tensor in outer:
            return replace(expr, index=(place, *expr.index))
        if isinstance(expr, Gather) and expr.tensor in outer:
            return replace(expr, index=(Index(place, i64), *expr.index))
        return expr

    def statement(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Store | Reduce | Scatter):
            return stmt
        changed = map_exprs(stmt, expression)
        if stmt.tensor not in outer:
            return changed
        if isinstance(changed, Scatter):
            return replace(changed, index=(Index(place, i64), *changed.index))
        return replace(changed, index=(place, *changed.index))

    body = rewrite_block(function.body, statement)
    stops = (name(TRIALS),)
    loop = For(TRIAL, (constant(0),), stops, 1, LoopKind.SERIAL, body)
    params = tuple(
        replace(p, tensor=replace(p.tensor, shape=(name(TRIALS), *p.tensor.shape)))
        for p in function.params
    )
    dims = (Dim(TRIALS), *function.dims)
    return replace(function, params=params, dims=dims, body=Block((loop,)))


def stacked(sets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments of one run of a batched program."""
    return {key: np.stack([each[key] for each in sets]) for key in sets[0]}
