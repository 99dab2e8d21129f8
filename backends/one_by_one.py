"""Evaluation with bounds of iterations that depend on one another, as machine code.

`error_bound.py` turns to it where whole arrays have nothing to do. It covers the types
and operations of which such programs are made; `is_covered` says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CheckError
from ..ir.dtypes import boolean, f32, f64, i32, i64
from ..ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    Function,
    Gather,
    Index,
    Load,
    Reduce,
    Scatter,
    Select,
    Unary,
)
from ..ir.numerics import Numerics
from ..ir.walk import allocations, walk
from .accumulate import Cells
from .modules import load_module
from .scalar_source import CALLS, EXTREMES, ROUNDED, SIGNS, reductions, scalar_source
from .semantics import COMPARISONS

_DTYPES = (f32, f64, i32, i64, boolean)
_CASTS = {
    *(("float", "float"), ("bool", "float"), ("int", "float")),
    *(("bool", "int"), ("int", "int")),
}


def is_covered(function: Function) -> bool:
    """Whether *function* has nothing but what `evaluate_one_by_one` knows."""
    tensors = [param.tensor for param in function.params]
    tensors += [alloc.tensor for alloc in allocations(function).values()]
    if not all(tensor.dtype in _DTYPES for tensor in tensors):
        return False
    nodes = [*walk(function)]
    updates = {(n.tensor, n.op) for n in nodes if isinstance(n, Reduce)}
    several = len(updates) > len(reductions(function))
    return not several and all(_is_known(node) for node in nodes)


def _is_known(node: Any) -> bool:
    match node:
        case Gather() | Scatter():
            return False
        case Binary():
            return _is_known_operation(node)
        case Call():
            return node.dtype in (f32, f64) and node.function in ("abs", *CALLS)
        case Cast():
            kinds = node.operand.dtype.kind, node.dtype.kind
            return node.dtype in _DTYPES and kinds in _CASTS
        case Const() | Index() | Load() | Select() | Unary():
            return node.dtype in _DTYPES
        case _:
            return True


def _is_known_operation(node: Binary) -> bool:
    operands = node.left.dtype
    if operands not in _DTYPES or node.dtype not in _DTYPES:
        return False
    if node.op in COMPARISONS or node.op in EXTREMES:
        return operands.kind != "bool"
    if operands.kind == "float":
        return node.op in ROUNDED
    return node.op in SIGNS and node.dtype == operands


def evaluate_one_by_one(
    function: Function,
    cells: Mapping[str, Cells],
    dims: Mapping[str, int],
    numerics: Numerics,
    iterations: float,
) -> bool:
    """Run *function* on the *cells* of its parameters, which change.

    Return False where about so many *iterations* were not enough.
    """
    text = scalar_source(function, numerics)
    module: Any = load_module(f"{function.name}_bounds", text)
    updates = reductions(function)
    parts: list[Any] = []
    for param in function.params:
        name = param.tensor.name
        parts += cells[name].spread(updates.get(name))
    sizes = [dims[dim.name] for dim in function.dims]
    limit = int(min(iterations, 2.0**62))
    try:
        return bool(module.evaluate(*parts, *sizes, limit))
    except IndexError:
        named = ", ".join(f"{name}={size}" for name, size in dims.items())
        raise CheckError(
            f"{function.name} accesses an element outside its tensor at {named}"
        ) from None
