"""Primitives that run a loop in tiles: split, tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import Block, Dim, For, Function, LoopKind
from ..ir.walk import substitute
from .bounds import is_nonnegative, multiple_of
from .checks import (
    check_new_name,
    describe,
    find_loop,
    fresh,
    perfect_child,
    quoted,
    replace_loop,
    scope_of,
    taken_names,
)
from .copies import copy_block
from .loops import reorder

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
    taken = taken_names(function) - {axis}
    new_names = _tile_names(axis, names, taken)
    width = factor * loop.step
    exact = _exact_stops(function, loop, width)
    tiles: For | Block
    if origin is not None:
        _check_origin(loop, tail)
        tiles = _aligned(loop, width, new_names, origin)
    elif tail == "cut" and not all(exact):
        tiles = _cut(function, loop, width, new_names, taken)
    else:
        if tail == "perfect":
            _check_perfect(loop, factor, exact)
        tiles = _tiles(loop, width, new_names, _inexact(loop, exact))
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


def _exact_stops(function: Function, loop: For, width: int) -> list[bool]:
    """Return of each stop whether whole tiles provably end there."""
    scope, dims = _facts(function, loop)
    return [
        len(loop.starts) == 1
        and multiple_of(stop - loop.starts[0], scope, dims) % width == 0
        for stop in loop.stops
    ]


def _facts(function: Function, loop: For) -> tuple[dict[str, For], dict[str, Dim]]:
    """Return the loops around *loop* by axis, and the dims by name."""
    scope = scope_of(function, loop.axis)
    del scope[loop.axis]
    return scope, {dim.name: dim for dim in function.dims}


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
    function: Function,
    loop: For,
    width: int,
    names: tuple[str, str],
    taken: set[str],
) -> Block:
    (start,), (stop,) = loop.starts, loop.stops
    scope, dims = _facts(function, loop)
    middle = start + (stop - start) // width * width
    main = _tiles(replace(loop, stops=(middle,)), width, names, ())
    axis = fresh(f"{loop.axis}_t", taken)
    body = copy_block(loop.body, "_t", taken)
    rest = For(
        axis,
        # A negative extent rounds down to below the start.
        (middle,) if is_nonnegative(stop - start, scope, dims) else (start, middle),
        (middle + width, stop),
        loop.step,
        loop.kind,
        substitute(body, {loop.axis: name(axis)}),
        span=loop.span,
    )
    return Block((main, rest))
