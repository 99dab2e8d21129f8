"""How register tensors become named variables.

A register tensor whose subscripts are constants once the tile loops are unrolled is a
set of variables. Where a vectorized loop runs along one of its dimensions, a variable
holds a group of neighbouring elements, one a lane. Anything else lives in an array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..ir.affine import Affine, name
from ..ir.extents import exact_iterations
from ..ir.nodes import (
    Alloc,
    Block,
    For,
    Function,
    Gather,
    If,
    Index,
    Load,
    LoopKind,
    Memory,
    Scatter,
    Stmt,
    Write,
)
from ..ir.walk import reads, rewrite, walk
from .tile_loops import TILE_KINDS, tile_loop

_LARGEST = 1024  # elements of a register tensor; more would only spill
_UNROLL = 64  # iterations of a serial loop over a register tensor


@dataclass(frozen=True, slots=True)
class RegisterLayout:
    """Which dimension of a register tensor lies along lanes (None: none does)."""

    lane_dimension: int | None
    lanes: int


@dataclass(frozen=True, slots=True)
class _Access:
    index: tuple[Affine, ...]
    outer: tuple[For | If, ...]


def unroll_register_loops(function: Function) -> Function:
    """Unroll the short serial loops whose axis subscripts a register tensor.

    Only loops inside the tensor's scope: further out the axis is part of an origin that
    cancels, and unrolling would copy the whole tile.
    """
    registers = {
        node.tensor.name
        for node in walk(function)
        if isinstance(node, Alloc) and node.memory is Memory.REGISTER
    }
    if not registers:
        return function

    def unrolled(statement: Stmt) -> Stmt:
        if not (isinstance(statement, For) and statement.kind is LoopKind.SERIAL):
            return statement
        iterations = exact_iterations(statement)
        if iterations is None or not 0 < iterations <= _UNROLL:
            return statement
        own = {alloc.tensor.name for alloc, _ in _allocs(statement.body, ())}
        for _, access in _accesses(statement.body, (statement,), registers - own):
            if any(statement.axis in form.names() for form in access.index):
                return replace(statement, kind=LoopKind.UNROLLED)
        return statement

    return rewrite(function, unrolled)


def _accesses(
    block: Block, outer: tuple[For | If, ...], tensors: set[str]
) -> Iterator[tuple[str, _Access]]:
    for statement in block.statements:
        if isinstance(statement, For | If):
            yield from _accesses(statement.body, (*outer, statement), tensors)
        elif not isinstance(statement, Alloc):
            if statement.tensor in tensors:
                yield statement.tensor, _Access(_forms(statement), outer)
            for read in reads(statement):
                if read.tensor in tensors:
                    yield read.tensor, _Access(_forms(read), outer)


def _forms(access: Load | Gather | Write) -> tuple[Affine, ...]:
    """Return the subscripts; what data decides is a name that no loop has."""
    if not isinstance(access, Gather | Scatter):
        return access.index
    return tuple(
        part.value if isinstance(part, Index) else name("@data")
        for part in access.index
    )


def register_layouts(function: Function) -> dict[str, RegisterLayout]:
    """Return the layout of every register tensor that can live in variables."""
    places: dict[str, tuple[For | If, ...]] = {}
    allocs: dict[str, Alloc] = {}
    for alloc, outer in _allocs(function.body, ()):
        if alloc.memory is Memory.REGISTER and _small(alloc):
            places[alloc.tensor.name] = outer
            allocs[alloc.tensor.name] = alloc
    found: dict[str, list[_Access]] = {each: [] for each in allocs}
    for tensor, access in _accesses(function.body, (), set(allocs)):
        found[tensor].append(access)
    layouts: dict[str, RegisterLayout] = {}
    for tensor, accesses in found.items():
        layout = _layout(accesses, len(places[tensor]))
        if layout is not None and _divides(allocs[tensor], layout):
            layouts[tensor] = layout
    return layouts


def _allocs(
    block: Block, outer: tuple[For | If, ...]
) -> Iterator[tuple[Alloc, tuple[For | If, ...]]]:
    for statement in block.statements:
        if isinstance(statement, For | If):
            yield from _allocs(statement.body, (*outer, statement))
        elif isinstance(statement, Alloc):
            yield statement, outer


def _small(alloc: Alloc) -> bool:
    size = 1
    for extent in alloc.tensor.shape:
        if not extent.is_constant:
            return False
        size *= extent.constant
    return size <= _LARGEST


def _divides(alloc: Alloc, layout: RegisterLayout) -> bool:
    if layout.lane_dimension is None:
        return True
    return alloc.tensor.shape[layout.lane_dimension].constant % layout.lanes == 0


def _layout(accesses: list[_Access], depth: int) -> RegisterLayout | None:
    """Return the layout that all *accesses* agree on; *depth* loops hold the tensor."""
    result = RegisterLayout(None, 0)
    for access in accesses:
        if any(
            isinstance(node, For) and node.kind is LoopKind.PARALLEL
            for node in access.outer[depth:]
        ):
            return None  # shared by the iterations of a parallel loop
        layout = _layout_of(access, depth)
        if layout is None:
            return None
        if layout.lane_dimension is not None:
            if result.lane_dimension is not None and result != layout:
                return None
            result = layout
    return result


def _layout_of(access: _Access, depth: int) -> RegisterLayout | None:
    tiles = [
        node
        for node in reversed(access.outer[depth:])
        if isinstance(node, For) and node.kind in TILE_KINDS
    ]
    # Over counters that start at 0; a name that stays makes the subscript unknown.
    index, counters = access.index, {}
    for loop in tiles:
        tile = tile_loop(loop)
        if not tile.extent:
            return RegisterLayout(None, 0)  # it never runs, and suits any layout
        counters[f"@{loop.axis}"] = (loop, tile.extent)
        form = tile.start + name(f"@{loop.axis}")
        index = tuple(subscript.substitute({loop.axis: form}) for subscript in index)
    result = RegisterLayout(None, 0)
    for dimension, subscript in enumerate(index):
        if not subscript.names() <= set(counters):
            return None
        for counter, (loop, extent) in counters.items():
            if loop.kind is not LoopKind.VECTORIZED or counter not in subscript.names():
                continue
            rest = subscript - name(counter)
            if result.lane_dimension is not None or not _aligned(
                rest, extent, counters
            ):
                return None
            result = RegisterLayout(dimension, extent)
    return result


def _aligned(rest: Affine, lanes: int, counters: dict[str, tuple[For, int]]) -> bool:
    """Return whether *rest* is always a multiple of *lanes*."""
    for atom, coefficient in rest.terms:
        if not isinstance(atom, str):
            return False
        loop, _ = counters[atom]
        if loop.kind is LoopKind.VECTORIZED or coefficient * loop.step % lanes:
            return False
    return rest.constant % lanes == 0
