"""Primitives that change the loop structure: split, tile, reorder, fuse, fission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import Alloc, Block, For, Function, LoopKind, Stmt
from ..ir.walk import substitute, walk
from .bounds import is_nonnegative, multiple_of
from .checks import (
    check_new_name,
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
from .copies import copy_block, labels, tensor_names
from .interchange import permute
from .parallel import check_targets

TAILS = ("guard", "cut", "perfect")


def split(
    function: Function,
    axis: str,
    factor: int,
    *,
    names: tuple[str, str] | None = None,
    tail: str = "guard",
    origin: int | None = None,
) -> Function:
    """Run *axis* in tiles of *factor* iterations.

    Before, and after `split("i", 32)`:

        for i in range(M):              for i_o in range(0, M, 32):
            X[i] = Y[i]                     for i_i in range(i_o, min(i_o + 32, M)):
                                                X[i_i] = Y[i_i]

    With `tail="cut"` the last, incomplete tile is a loop of its own, and the inner
    loop of the full tiles has no minimum:

        for i_o in range(0, 32*(M//32), 32):
            for i_i in range(i_o, i_o + 32):
                X[i_i] = Y[i_i]
        for i_t in range(32*(M//32), min(32*(M//32) + 32, M)):
            X[i_t] = Y[i_t]

    With `tail="perfect"` there is no incomplete tile, which must follow from the
    extent: a constant, or dims declared as multiples. *names* replace `i_o` and `i_i`.

    Tiles start where the loop does, or with *origin* at that number plus multiples of
    *factor*. Where the start depends on another loop, as that of a skewed loop does,
    only such tiles can be around that loop. After `split("i", 32, origin=0)`:

        for i in range(t, N + t):   for i_o in range(32*(t//32), N + t, 32):
            ...                         for i_i in range(max(i_o, t),
                                                         min(i_o + 32, N + t)):
                                            ...
    """
    loop = find_loop(function, axis, "split")
    _check_split(loop, factor, tail)
    if origin is not None:
        _check_origin(loop, tail)
    taken = taken_names(function) - {axis}
    new_names = _tile_names(axis, names, taken)
    scope = scope_of(function, axis)
    del scope[axis]
    dims = {dim.name: dim for dim in function.dims}
    width = factor * loop.step
    exact = [
        len(loop.starts) == 1
        and multiple_of(stop - loop.starts[0], scope, dims) % width == 0
        for stop in loop.stops
    ]
    if tail == "perfect":
        _check_perfect(loop, factor, exact)
    if tail == "cut" and not all(exact):
        (extent,) = (stop - start for start in loop.starts for stop in loop.stops)
        nonnegative = is_nonnegative(extent, scope, dims)
        cut = _cut(loop, factor, new_names, taken, nonnegative)
        return replace_loop(function, axis, lambda _: cut)
    if origin is not None:
        aligned = _aligned(loop, factor, new_names, origin)
        return replace_loop(function, axis, lambda _: aligned)
    kept = () if tail == "perfect" else _inexact(loop, exact)
    tiles = _tiles(loop, width, new_names, kept)
    return replace_loop(function, axis, lambda _: tiles)


def tile(
    function: Function,
    axes: Sequence[str],
    factors: Sequence[int],
    *,
    names: tuple[str, ...] | None = None,
    tail: str = "guard",
    origin: int | None = None,
) -> Function:
    """Split each of *axes* and run all tile loops outside all inner loops.

    Before, and after `tile(("i", "j"), (8, 32))`:

        for i in range(M):          for i_o in range(0, M, 8):
            for j in range(N):          for j_o in range(0, N, 32):
                ...                         for i_i in range(i_o, min(i_o + 8, M)):
                                                for j_i in range(j_o, ...):
                                                    ...

    *names* replace `i_o`, `j_o`, `i_i`, `j_i`, in that order, outermost first. With
    *origin*, tiles start at that number plus multiples of the factors, as skewed loops
    need: see `split`.
    """
    if len(axes) != len(factors):
        raise ScheduleError(
            f"tile: {len(axes)} axes but {len(factors)} factors; give one for each"
        )
    if tail == "cut" and len(axes) > 1:
        raise ScheduleError(
            'tile: tail="cut" leaves a remainder loop between the tiles, so they '
            'cannot be nested; use tail="guard", or split and fission step by step'
        )
    order = _names_of_tiles(function, axes, names)
    pairs = zip(order, order[len(axes) :], strict=False)
    for axis, factor, pair in zip(axes, factors, pairs, strict=True):
        function = split(function, axis, factor, names=pair, tail=tail, origin=origin)
    return reorder(function, *order)


def _names_of_tiles(
    function: Function, axes: Sequence[str], names: Sequence[str] | None
) -> list[str]:
    """Return the new names: of the tile loops, then of the inner loops."""
    count = len(axes)
    default = [f"{axis}_o" for axis in axes] + [f"{axis}_i" for axis in axes]
    order = default if names is None else list(names)
    wanted = f"{count} for the tile loops and {count} for the inner loops"
    if len(order) != len(default):
        raise ScheduleError(
            f"tile: names={names!r}; give {2 * count} names, {wanted}, in place of "
            f"{quoted(default)}"
        )
    taken = taken_names(function)
    for axis, new in zip((*axes, *axes), order, strict=True):
        if new != axis:
            check_new_name(new, taken, "tile", f"pass names=(...), {wanted}")
    return order


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
        raise ScheduleError(f"reorder: an axis is named twice in {quoted(axes)}")
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
            "can share the counter of another"
        )
    if first.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED):
        raise ScheduleError(
            f'fuse: loop "{outer}" is {first.kind.value}; only serial, parallel and '
            "fused loops share a counter"
        )
    if _is_shared_out(function, first):
        check_targets(second, "fuse")
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
            raise ScheduleError(
                f'fission: local tensor "{statement.tensor.name}" belongs to one '
                f'iteration of "{axis}" and is used on both sides of the cut; '
                "cut elsewhere, inline it, or use an array over all iterations"
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


def _check_split(loop: For, factor: int, tail: str) -> None:
    if not isinstance(factor, int) or isinstance(factor, bool) or factor < 1:
        raise ScheduleError(
            f'split: factor={factor!r} for axis "{loop.axis}"; '
            "the factor is an integer >= 1"
        )
    if tail not in TAILS:
        raise ScheduleError(f"split: tail={tail!r}; allowed are {quoted(TAILS)}")
    if loop.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED):
        raise ScheduleError(
            f'split: loop "{loop.axis}" is already {loop.kind.value}; '
            "split before that step"
        )
    if tail == "cut" and loop.kind is LoopKind.FUSED:
        raise ScheduleError(
            f'split: loop "{loop.axis}" is fused with the loop around it, which leaves '
            'no place for a remainder; use tail="guard", or split before fuse'
        )
    child = perfect_child(loop)
    if child is not None and child.kind is LoopKind.FUSED:
        raise ScheduleError(
            f'split: loop "{loop.axis}" is fused with "{child.axis}"; split before fuse'
        )
    if tail == "cut" and (len(loop.starts) != 1 or len(loop.stops) != 1):
        raise ScheduleError(
            f"split: {describe(loop)} has several bounds, so its full tiles cannot be "
            'cut off; use tail="guard"'
        )


def _check_origin(loop: For, tail: str) -> None:
    if tail != "guard":
        raise ScheduleError(
            f"split: tail={tail!r} with an origin; the first and the last of such "
            'tiles may be cut short, which is tail="guard"'
        )
    if loop.step != 1:
        raise ScheduleError(
            f'split: loop "{loop.axis}" has step {loop.step}, so its tiles start '
            "where it does; give no origin, or split a loop of step 1"
        )


def _tile_names(
    axis: str, names: tuple[str, str] | None, taken: set[str]
) -> tuple[str, str]:
    if names is not None and len(names) != 2:
        raise ScheduleError(
            f"split: names={names!r}; give two names, of the outer and the inner loop"
        )
    outer, inner = names or (f"{axis}_o", f"{axis}_i")
    for new in (outer, inner):
        check_new_name(new, taken, "split", "pass names=(outer, inner)")
    return outer, inner


def _check_perfect(loop: For, factor: int, exact: list[bool]) -> None:
    if all(exact):
        return
    width = factor * loop.step
    sizes = sorted(loop.stops[exact.index(False)].names())
    declare = f', or declare tdsl.dim("{sizes[0]}", multiple={width})' if sizes else ""
    raise ScheduleError(
        f"split: {factor} does not provably divide the extent of {describe(loop)}; "
        f'use tail="guard" or tail="cut"{declare}'
    )


def _inexact(loop: For, exact: list[bool]) -> tuple[Affine, ...]:
    pairs = zip(loop.stops, exact, strict=True)
    return tuple(stop for stop, divides in pairs if not divides)


def _tiles(
    loop: For, width: int, names: tuple[str, str], stops: tuple[Affine, ...]
) -> For:
    outer, inner = names
    tile_loop = For(
        inner,
        (name(outer),),
        (name(outer) + width, *stops),
        loop.step,
        LoopKind.SERIAL,
        substitute(loop.body, {loop.axis: name(inner)}),
        span=loop.span,
    )
    return replace(loop, axis=outer, step=width, body=Block((tile_loop,)))


def _aligned(loop: For, width: int, names: tuple[str, str], origin: int) -> For:
    """Return tiles that start at multiples of *width* from *origin* on."""
    starts = tuple((s - origin) // width * width + origin for s in loop.starts)
    tiles = _tiles(loop, width, names, loop.stops)
    (inner,) = tiles.body.statements
    assert isinstance(inner, For)
    inner = replace(inner, starts=(*inner.starts, *loop.starts))
    return replace(tiles, starts=starts, body=Block((inner,)))


def _cut(
    loop: For,
    factor: int,
    names: tuple[str, str],
    taken: set[str],
    nonnegative: bool,
) -> Block:
    (start,), (stop,) = loop.starts, loop.stops
    width = factor * loop.step
    middle = start + (stop - start) // width * width
    main = _tiles(replace(loop, stops=(middle,)), width, names, ())
    axis = fresh(f"{loop.axis}_t", taken)
    body = copy_block(loop.body, "_t", taken)
    rest = For(
        axis,
        # A negative extent rounds down to below the start.
        (middle,) if nonnegative else (start, middle),
        (middle + width, stop),
        loop.step,
        loop.kind,
        substitute(body, {loop.axis: name(axis)}),
        span=loop.span,
    )
    return Block((main, rest))


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
        raise ScheduleError(
            f"fission: a cut after {after} of the {len(statements)} statements of loop "
            f'"{loop.axis}" leaves one side empty'
        )
    return after
