"""Outer tile sizes as arguments of the generated function.

The step of a serial or parallel loop whose chunk is again run by serial or parallel
loops is only a number; so is the extent of a local array along a dimension that no
unrolled or vectorized loop subscripts. Each becomes a dim with one known value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..ir.affine import Affine, FloorDiv, name
from ..ir.nodes import (
    Alloc,
    Block,
    Dim,
    For,
    Function,
    If,
    Index,
    LoopKind,
    Memory,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from ..ir.walk import allocations, loops, read_forms, reads, rewrite, walk
from .lower import fresh_axis

_PLAIN = (LoopKind.SERIAL, LoopKind.PARALLEL, LoopKind.FUSED)


def lift_sizes(
    function: Function,
) -> tuple[Function, Mapping[str, str], dict[str, int]]:
    """Return the function with sizes as dims, the step name by axis, and the values."""
    tiles = _outer_tiles(function)
    taken = _names(function)
    steps = {axis: fresh_axis(f"{axis}_size", taken) for axis in tiles}
    values = {steps[axis]: size for axis, size in tiles.items()}
    literal = _literal_dimensions(function)

    def lifted(statement: Stmt) -> Stmt:
        if isinstance(statement, For):
            stops = tuple(_lift_stop(form, tiles, steps) for form in statement.stops)
            return (
                statement
                if stops == statement.stops
                else replace(statement, stops=stops)
            )
        if isinstance(statement, Alloc) and statement.memory is Memory.ARRAY:
            tensor = statement.tensor
            shape = list(tensor.shape)
            for position, extent in enumerate(shape):
                if extent.is_constant and (tensor.name, position) not in literal:
                    size = fresh_axis(f"{tensor.name}_size{position}", taken)
                    values[size] = extent.constant
                    shape[position] = name(size)
            return replace(statement, tensor=replace(tensor, shape=tuple(shape)))
        return statement

    result = rewrite(function, lifted)
    dims = tuple(Dim(each, value, value, value) for each, value in values.items())
    return replace(result, dims=result.dims + dims), steps, values


def _names(function: Function) -> set[str]:
    """Return every name of *function*, which the sizes must not take."""
    names = {function.name, *loops(function), *allocations(function)}
    names.update(dim.name for dim in function.dims)
    return names | {param.tensor.name for param in function.params}


def _lift_stop(form: Affine, tiles: dict[str, int], steps: dict[str, str]) -> Affine:
    """Return `axis + size` as a sum of names where it is the end of a lifted tile."""
    for axis, size in tiles.items():
        if form == name(axis) + size:
            return name(axis) + name(steps[axis])
    return form


def _outer_tiles(function: Function) -> dict[str, int]:
    """Return the axes whose chunks are run by plain loops, with their steps."""
    nests = [node for node in walk(function) if isinstance(node, For)]
    chunks: dict[str, list[For]] = {}
    for loop in nests:
        for form in loop.starts:
            for axis in form.names():
                chunks.setdefault(axis, []).append(loop)
    return {
        loop.axis: loop.step
        for loop in nests
        if loop.step > 1
        and loop.kind in _PLAIN
        and loop.axis in chunks
        and all(chunk.kind in _PLAIN for chunk in chunks[loop.axis])
        and not _divides_by(function, loop)
    }


def _divides_by(function: Function, loop: For) -> bool:
    """Return whether the step occurs as a divisor of the axis: it stays a literal.

    What is counted *from* the axis, as the tiles of a block are in `(i_t - i_o)//6`, is
    divided by another step, which may have the same value.
    """
    for node in walk(function):
        if isinstance(node, Store | Reduce | Scatter):
            own = () if isinstance(node, Scatter) else node.index
            for form in (*own, *read_forms(node)):
                if any(
                    isinstance(atom, FloorDiv)
                    and atom.divisor == loop.step
                    and atom.numerator.coefficient(loop.axis) > 0
                    for atom, _ in form.terms
                ):
                    return True
    return False


def _literal_dimensions(function: Function) -> set[tuple[str, int]]:
    """Return the dimensions that unrolled or vectorized loops subscript."""
    result: set[tuple[str, int]] = set()

    def visit(block: Block, tiles: frozenset[str]) -> None:
        for statement in block.statements:
            if isinstance(statement, For):
                inner = tiles
                if statement.kind not in _PLAIN:
                    inner = tiles | {statement.axis}
                visit(statement.body, inner)
            elif isinstance(statement, If):
                visit(statement.body, tiles)
            elif isinstance(statement, Store | Reduce | Scatter):
                for access in (statement, *reads(statement)):
                    for position, part in enumerate(access.index):
                        form = part.value if isinstance(part, Index) else part
                        if isinstance(form, Affine) and form.names() & tiles:
                            result.add((access.tensor, position))

    visit(function.body, frozenset())
    return result
