"""The plan of a staging buffer: shape, subscripts, and the nest that fills it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import Block, For, If, LoopKind, Stmt, Tensor
from .bounds import Loops, extent_over_dims, highest, lowest, undominated
from .boxes import Index, Place, Side, bounding_side, box_nest
from .checks import describe, is_around, quoted, written
from .regions import Access, mirror, relevant, signature

Copy = Callable[[Index, Index], Stmt]
"""Makes the copying statement from the tensor's and the buffer's subscripts."""

Namer = Callable[[str], str]
"""Gives the axis of a copy nest its name, from the axis that it mirrors."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the elements of a tensor go in a buffer.

    *subscripts* maps each subscript tuple of the region to that of the buffer.
    """

    shape: Index
    subscripts: Mapping[Index, Index]
    nest: Callable[[Copy, Namer], Stmt]


def have_one_form(found: Sequence[Access]) -> bool:
    """Return whether all accesses run over the same elements in the same way."""
    return len({signature(access) for access in found}) == 1


def plan_sides(
    found: Sequence[Access], tensor: Tensor, place: Place, primitive: str
) -> list[Side]:
    """Return the box around all accesses, one side a dimension of *tensor*."""
    sides = []
    for dimension, size in enumerate(tensor.shape):
        forms = [(access.index[dimension], access.loops) for access in found]
        side = bounding_side(forms, size, place)
        if side is None:
            shown = quoted(str(form) for form, _ in forms)
            raise ScheduleError(
                f"{primitive}: the part of dimension {dimension} of "
                f'"{tensor.name}" that the body touches has no known extent: its '
                f"subscripts there are {shown}; split the loops below, or stage at "
                "another loop"
            )
        sides.append(side)
    return sides


def plan_box(
    found: Sequence[Access],
    tensor: Tensor,
    place: Place,
    *,
    primitive: str,
    keep_kinds: bool,
) -> Plan:
    """Plan a buffer with the tensor's dimensions, for the box around all accesses."""
    sides = plan_sides(found, tensor, place, primitive)
    kinds, bases = [], []
    for dimension in range(len(sides)):
        axes = [_only_axis(access, dimension) for access in found]
        loops = [loop for loop in axes if loop is not None]
        bases.append(loops[0].axis if loops else f"d{dimension}")
        same = (
            keep_kinds
            and len(loops) == len(axes)
            and len({loop.kind for loop in loops}) == 1
        )
        kinds.append(loops[0].kind if same else LoopKind.SERIAL)

    def nest(copy: Copy, namer: Namer) -> Stmt:
        names = [namer(base) for base in bases]
        return box_nest(
            sides, names, kinds, lambda index: copy(index, _rebased(index, sides))
        )

    return Plan(_shape(sides), _all_rebased(found, sides), nest)


def plan_mirror(
    found: Sequence[Access], tensor: Tensor, place: Place, primitive: str
) -> Plan:
    """Plan a buffer with the tensor's dimensions, filled by the loops of the accesses.

    The accesses must have one form.
    """
    sides = plan_sides(found, tensor, place, primitive)
    first = found[0]
    loops = _needed_loops(first)
    kinds = {axis: loop.kind for axis, loop in loops.items()}
    guards = _guards_within(found, loops)

    def nest(copy: Copy, namer: Namer) -> Stmt:
        names = {axis: namer(axis) for axis in loops}

        def leaf(values: Mapping[str, Affine]) -> Stmt:
            index = tuple(form.substitute(values) for form in first.index)
            return guarded(guards, values, copy(index, _rebased(index, sides)))

        return mirror(loops, names, kinds, leaf)

    return Plan(_shape(sides), _all_rebased(found, sides), nest)


