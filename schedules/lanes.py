"""Which loops are worth running in vector lanes."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.access import (
    is_contiguous,
    is_reversed,
    leaves,
    statement_loads,
    subscript_names,
)
from ..analysis.legality import Legality
from ..ir.extents import exact_iterations
from ..ir.nodes import Alloc, For, Gather, Index, Load, Reduce, Store
from ..ir.walk import chosen_by_data, gathers, read_forms, scatters, walk

Access = Store | Reduce | Load


def has_like_iterations(loop: For) -> bool:
    """Whether several iterations of *loop* do the same number of steps each."""
    bounds = {
        name
        for inner in _inner(loop)
        for form in (*inner.starts, *inner.stops)
        for name in form.names()
    }
    fixed = exact_iterations(loop) == 1
    return not (loop.step != 1 or loop.axis in bounds or fixed or any(scatters(loop)))


def runs_across(loop: For, legality: Legality) -> bool:
    """Whether lanes are whole iterations of *loop*, however far apart in memory.

    That pays where each iteration goes step by step along a row, which no lanes can.
    """
    inner, private = _inner(loop), private_tensors(loop)
    return (
        has_like_iterations(loop)
        and all(
            loop.axis in subscript_names(leaf)
            for leaf in leaves(loop.body)
            if leaf.tensor not in private
        )
        and legality.is_concurrent(loop.axis)
        and bool(inner)
        and all(_goes_step_by_step(each, legality) for each in inner)
    )


def _goes_step_by_step(loop: For, legality: Legality) -> bool:
    """Whether an iteration of *loop* needs the one before it, not just for a sum."""
    return not (only_adds_up(loop) or legality.is_concurrent(loop.axis))


def only_adds_up(loop: For) -> bool:
    """Whether iterations of *loop* share sums that none of them reads, and no more."""
    points = leaves(loop.body)
    shared = [leaf for leaf in points if loop.axis not in subscript_names(leaf)]
    used = running_values(points, loop.axis)
    return bool(shared) and all(
        isinstance(leaf, Reduce) and leaf.tensor not in used for leaf in shared
    )


def running_values(statements: Sequence[Store | Reduce], axis: str) -> set[str]:
    """Return the tensors of which iterations of *axis* read the same elements."""
    every = (load for leaf in statements for load in statement_loads(leaf))
    return {load.tensor for load in every if axis not in subscript_names(load)}


def _inner(loop: For) -> list[For]:
    return [node for node in walk(loop.body) if isinstance(node, For)]


def merit(statements: Sequence[Store | Reduce], axis: str) -> int:
    """Count the accesses that are contiguous along *axis*, strided ones against it."""
    merit = 0
    for statement in statements:
        for access in accesses(statement):
            if is_contiguous(access, axis):
                merit += 1
            elif isinstance(access, Load) and is_reversed(access, axis):
                continue
            elif axis in subscript_names(access):
                merit -= 2
        for gather in gathers(statement):
            merit += _gather_merit(gather, axis)
    return merit


def accesses(statement: Store | Reduce) -> tuple[Access, ...]:
    """Return what *statement* stores and loads by affine subscripts."""
    return (statement, *statement_loads(statement))


def _gather_merit(gather: Gather, axis: str) -> int:
    """Return the merit of *axis* for a gather: its rows may be contiguous along it.

    Where data chooses anew in each lane, the machine gathers: neither good nor bad.
    """
    chosen = [gather.index[n] for n in chosen_by_data(gather.index)]
    if any(axis in form.names() for part in chosen for form in read_forms(part)):
        return 0
    forms = [part.value for part in gather.index if isinstance(part, Index)]
    if not any(axis in form.names() for form in forms):
        return 0
    last = gather.index[-1]
    contiguous = (
        isinstance(last, Index)
        and last.value.coefficient(axis) == 1
        and not any(axis in form.names() for form in forms[:-1])
    )
    return 1 if contiguous else -2


def private_tensors(loop: For) -> set[str]:
    """Return the local tensors of which each iteration of *loop* has its own."""
    return {n.tensor.name for n in walk(loop.body) if isinstance(n, Alloc)}
