"""Subscripts of which the user promises that they differ between iterations.

Where a kernel assumes that no two elements of an input `idx` are equal, `y[idx[i]]` and
`y[idx[k]]` are the same element only for `i == k`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.affine import Affine
from ..ir.nodes import Cast, Expr, Gather, Load
from .model import Access, Model, Occurrence
from .sets import Map, System

Place = tuple[Occurrence, Access]


def only_equal_keys(model: Model, pairs: Map, first: Place, second: Place) -> Map:
    """Leave out pairs that the assumptions of the kernel tell apart."""
    one, other = dict(_keys(model, first)), dict(_keys(model, second))
    for dimension in one.keys() & other.keys():
        (tensor, mine), (same, theirs) = one[dimension], other[dimension]
        if tensor == same:
            keys = _key_map(model, first, mine)
            pairs = pairs.intersect(
                keys.apply_range(_key_map(model, second, theirs).reverse())
            )
    return pairs


def subscripts(occurrence: Occurrence, access: Access) -> tuple[Expr, ...] | None:
    """Return the subscripts of a scatter or gather, None for any other access."""
    scatter = occurrence.scatter
    if access is occurrence.write:
        return scatter.index if scatter is not None else None
    loads = dict(zip(map(id, occurrence.reads), occurrence.loads, strict=True))
    read = loads[id(access)]
    if isinstance(read, Gather):
        return read.index
    # A plain scatter keeps the old value of what it does not mean.
    if scatter is not None and access.index == occurrence.write.index:
        return scatter.index
    return None


def _keys(
    model: Model, place: Place
) -> Iterator[tuple[int, tuple[str, tuple[Affine, ...]]]]:
    """Yield the injective tensor, and its subscripts, that choose a dimension."""
    index = subscripts(*place) or ()
    for dimension, part in enumerate(index):
        load = part.operand if isinstance(part, Cast) else part
        if isinstance(load, Load) and load.tensor in model.injective:
            yield dimension, (load.tensor, load.index)


def _key_map(model: Model, place: Place, forms: tuple[Affine, ...]) -> Map:
    """Return the map from iterations, and free axes, to the values of *forms*."""
    occurrence, access = place
    axes = (*occurrence.axes, *(loop.axis for loop in access.free))
    columns = [f"%{number}" for number in range(len(forms))]
    system = System(model.params, axes, columns)
    for column, form in zip(columns, forms, strict=True):
        system.equal(column, model.in_counters(form))
    return system.to_map(occurrence.name, "key").intersect_domain(access.domain)