def plan_layout(
    found: Sequence[Access],
    tensor: Tensor,
    place: Place,
    layout: Sequence[str],
    *,
    primitive: str,
    keep_kinds: bool,
) -> Plan:
    """Plan a buffer with one dimension for each axis of *layout*."""
    _check_one_form(found, tensor, primitive)
    first = found[0]
    _check_layout(layout, first, tensor, primitive)
    loops = _hulls(first, layout)
    shape, coordinates = _layout_dimensions(layout, loops, place, primitive)
    nested = _nesting(layout, loops)
    kinds = {
        axis: loop.kind if keep_kinds else LoopKind.SERIAL
        for axis, loop in nested.items()
    }
    guards = _guards_within(found, loops)

    def at(index: Index, values: Mapping[str, Affine]) -> Index:
        return tuple(form.substitute(values) for form in index)

    def nest(copy: Copy, namer: Namer) -> Stmt:
        names = {axis: namer(axis) for axis in layout}

        def leaf(values: Mapping[str, Affine]) -> Stmt:
            made = copy(at(first.index, values), at(coordinates, values))
            return guarded(guards, values, made)

        return mirror(nested, names, kinds, leaf)

    subscripts = {}
    for access in found:
        pairs = zip(relevant(first), relevant(access), strict=True)
        values = {mine: name(theirs) for mine, theirs in pairs}
        subscripts[access.index] = at(coordinates, values)
    return Plan(shape, subscripts, nest)


