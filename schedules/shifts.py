"""Primitives that move the coordinates of a loop: shift and skew."""

from __future__ import annotations

from dataclasses import replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import For, Function, LoopKind
from ..ir.walk import substitute
from .checks import find_loop, quoted, replace_loop, scope_of
from .forms import read_form


def shift(function: Function, axis: str, offset: int | str) -> Function:
    """Add *offset* to the coordinates of *axis*.

    Before, and after `shift("i", 1)`:

        for i in range(M):          for i in range(1, M + 1):
            X[i] = 0.0                  X[i - 1] = 0.0

    Nothing runs in another order. `merge` lines loops up by their coordinates, so a
    shift before it says which iterations then run together. *offset* is an integer, or
    the text of an affine form over dims and the axes around the loop.
    """
    loop = find_loop(function, axis, "shift")
    known = [*_around(function, axis), *(dim.name for dim in function.dims)]
    form = read_form(offset, known, "shift: offset")
    _check_rectangular(loop, "shift", form)
    return replace_loop(function, axis, lambda _: _moved(loop, form))


def skew(function: Function, outer: str, inner: str, factor: int) -> Function:
    """Add *factor* times the coordinate of *outer* to those of *inner*.

    Before, and after `skew("t", "i", 1)`:

        for t in range(T):              for t in range(T):
            for i in range(1, N - 1):       for i in range(t + 1, N + t - 1):
                X[i] += X[i + 1]                X[i - t] += X[i - t + 1]

    Nothing runs in another order. What an iteration of *outer* needs of the one before
    then lies at smaller coordinates of *inner*, if *factor* is as large as the
    distance, so that the two loops may be tiled or exchanged. Between *outer* and
    *inner*, and in the body of *inner*, may stand anything.
    """
    around = find_loop(function, outer, "skew")
    loop = find_loop(function, inner, "skew")
    known = _around(function, inner)
    if outer not in known:
        raise ScheduleError(
            f'skew: loop "{inner}" is not inside loop "{outer}"; the loops around it '
            f"are {quoted(known) or 'none'}"
        )
    if factor == 0:
        raise ScheduleError("skew: factor=0 changes nothing; give another integer")
    if around.kind is LoopKind.VECTORIZED:
        raise ScheduleError(
            f'skew: loop "{outer}" is vectorized, so loops inside cannot depend on it; '
            "skew before vectorize"
        )
    form = name(outer) * factor
    _check_rectangular(loop, "skew", form)
    return replace_loop(function, inner, lambda _: _moved(loop, form))


def _around(function: Function, axis: str) -> list[str]:
    return [each for each in scope_of(function, axis) if each != axis]


def _moved(loop: For, offset: Affine) -> For:
    return replace(
        loop,
        starts=tuple(start + offset for start in loop.starts),
        stops=tuple(stop + offset for stop in loop.stops),
        body=substitute(loop.body, {loop.axis: name(loop.axis) - offset}),
    )


def _check_rectangular(loop: For, primitive: str, offset: Affine) -> None:
    if loop.kind is LoopKind.FUSED and not offset.is_constant:
        raise ScheduleError(
            f'{primitive}: loop "{loop.axis}" is fused with the loop around it, and '
            f"its bounds must not vary; {primitive} before fuse"
        )
