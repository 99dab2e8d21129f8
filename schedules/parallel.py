"""Primitives that say how a loop runs: unroll, vectorize, parallelize."""

from __future__ import annotations

from dataclasses import replace

from ..analysis.legality import Legality
from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.extents import fixed_extent, most_iterations
from ..ir.nodes import (
    Alloc,
    Block,
    For,
    Function,
    If,
    Index,
    LoopKind,
    Memory,
    Reduce,
    Stmt,
    Store,
)
from ..ir.printer import print_chosen
from ..ir.walk import allocations, loads, scatters, walk, walk_nest
from ..ir.written import statements
from ..limits import MOST_STATEMENTS
from .checks import (
    check_serial,
    describe,
    find_loop,
    is_around,
    path_to,
    perfect_child,
    replace_loop,
)


def unroll(function: Function, axis: str) -> Function:
    """Write out the iterations of *axis* one by one.

    Before, and after `unroll("i_i")`:

        for i_i in range(i_o, min(i_o + 4, M)):   for i_i in ...:   # unrolled
            ...                                       ...

    The extent must have a constant bound, as the inner loop of a split has. Further
    starts, as those of a triangle, become guards of the body. Refused where so many
    statements would take minutes to compile.
    """
    loop = _with_one_start(find_loop(function, axis, "unroll"))
    check_serial(loop, "unroll")
    _check_extent(loop, "unroll")
    unrolled = replace(loop, kind=LoopKind.UNROLLED)
    result = replace_loop(function, axis, lambda _: unrolled)
    _check_size(result, loop, "unroll")
    return result


def vectorize(function: Function, axis: str) -> Function:
    """Run the iterations of *axis* as the lanes of vectors.

    Before, and after `vectorize("j_i")`:

        for j_i in range(j_o, min(j_o + 16, N)):  for j_i in ...:   # vectorized
            ...                                       ...

    The extent must have a constant bound and the step must be 1. Lanes past the end
    are masked, and so are those before further starts. Loops inside must not depend on
    *axis*.
    """
    given = find_loop(function, axis, "vectorize")
    loop = _with_one_start(given)
    check_serial(loop, "vectorize")
    _check_extent(loop, "vectorize")
    if loop.step != 1:
        raise ScheduleError(
            f'vectorize: loop "{axis}" has step {loop.step}, and lanes are '
            "neighbours; vectorize the inner loop of a split"
        )
    for outer in path_to(function, given):
        if isinstance(outer, For) and outer.kind is LoopKind.VECTORIZED:
            raise ScheduleError(
                f'vectorize: loop "{axis}" is inside the vectorized loop '
                f'"{outer.axis}"; vectorize one loop on each path'
            )
    _check_lanes(loop)
    for scatter in scatters(loop):
        raise ScheduleError(
            f'vectorize: loop "{axis}" writes {print_chosen(scatter)}, and lanes '
            "cannot write elements that data chooses; vectorize a loop without it"
        )
    check_targets(function, loop, "vectorize")
    vector = replace(loop, kind=LoopKind.VECTORIZED)
    result = replace_loop(function, axis, lambda _: vector)
    _check_size(result, loop, "vectorize")
    return result


def parallelize(function: Function, axis: str) -> Function:
    """Share out the iterations of *axis* among the cores.

    Before, and after `parallelize("i_o")`:

        for i_o in range(0, M, 32):     for i_o in range(0, M, 32):   # parallel
            ...                             ...

    One loop on each path may be parallel. To share out two, `fuse` the inner one.
    """
    loop = find_loop(function, axis, "parallelize")
    check_serial(loop, "parallelize")
    for outer in path_to(function, loop):
        if isinstance(outer, For) and outer.kind is not LoopKind.SERIAL:
            raise ScheduleError(
                f'parallelize: loop "{axis}" is inside the {outer.kind.value} loop '
                f'"{outer.axis}"; parallelize one outermost loop, and fuse others to it'
            )
    for node in walk(loop.body):
        if isinstance(node, For) and node.kind is LoopKind.PARALLEL:
            raise ScheduleError(
                f'parallelize: loop "{axis}" contains the parallel loop "{node.axis}"; '
                "parallelize one of the two, and fuse the other to it"
            )
    check_targets(function, loop, "parallelize")
    _check_scatters(function, loop)
    _check_registers(function, loop)
    child = perfect_child(loop)
    while child is not None and child.kind is LoopKind.FUSED:
        check_targets(function, child, "parallelize")
        _check_scatters(function, child)
        child = perfect_child(child)
    return _with_kind(function, axis, LoopKind.PARALLEL)


def _with_one_start(loop: For) -> For:
    """Return *loop* from the start that fixes its extent, guarded by the other ones.

    for i in range(max(i_o, j), min(i_o + 4, N)):   for i in range(i_o, ...):
        ...                                             if i - j >= 0:
                                                            ...
    """
    if len(loop.starts) == 1 or loop.step != 1:
        return loop
    for start in loop.starts:
        alone = replace(loop, starts=(start,))
        if fixed_extent(alone) is not None:
            others = (other for other in loop.starts if other != start)
            guards = tuple(name(loop.axis) - other for other in others)
            return replace(alone, body=Block((If(guards, loop.body),)))
    return loop


def _with_kind(function: Function, axis: str, kind: LoopKind) -> Function:
    return replace_loop(function, axis, lambda loop: replace(loop, kind=kind))


