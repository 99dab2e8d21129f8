"""Random inputs that are used as subscripts: inside the tensors that they choose from.

A tensor that is a subscript by itself gets values over the whole range. One that is
only part of a subscript, as in `x[first[i] + j]`, gets zeros, the likeliest to fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ir.affine import Affine
from ..ir.nodes import Cast, Function, Load, Param
from ..ir.walk import allocations, chosen_accesses, chosen_by_data, loads


def draw_subscripts(
    function: Function,
    param: Param,
    dims: Mapping[str, int],
    generator: np.random.Generator,
) -> NDArray[Any] | None:
    """Return values for *param*, or None where it is no integer subscript."""
    name, dtype = param.tensor.name, param.tensor.dtype
    if dtype.kind != "int":
        return None
    limits, direct = _limits(function, name)
    low = 0
    for tensor, lower, upper in function.assumptions.in_range:
        if tensor == name:
            low, limits = lower.evaluate(dims), [*limits, upper]
    if not limits:
        return None
    shape = tuple(extent.evaluate(dims) for extent in param.tensor.shape)
    high = min(form.evaluate(dims) for form in limits)
    if not direct or high <= low:
        return np.full(shape, low, dtype.numpy)
    count = prod(shape)
    if name in function.assumptions.injective and count <= high - low:
        drawn = low + generator.permutation(high - low)[:count]
    else:
        drawn = generator.integers(low, high, count)
    return drawn.reshape(shape).astype(dtype.numpy)


def have_subscripts(function: Function, dims: Mapping[str, int]) -> bool:
    """Whether each tensor that is a subscript is empty or has something to choose."""
    for param in function.params:
        limits, _ = _limits(function, param.tensor.name)
        elements = prod(extent.evaluate(dims) for extent in param.tensor.shape)
        distinct = param.tensor.name in function.assumptions.injective
        needed = elements if distinct else min(elements, 1)
        if any(form.evaluate(dims) < needed for form in limits):
            return False
    return True


def _limits(function: Function, name: str) -> tuple[list[Affine], bool]:
    """Return the sizes that bound the tensor, and whether it is a whole subscript."""
    shapes = {param.tensor.name: param.tensor.shape for param in function.params}
    shapes |= {each: a.tensor.shape for each, a in allocations(function).items()}
    dims = {dim.name for dim in function.dims}
    limits: list[Affine] = []
    direct = True
    for access in chosen_accesses(function):
        for position in chosen_by_data(access.index):
            part = access.index[position]
            if all(load.tensor != name for load in loads(part)):
                continue
            whole = part.operand if isinstance(part, Cast) else part
            direct = direct and isinstance(whole, Load)
            size = shapes[access.tensor][position]
            if size.names() <= dims:
                limits.append(size)
    return limits, direct