def _layout_dimensions(
    layout: Sequence[str], loops: Loops, place: Place, primitive: str
) -> tuple[Index, Index]:
    """Return the extent of each axis of *layout*, and the place of an iteration."""
    around = {**place.around, **loops}
    shape, coordinates = [], []
    for axis in layout:
        loop = loops[axis]
        spans = [stop - start for start in loop.starts for stop in loop.stops]
        extent = extent_over_dims(spans, loop.step, around, place.dims)
        if extent is None or len(loop.starts) != 1:
            raise ScheduleError(
                f"{primitive}: {describe(loop)} has no start and extent of its own for "
                f'a dimension of the buffer; split "{axis}" first'
            )
        shape.append(extent)
        coordinates.append((name(axis) - loop.starts[0]) // loop.step)
    return tuple(shape), tuple(coordinates)


def _shape(sides: Sequence[Side]) -> Index:
    return tuple(side.extent for side in sides if not side.is_unit)


def _rebased(index: Index, sides: Sequence[Side]) -> Index:
    pairs = zip(index, sides, strict=True)
    return tuple(form - side.origin for form, side in pairs if not side.is_unit)


def _all_rebased(found: Sequence[Access], sides: Sequence[Side]) -> dict[Index, Index]:
    return {access.index: _rebased(access.index, sides) for access in found}


def _only_axis(access: Access, dimension: int) -> For | None:
    names = access.index[dimension].names()
    loops = [loop for axis, loop in access.loops.items() if axis in names]
    return loops[0] if len(loops) == 1 else None


def _check_one_form(found: Sequence[Access], tensor: Tensor, primitive: str) -> None:
    if have_one_form(found):
        return
    first = signature(found[0])
    other = next(access for access in found if signature(access) != first)
    shown = [", ".join(map(str, access.index)) for access in (found[0], other)]
    raise ScheduleError(
        f'{primitive}: "{tensor.name}" is used as {tensor.name}[{shown[0]}] and as '
        f"{tensor.name}[{shown[1]}] over different ranges, and a layout fits one form; "
        "leave layout out to stage the box around them"
    )


def fits_layout(access: Access, layout: Sequence[str]) -> bool:
    """Return whether *layout* names the loops that the subscripts of *access* need.

    Other loops may cut the ranges short, as in a triangle, but not move tiles.
    """
    return set(_layout_axes(access, layout)) == set(layout)


def _layout_axes(access: Access, layout: Sequence[str] = ()) -> list[str]:
    """Return the axes that a layout needs, outermost first, *layout* being wanted."""
    around = access.loops
    needed = {a for form in access.index for a in form.names() if a in around}
    for axis in reversed(around):
        if axis in needed:
            needed |= _tiles_of(around[axis], around, layout)
    return [axis for axis in around if axis in needed]


def _tiles_of(loop: For, around: Loops, layout: Sequence[str]) -> set[str]:
    """Return the loops around that say where *loop* starts, and count for a layout."""
    outer = {a for form in loop.starts for a in form.names() if a in around}
    if loop.step > 1:
        return {a for a in outer if a in layout or not _has_whole(around, a, loop)}
    tiles = {a for a in outer if around[a].step > 1 and name(a) in loop.starts}
    return tiles | (outer & set(layout))


def _has_whole(around: Loops, axis: str, tile: For) -> bool:
    """Whether blocks *axis* are of whole tiles, which can so be counted through."""
    block = around[axis]
    fixed = not any(form.names() & around.keys() for form in block.starts)
    whole = block.step % tile.step == 0 and tile.starts == (name(axis),)
    return fixed and whole and len(block.starts) == 1


def _hulls(access: Access, layout: Sequence[str]) -> Loops:
    """Return the loops of *layout*, as far as they run whatever other loops do."""
    around = access.loops
    others = {axis: loop for axis, loop in around.items() if axis not in layout}

    def reach(bounds: Index, extreme: Callable[[Affine, Loops], Index]) -> Index:
        if not any(form.names() & others.keys() for form in bounds):
            return bounds
        found = (end for form in bounds for end in extreme(form, others))
        ends = (form for form in found if not form.names() & others.keys())
        return undominated(ends, upper=extreme is highest)

    return {
        axis: replace(
            loop,
            starts=reach(loop.starts, lowest),
            stops=reach(loop.stops, highest),
        )
        for axis, loop in relevant(access).items()
        if axis in layout
    }


def _needed_loops(access: Access) -> Loops:
    """Return the loops that the subscripts of *access* need, once each.

    A reduction that only cuts their ranges short would repeat the same elements: they
    then run as far as in any of its iterations.
    """
    around = access.loops
    needed = {a for form in access.index for a in form.names() if a in around}
    for axis in reversed(around):
        if axis in needed:
            forms = around[axis].starts
            needed |= {a for form in forms for a in form.names() if a in around}
    if needed == relevant(access).keys():
        return relevant(access)
    hulls = _hulls(access, list(needed))
    if all(loop.starts and loop.stops for loop in hulls.values()):
        return hulls
    return relevant(access)


def _guards_within(found: Sequence[Access], loops: Loops) -> Index:
    """Return the guards around all of *found* that *loops* suffice for."""
    others = found[0].loops.keys() - loops.keys()
    return tuple(f for f in shared_guards(found) if f.names().isdisjoint(others))


def _check_layout(
    layout: Sequence[str], access: Access, tensor: Tensor, primitive: str
) -> None:
    if len(set(layout)) == len(layout) and fits_layout(access, layout):
        return
    element = f"{tensor.name}[{', '.join(map(str, access.index))}]"
    given, needed = written(tuple(layout)), tuple(_layout_axes(access))
    if not needed:
        raise ScheduleError(
            f"{primitive}: layout={given}, but {element} needs no loop below; leave "
            "layout out"
        )
    raise ScheduleError(
        f"{primitive}: layout={given}, but {element} needs the axes {quoted(needed)}, "
        f"in any order; write layout={written(needed)}"
    )


def _nesting(layout: Sequence[str], loops: Loops) -> Loops:
    """Order the loops as in *layout*, except that bounds come after what they use."""
    waiting = list(layout)
    result: Loops = {}
    while waiting:
        axis = next(
            axis
            for axis in waiting
            if not any(is_around(other, loops[axis]) for other in waiting)
        )
        waiting.remove(axis)
        result[axis] = loops[axis]
    return result


def guarded(guards: Index, values: Mapping[str, Affine], leaf: Stmt) -> Stmt:
    """Return *leaf* where *guards* hold, with the axes that *values* gives."""
    if not guards:
        return leaf
    return If(tuple(form.substitute(values) for form in guards), Block((leaf,)))


def shared_guards(found: Sequence[Access]) -> Index:
    """Return the guards around every access, in the axes of the first one."""
    loops = relevant(found[0])
    shared: list[Affine] | None = None
    for access in found:
        pairs = zip(relevant(access), loops, strict=True)
        values = {theirs: name(mine) for theirs, mine in pairs}
        others = access.loops.keys() - values.keys()
        guards = [
            form.substitute(values)
            for node in access.path
            if isinstance(node, If)
            for form in node.conditions
            if not form.names() & others
        ]
        shared = [form for form in shared if form in guards] if shared else guards
        if not shared:
            return ()
    return tuple(shared or ())