def _check_extent(loop: For, primitive: str) -> None:
    child = perfect_child(loop)
    if child is not None and child.kind is LoopKind.FUSED:
        raise ScheduleError(
            f'{primitive}: loop "{loop.axis}" shares its counter with "{child.axis}"; '
            f"{primitive} a loop inside them, or do not fuse"
        )
    if fixed_extent(loop) is None:
        raise ScheduleError(
            f"{primitive}: the extent of {describe(loop)} has no constant bound; "
            f'split("{loop.axis}", factor) and {primitive} "{loop.axis}_i"'
        )


def _check_size(result: Function, loop: For, primitive: str) -> None:
    """Refuse a *result* that would compile for minutes."""
    count = statements(result.body)
    if count <= MOST_STATEMENTS:
        return
    what = "iterations" if primitive == "unroll" else "lanes"
    raise ScheduleError(
        f"{primitive}: with {most_iterations(loop)} {what} of loop "
        f'"{loop.axis}" the program is {count} statements, and more than '
        f"{MOST_STATEMENTS} would compile for minutes; split by a smaller factor, and "
        f"{primitive} the inner loop"
    )


def _check_lanes(loop: For) -> None:
    for node in walk(loop.body):
        match node:
            case For():
                if is_around(loop.axis, node):
                    raise ScheduleError(
                        f'vectorize: {describe(node)} depends on "{loop.axis}", so '
                        f'the lanes would differ in length; vectorize "{node.axis}", '
                        "or reorder"
                    )
                if node.kind in (LoopKind.PARALLEL, LoopKind.VECTORIZED):
                    raise ScheduleError(
                        f'vectorize: loop "{loop.axis}" contains the '
                        f'{node.kind.value} loop "{node.axis}"; vectorize one loop '
                        "on each path, inside the parallel one"
                    )
            case Alloc(memory=Memory.ARRAY):
                raise ScheduleError(
                    f'vectorize: loop "{loop.axis}" declares the array '
                    f'"{node.tensor.name}" for each lane; only registers can be '
                    "declared there: inline it, or stage it outside the loop"
                )
            case _:
                pass


def check_targets(function: Function, loop: For, primitive: str) -> None:
    """Refuse writes that all iterations of *loop* make to the same element."""
    moving = _moving(loop)
    private = {node.tensor.name for node in walk(loop.body) if isinstance(node, Alloc)}
    for node, path in walk_nest(loop.body):
        if not isinstance(node, Store | Reduce) or node.tensor in private:
            continue
        if _mentions(node.index, moving):
            continue
        if any(isinstance(e, If) and _mentions(e.conditions, moving) for e in path):
            continue  # in some iterations only: the proof knows which
        if isinstance(node, Reduce):
            raise ScheduleError(
                f'{primitive}: loop "{loop.axis}" carries a reduction into '
                f'{_element(node)}; rfactor("{loop.axis}") first, so that each '
                f"iteration has a partial result{_seen(function, loop, node.tensor)}"
            )
        raise ScheduleError(
            f'{primitive}: loop "{loop.axis}" carries an output dependence on '
            f"{_element(node)}; choose a loop that occurs in its subscripts, or make "
            f'"{node.tensor}" local to the loop{_seen(function, loop, node.tensor)}'
        )


def _check_scatters(function: Function, loop: For) -> None:
    """Refuse scatters of which two iterations of *loop* may write one element."""
    moving = _moving(loop)
    private = {node.tensor.name for node in walk(loop.body) if isinstance(node, Alloc)}
    different = set(function.assumptions.injective)
    for scatter in scatters(loop):
        apart = any(
            isinstance(part, Index) and part.value.names() & moving
            for part in scatter.index
        )
        keys = {load.tensor for part in scatter.index for load in loads(part)}
        if apart or scatter.tensor in private or keys & different:
            continue
        advice = "parallelize another loop"
        if keys:
            advice = (
                "if all its values differ, write "
                f"tdsl.assume(tdsl.injective({min(keys)})) in the kernel"
            )
        raise ScheduleError(
            f'parallelize: iterations of loop "{loop.axis}" may write the same element '
            f"{print_chosen(scatter)}, as data chooses it; {advice}"
            f"{_seen(function, loop, scatter.tensor)}"
        )


def _seen(function: Function, loop: For, tensor: str) -> str:
    """Return sizes and two iterations of *loop* that meet in *tensor*, on new lines."""
    found = Legality(function).carried(loop.axis, tensor)
    return f"\n{found.witness}" if found is not None else ""


def _moving(loop: For) -> set[str]:
    """Return the axes that take other values in each iteration of *loop*."""
    moving = {loop.axis}
    for node in walk(loop.body):
        if isinstance(node, For) and any(is_around(each, node) for each in moving):
            moving.add(node.axis)
    return moving


def _check_registers(function: Function, loop: For) -> None:
    """Refuse registers that several threads would write."""
    private = {node.tensor.name for node in walk(loop) if isinstance(node, Alloc)}
    for node in walk(loop.body):
        if isinstance(node, Store | Reduce) and node.tensor not in private:
            alloc = allocations(function).get(node.tensor)
            if alloc is not None and alloc.memory is Memory.REGISTER:
                raise ScheduleError(
                    f'parallelize: loop "{loop.axis}" writes "{node.tensor}", which is '
                    "in registers around it, and threads share none; declare it with "
                    'memory="array"'
                )


def _mentions(index: tuple[Affine, ...], axes: set[str]) -> bool:
    return any(form.names() & axes for form in index)


def _element(node: Stmt) -> str:
    assert isinstance(node, Store | Reduce)
    if not node.index:
        return f'"{node.tensor}"'
    return f'"{node.tensor}[{", ".join(map(str, node.index))}]"'
