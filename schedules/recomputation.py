"""Computing part of a local tensor anew in each iteration of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ScheduleError
from ..ir.affine import name
from ..ir.extents import fixed_extent
from ..ir.nodes import (
    Alloc,
    Block,
    For,
    Function,
    LoopKind,
    Reduce,
    Scatter,
    Stmt,
    Store,
    Tensor,
)
from ..ir.walk import (
    allocations,
    loads,
    loops,
    rewrite,
    rewrite_block,
    walk,
)
from .bounds import prune_starts, prune_stops
from .boxes import Index, Place, Side, place_in
from .checks import (
    path_to,
    replace_body,
)
from .reasons import check_before, kept_order
from .regions import accesses, plain_axis, redirect, touches, writes
from .staging import plan_sides


def recompute(function: Function, tensor: str, axis: str) -> Function:
    """Compute the part of a local tensor that the body of *axis* reads, there."""
    alloc = allocations(function)[tensor]
    home = path_to(function, alloc)
    block = home[-1].body if home else function.body
    target = loops(function)[axis]
    around = (*path_to(function, target), target)
    if around[: len(home)] != home or len(around) <= len(home):
        raise ScheduleError(
            f'compute_at: "{tensor}" is declared inside or beside loop "{axis}", '
            "not around it; name a loop that follows its declaration"
        )
    consumer = around[len(home)]
    writers = [each for each in block.statements if writes(Block((each,)), tensor)]
    reads = list(accesses(target.body, tensor))
    if not reads:
        raise ScheduleError(
            f'compute_at: loop "{axis}" does not read "{tensor}"; name a loop around '
            "all of its reads"
        )
    _check_writers(function, writers, consumer, target, tensor)
    _check_read_there(function, writers, block, target, tensor)
    place = place_in(function, axis)
    sides = plan_sides(reads, alloc.tensor, place, "compute_at")

    def rebase(index: Index) -> Index:
        pairs = zip(index, sides, strict=True)
        return tuple(form - side.origin for form, side in pairs)

    shape = tuple(side.extent for side in sides)
    small = replace(alloc, tensor=Tensor(tensor, alloc.tensor.dtype, shape))
    moved = _restricted(Block(tuple(writers)), tensor, sides, place)
    moved = redirect(moved, tensor, tensor, rebase)
    gone = {id(statement) for statement in (*writers, alloc)}
    without = rewrite(function, lambda each: Block(()) if id(each) in gone else each)
    return replace_body(
        without,
        axis,
        lambda body: Block(
            (
                small,
                *moved.statements,
                *redirect(body, tensor, tensor, rebase).statements,
            )
        ),
    )


def _restricted(
    writers: Block, tensor: str, sides: Sequence[Side], place: Place
) -> Block:
    """Return *writers* with their loops limited to the box that is needed."""
    limits = _limits(writers.statements, tensor, sides)

    def restrict(statement: Stmt) -> Stmt:
        if not isinstance(statement, For) or statement.axis not in limits:
            return statement
        starts, stops = limits[statement.axis]
        result = replace(
            statement,
            starts=prune_starts((*starts, *statement.starts), place.around, place.dims),
            stops=prune_stops((*stops, *statement.stops), place.around, place.dims),
        )
        fixed = statement.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED)
        if fixed and fixed_extent(result) is None:
            raise ScheduleError(
                f'compute_at: loop "{statement.axis}" of "{tensor}" is '
                f"{statement.kind.value} and would lose its constant extent; "
                "compute_at before that step"
            )
        return result

    return rewrite_block(writers, restrict)


def _check_writers(
    function: Function,
    writers: Sequence[Stmt],
    consumer: Stmt,
    target: For,
    tensor: str,
) -> None:
    if any(writer is consumer for writer in writers):
        reason = kept_order(function, [consumer], [consumer], tensor)
        raise ScheduleError(
            f'compute_at: "{tensor}" is written in the nest of loop "{target.axis}" '
            f"itself{reason.because}; name the label of its initialisation, or fission "
            f"first{reason.witness}"
        )
    for writer in writers:
        check_before(function, writer, consumer, target, moving=f'"{tensor}"')
        _check_writes_only(function, writer, tensor)


def _check_read_there(
    function: Function,
    writers: Sequence[Stmt],
    block: Block,
    target: For,
    tensor: str,
) -> None:
    """Refuse where statements of *block* outside of the loop *target* read *tensor*."""
    inside = {id(node) for each in (*writers, target) for node in walk(each)}
    outside = [
        node
        for node in walk(block)
        if isinstance(node, Store | Reduce | Scatter)
        and id(node) not in inside
        and touches(node, tensor)
    ]
    if outside:
        reason = kept_order(function, writers, outside, tensor)
        raise ScheduleError(
            f'compute_at: "{tensor}" is read outside loop "{target.axis}" too'
            f"{reason.because}; choose a loop around all of its reads{reason.witness}"
        )


def _check_writes_only(function: Function, writer: Stmt, tensor: str) -> None:
    """Refuse a nest that does more than compute *tensor* from other tensors."""
    private = {node.tensor.name for node in walk(writer) if isinstance(node, Alloc)}
    for node in walk(writer):
        if not isinstance(node, Store | Reduce | Scatter):
            continue
        if node.tensor != tensor and node.tensor not in private:
            raise ScheduleError(
                f'compute_at: the nest that writes "{tensor}" also writes '
                f'"{node.tensor}"; fission first'
            )
        if any(load.tensor == tensor for load in loads(node)):
            reason = kept_order(
                function, [writer], [writer], tensor, kinds=("flow", "anti")
            )
            raise ScheduleError(
                f'compute_at: "{tensor}" is computed from its own elements, so a part '
                f"of it cannot be computed alone{reason.because}; leave it where it is"
                f"{reason.witness}"
            )


def _limits(
    writers: Sequence[Stmt], tensor: str, sides: Sequence[Side]
) -> dict[str, tuple[Index, Index]]:
    """Return the extra starts and stops of the loops that write *tensor*."""
    limits: dict[str, tuple[Index, Index]] = {}
    for writer in writers:
        steps = {n.axis: n.step for n in walk(writer) if isinstance(n, For)}
        for access in accesses(Block((writer,)), tensor):
            for form, side in zip(access.index, sides, strict=True):
                axis = plain_axis(form, steps)
                shift = form - name(axis) if axis else None
                if axis is None or shift is None or steps[axis] != 1:
                    raise ScheduleError(
                        f'compute_at: the subscript "{form}" that writes "{tensor}" '
                        "is not one axis of step one; move it before it is split"
                    )
                limits[axis] = (
                    tuple(start - shift for start in side.starts),
                    tuple(stop - shift for stop in side.stops),
                )
    return limits
