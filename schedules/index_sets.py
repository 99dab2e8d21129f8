"""Primitives on the iterations of one loop: cut it in two, tighten its bounds."""

from __future__ import annotations

from dataclasses import replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.extents import fixed_extent
from ..ir.inequalities import is_linear, least, stop_after
from ..ir.nodes import Block, Dim, For, Function, If, LoopKind, Stmt
from ..ir.walk import substitute
from .bounds import Loops, is_nonnegative, prune_starts, prune_stops
from .checks import (
    check_serial,
    describe,
    find_loop,
    fresh,
    perfect_child,
    replace_loop,
    scope_of,
    taken_names,
)
from .copies import copy_block
from .forms import read_form
from .lattices import remainder_of, residue


def cut(function: Function, axis: str, at: int | str) -> Function:
    """Run *axis* in two loops: the iterations below *at*, and those from it on.

    Before, and after `cut("i", "M - 1")`:

        for i in range(M):              for i in range(M - 1):
            X[i] = Y[i]                     X[i] = Y[i]
                                        for i_2 in range(max(0, M - 1), M):
                                            X[i_2] = Y[i_2]

    *at* is an integer, or the text of an affine form over dims and the axes around the
    loop. The second loop has axes of its own, named by the same rule as above. Bounds
    and guards inside that hold all through one of the two loops go, so that a loop
    over boundary iterations leaves a main loop without guards.
    """
    loop = find_loop(function, axis, "cut")
    _check_cut(loop)
    scope = scope_of(function, axis)
    del scope[axis]
    dims = {dim.name: dim for dim in function.dims}
    form = read_form(at, [*scope, *dims], "cut: at")
    _check_step(loop, form, scope, dims)
    taken = taken_names(function)
    copy = fresh(f"{axis}_2", taken)
    body = copy_block(loop.body, "_2", taken)
    parts = (
        replace(loop, stops=(*loop.stops, form)),
        replace(
            loop,
            axis=copy,
            starts=(*loop.starts, form),
            body=substitute(body, {axis: name(copy)}),
        ),
    )
    new = simplified(Block(parts), scope, dims)
    return replace_loop(function, axis, lambda _: new)


def tighten(function: Function, axis: str) -> Function:
    """Let the guards around the whole body of *axis* be bounds of the loop.

    Before, and after `tighten("j")`:

        for j in range(N):                      if i >= 0:
            if i >= 0 and N - j - 3 >= 0:           for j in range(N - 2):
                X[i, j] = 0.0                           X[i, j] = 0.0

    Guards that do not depend on *axis* move around the loop.
    """
    loop = find_loop(function, axis, "tighten")
    guard = _only_guard(loop)
    check_serial(loop, "tighten")
    scope = scope_of(function, axis)
    dims = {dim.name: dim for dim in function.dims}
    outside = {each: found for each, found in scope.items() if each != axis}
    remainder = remainder_of(loop, outside, dims)
    starts, stops = list(loop.starts), list(loop.stops)
    kept: list[Affine] = []
    hoisted: list[Affine] = []
    for form in guard.conditions:
        if axis not in form.names():
            hoisted.append(form)
        elif not is_linear(form, axis):
            kept.append(form)
        elif form.coefficient(axis) < 0:
            stops.append(stop_after(form, axis))
        elif remainder is None:
            kept.append(form)
        else:
            starts.append(least(form, axis, remainder, loop.step))
    new: Stmt = replace(
        loop,
        starts=prune_starts(starts, outside, dims),
        stops=prune_stops(stops, outside, dims),
        body=Block((replace(guard, conditions=tuple(kept)),)) if kept else guard.body,
    )
    if hoisted:
        new = If(tuple(hoisted), Block((new,)), span=guard.span)
    return replace_loop(function, axis, lambda _: new)


def simplified(block: Block, scope: Loops, dims: dict[str, Dim]) -> Block:
    """Return *block* without bounds and guards that are shown to hold anyway.

    What is shown never to run goes too. *scope* are the loops around.
    """
    result: list[Stmt] = []
    for statement in block.statements:
        match statement:
            case For():
                loop = _pruned(statement, scope, dims)
                if not _is_empty(loop, scope, dims):
                    inside = {**scope, loop.axis: loop}
                    body = simplified(loop.body, inside, dims)
                    result.append(replace(loop, body=body))
            case If():
                result += _guarded(statement, scope, dims)
            case _:
                result.append(statement)
    return Block(tuple(result))


def _guarded(guard: If, scope: Loops, dims: dict[str, Dim]) -> tuple[Stmt, ...]:
    forms = guard.conditions
    if any(is_nonnegative(-form - 1, scope, dims) for form in forms):
        return ()
    left = tuple(form for form in forms if not is_nonnegative(form, scope, dims))
    body = simplified(guard.body, scope, dims)
    return (replace(guard, conditions=left, body=body),) if left else body.statements


def _pruned(loop: For, scope: Loops, dims: dict[str, Dim]) -> For:
    new = replace(
        loop,
        starts=prune_starts(loop.starts, scope, dims),
        stops=prune_stops(loop.stops, scope, dims),
    )
    sized = loop.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED)
    return loop if sized and fixed_extent(new) is None else new


def _is_empty(loop: For, scope: Loops, dims: dict[str, Dim]) -> bool:
    return any(
        is_nonnegative(start - stop, scope, dims)
        for start in loop.starts
        for stop in loop.stops
    )


def _check_cut(loop: For) -> None:
    if loop.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED):
        raise ScheduleError(
            f'cut: loop "{loop.axis}" is already {loop.kind.value}; '
            "cut before that step"
        )
    child = perfect_child(loop)
    if loop.kind is LoopKind.FUSED or (child and child.kind is LoopKind.FUSED):
        raise ScheduleError(
            f'cut: loop "{loop.axis}" shares a counter with another loop; '
            "cut before fuse"
        )


def _check_step(loop: For, at: Affine, scope: Loops, dims: dict[str, Dim]) -> None:
    remainder = remainder_of(loop, scope, dims)
    if loop.step > 1 and remainder != residue(at, loop.step, scope, dims):
        raise ScheduleError(
            f"cut: {at} is not shown to be a value of {describe(loop)}, which takes "
            f"steps of {loop.step}; cut at the start plus a multiple of the step"
        )


def _only_guard(loop: For) -> If:
    match loop.body.statements:
        case (If() as guard,):
            return guard
    raise ScheduleError(
        f'tighten: the body of loop "{loop.axis}" is not one guard; '
        "fission it, so that each loop has one"
    )
