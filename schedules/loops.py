"""Primitives that change the loop structure: reorder, fuse, fission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ScheduleError
from ..ir.affine import name
from ..ir.nodes import Alloc, Block, For, Function, LoopKind, Stmt
from ..ir.walk import substitute, walk
from .checks import (
    describe,
    find_loop,
    fresh,
    is_around,
    path_to,
    perfect_child,
    quoted,
    replace_loop,
    scope_of,
    taken_names,
)
from .copies import labels, tensor_names
from .interchange import permute
from .parallel import check_targets
from .reasons import kept_order


def reorder(function: Function, *axes: str) -> Function:
    """Nest the loops of *axes* in the given order, outermost first.

    Before, and after `reorder("k", "i")`:

        for i in range(M):          for k in range(K):
            for j in range(N):          for j in range(N):
                for k in range(K):          for i in range(M):
                    ...                         ...

    The loops must form one perfect nest, that is, each is all of the body of the one
    around it; loops between them that are not named keep their place. Where the
    bounds of one use the axis of another (a triangle, a skewed loop), they are
    rewritten. Loops with steps must then start at the same multiples of the step
    throughout: see *origin* of `split`.
    """
    if len(set(axes)) != len(axes):
        raise ScheduleError(
            f"reorder: an axis is named twice in {quoted(axes)}; name each once"
        )
    for axis in axes:
        find_loop(function, axis, "reorder")
    if len(axes) < 2:
        return function
    chain = _chain(function, axes)
    for loop in chain:
        if loop.kind is LoopKind.FUSED:
            raise ScheduleError(
                f'reorder: loop "{loop.axis}" is fused with the loop around it; '
                "reorder before fuse"
            )
    after = perfect_child(chain[-1])
    if after is not None and after.kind is LoopKind.FUSED:
        raise ScheduleError(
            f'reorder: loop "{after.axis}" is fused with "{chain[-1].axis}"; '
            "reorder before fuse"
        )
    wanted = iter(axes)
    order = [next(wanted) if loop.axis in axes else loop.axis for loop in chain]
    dims = {dim.name: dim for dim in function.dims}
    scope = scope_of(function, chain[0].axis)
    del scope[chain[0].axis]
    new = permute(chain, order, scope, dims)
    nest: Stmt | Block = chain[-1].body
    for loop in reversed(new):
        body = nest if isinstance(nest, Block) else Block((nest,))
        nest = replace(loop, body=body)
    return replace_loop(function, chain[0].axis, lambda _: nest)


def fuse(function: Function, outer: str, inner: str) -> Function:
    """Run the loops *outer* and *inner* with one counter.

    Before, and after `fuse("i", "j")`:

        for i in range(M):          for i in range(M):
            for j in range(N):          for j in range(N):  # fused
                ...                         ...

    The meaning stays that of nested loops. A parallel *outer* then shares out all
    pairs of iterations, so few iterations of *outer* still keep every core busy.
    """
    first = find_loop(function, outer, "fuse")
    second = find_loop(function, inner, "fuse")
    child = perfect_child(first)
    if child is not second:
        raise ScheduleError(
            f'fuse: loop "{inner}" is not all of the body of loop "{outer}"; '
            "reorder the loops or fission the rest away first"
        )
    if is_around(outer, second):
        raise ScheduleError(
            f'fuse: {describe(second)} depends on "{outer}", so the two have no '
            "rectangular range; split or leave them nested"
        )
    if second.kind is not LoopKind.SERIAL:
        raise ScheduleError(
            f'fuse: loop "{inner}" is already {second.kind.value}; only a serial loop '
            "can share the counter of another; apply fuse before that step"
        )
    if first.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED):
        raise ScheduleError(
            f'fuse: loop "{outer}" is {first.kind.value}; only serial, parallel and '
            "fused loops share a counter; apply fuse before that step"
        )
    if _is_shared_out(function, first):
        check_targets(function, second, "fuse")
    return replace_loop(
        function, inner, lambda loop: replace(loop, kind=LoopKind.FUSED)
    )


def fission(function: Function, axis: str, *, after: str | int) -> Function:
    """Distribute the loop of *axis* over its body, in two loops.

    Before, and after `fission("i", after="S0")`:

        for i in range(M):              for i in range(M):
            X[i] = 0.0      # S0[i]         X[i] = 0.0      # S0[i]
            Y[i] = 1.0      # S1[i]     for i_2 in range(M):
                                            Y[i_2] = 1.0    # S1[i_2]

    *after* is the label of a statement, or the number of statements of the body that
    stay in the first loop.
    """
    loop = find_loop(function, axis, "fission")
    child = perfect_child(loop)
    if loop.kind is LoopKind.FUSED or (child and child.kind is LoopKind.FUSED):
        raise ScheduleError(
            f'fission: loop "{axis}" shares a counter with another loop; '
            "fission before fuse"
        )
    position = _position(loop, after)
    first, second = loop.body.statements[:position], loop.body.statements[position:]
    used = {used for statement in second for used in tensor_names(statement)}
    for statement in first:
        if isinstance(statement, Alloc) and statement.tensor.name in used:
            local = statement.tensor.name
            reason = kept_order(function, first, second, local)
            raise ScheduleError(
                f'fission: local tensor "{local}" belongs to one iteration of '
                f'"{axis}" and is used on both sides of the cut{reason.because}; cut '
                f'elsewhere, or expand("{local}", "{axis}") first{reason.witness}'
            )
    copy = fresh(f"{axis}_2", taken_names(function))
    moved = substitute(Block(second), {axis: name(copy)})
    return replace_loop(
        function,
        axis,
        lambda _: Block(
            (
                replace(loop, body=Block(first)),
                replace(loop, axis=copy, body=moved),
            )
        ),
    )


def _is_shared_out(function: Function, loop: For) -> bool:
    for around in reversed((*path_to(function, loop), loop)):
        if not isinstance(around, For) or around.kind is not LoopKind.FUSED:
            return isinstance(around, For) and around.kind is LoopKind.PARALLEL
    return False


def _chain(function: Function, axes: Sequence[str]) -> list[For]:
    found = [find_loop(function, axis, "reorder") for axis in axes]
    below = {id(loop): {id(node) for node in walk(loop)} for loop in found}
    top = max(found, key=lambda loop: len(below[id(loop)]))
    chain, missing = [top], set(axes) - {top.axis}
    while missing:
        child = perfect_child(chain[-1])
        if child is None:
            raise ScheduleError(
                f'reorder: loop "{sorted(missing)[0]}" is not perfectly nested in '
                f'loop "{chain[-1].axis}", which has other statements in its body or '
                "does not contain it; fission first"
            )
        chain.append(child)
        missing.discard(child.axis)
    return chain


def _position(loop: For, after: str | int) -> int:
    statements = loop.body.statements
    if isinstance(after, str):
        holders = [i for i, each in enumerate(statements) if after in labels(each)]
        if not holders:
            known = quoted(sorted(labels(loop)))
            raise ScheduleError(
                f'fission: no statement "{after}" in loop "{loop.axis}"; '
                f"the labels are {known}"
            )
        after = holders[-1] + 1
    if not 0 < after < len(statements):
        places = ", ".join(map(str, range(1, len(statements))))
        instead = f"after can be {places}" if places else "one cannot be cut"
        raise ScheduleError(
            f"fission: a cut after {after} of the {len(statements)} statements of loop "
            f'"{loop.axis}" leaves one side empty; {instead}'
        )
    return after
