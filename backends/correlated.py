"""Bounds in which errors that share a cause may cancel, for small recursions.

Where each step needs the one before, bounds without signs may double with each step,
though the errors themselves do not. Here every rounding that is written to an element
is a noise of its own, and each element knows what it has of each noise
(`form_rules.py`). This takes as many numbers an element as there are writes, so it is
for hundreds of elements, and thousands of writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ..ir.nodes import Function, Reduce, ReduceOp, Role
from ..ir.numerics import Numerics
from ..ir.walk import allocations, walk
from .accumulate import Cells
from .form_source import form_source, has_rows
from .grid import Array
from .modules import load_module
from .one_by_one import is_covered
from .scalar_source import reductions

MEMORY = 1 << 25
"""How many weights are kept, at most."""


def noises_of(function: Function, dims: Mapping[str, int]) -> int:
    """Return how many noises there can be; 0 if *function* is not covered, or if an
    element could not have one for each other element.
    """
    sums = all(n.op is ReduceOp.ADD for n in walk(function) if isinstance(n, Reduce))
    if not sums or not is_covered(function):
        return 0
    tensors = [param.tensor for param in function.params]
    tensors += [alloc.tensor for alloc in allocations(function).values()]
    elements = 1
    for tensor in tensors:
        known = all(form.names() <= dims.keys() for form in tensor.shape)
        if known and has_rows(function, tensor):
            elements += prod(max(0, form.evaluate(dims)) for form in tensor.shape)
    return MEMORY // elements if elements**2 <= MEMORY else 0


def evaluate_correlated(
    function: Function,
    cells: Mapping[str, Cells],
    dims: Mapping[str, int],
    numerics: Numerics,
    iterations: float,
) -> dict[str, Array] | None:
    """Run *function* on the *cells* of its parameters, which change; return by name
    what noises add to the bound of each element.

    Return None where about so many *iterations* were not enough.
    """
    module: Any = load_module(
        f"{function.name}_correlated", form_source(function, numerics)
    )
    updates = reductions(function)
    count = noises_of(function, dims)
    arguments: list[Any] = [np.array([0, count])]
    rows: dict[str, Array] = {}
    for param in function.params:
        name = param.tensor.name
        arguments += cells[name].spread(updates.get(name))
        if has_rows(function, param.tensor):
            rows[name] = np.zeros((*cells[name].shape, count))
            arguments.append(rows[name])
            if name in updates:
                arguments.append(np.full((*cells[name].shape, 2), -1.0))
    sizes = [dims[dim.name] for dim in function.dims]
    if not module.evaluate(*arguments, *sizes, int(min(iterations, 2.0**62))):
        return None
    used = int(arguments[0][0])
    return {
        name: np.abs(row[..., :used]).sum(axis=-1)
        for name, row in rows.items()
        if _is_result(function, name)
    }


def _is_result(function: Function, name: str) -> bool:
    role = next(p.role for p in function.params if p.tensor.name == name)
    return role is not Role.INPUT
