"""Random inputs that are used as subscripts: inside the tensors that they choose from.

A tensor that is a subscript by itself gets values over the whole range. One that is
only part of a subscript, as in `x[first[i] + j]`, gets zeros, the likeliest to fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ir.affine import Affine
from ..ir.nodes import Cast, Expr, Function, Gather, Load, Param, Role, Store
from ..ir.walk import Node, allocations, children, chosen_accesses, chosen_by_data, walk


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


def have_checked_subscripts(function: Function) -> bool:
    """Whether a call of *function* may find an integer argument out of range."""
    return any(_checked_params(function))


def move_outside(
    function: Function,
    arrays: Mapping[str, NDArray[Any]],
    dims: Mapping[str, int],
    generator: np.random.Generator,
) -> None:
    """Move one element of a checked subscript outside the tensor it chooses from.

    Where all subscripts are empty nothing is changed.
    """
    params = [p for p in _checked_params(function) if arrays[p.tensor.name].size]
    if not params:
        return
    param = params[generator.integers(len(params))]
    array, dtype = arrays[param.tensor.name], param.tensor.dtype.numpy
    limits, direct = _limits(function, param.tensor.name)
    size = max(form.evaluate(dims) for form in limits)
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    near, far = [size, -1 if direct else -1 - size], [least, most]
    fitting = [n for n in near + far * direct if least <= n <= most]
    outside = fitting[generator.integers(len(fitting))]
    array.flat[generator.integers(array.size)] = outside


def _checked_params(function: Function) -> Iterator[Param]:
    """Yield the integer inputs of which nothing is assumed, but that are subscripts."""
    assumed = {name for name, _, _ in function.assumptions.in_range}
    assumed |= {*function.assumptions.injective}
    for param in function.params:
        name, integer = param.tensor.name, param.tensor.dtype.kind == "int"
        given = integer and param.role is Role.INPUT and name not in assumed
        if given and _limits(function, name)[0]:
            yield param


def _limits(function: Function, name: str) -> tuple[list[Affine], bool]:
    """Return the sizes that bound the tensor, and whether it is a whole subscript."""
    shapes = {param.tensor.name: param.tensor.shape for param in function.params}
    shapes |= {each: a.tensor.shape for each, a in allocations(function).items()}
    dims = {dim.name for dim in function.dims}
    carriers = _carriers(function, name)
    limits: list[Affine] = []
    direct = True
    for access in chosen_accesses(function):
        for position in chosen_by_data(access.index):
            part = access.index[position]
            if all(read.tensor not in carriers for read in _values(part)):
                continue
            whole = _uncast(part)
            same = isinstance(whole, Load | Gather) and carriers.get(whole.tensor)
            direct = direct and bool(same)
            size = shapes[access.tensor][position]
            if size.names() <= dims:
                limits.append(size)
    return limits, direct


def _carriers(function: Function, name: str) -> dict[str, bool]:
    """Return the tensors with values of *name*, and whether they are those unchanged.

    Besides the tensor itself they are variables, as in `k = idx[i]`.
    """
    found = {name: True}
    written = [s for s in walk(function) if isinstance(s, Store) and not s.index]
    for statement in written:
        used = [read for read in _values(statement.value) if read.tensor in found]
        if used and statement.tensor not in found:
            whole = _uncast(statement.value)
            same = isinstance(whole, Load | Gather) and found.get(whole.tensor, False)
            found[statement.tensor] = same
    return found


def _values(node: Node) -> Iterator[Load | Gather]:
    """Yield the reads whose values *node* is made of, without their subscripts."""
    if isinstance(node, Load | Gather):
        yield node
        return
    for child in children(node):
        yield from _values(child)


def _uncast(expr: Expr) -> Expr:
    return expr.operand if isinstance(expr, Cast) else expr
