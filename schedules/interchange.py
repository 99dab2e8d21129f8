"""Nesting orders of a perfect nest, with exact bounds for triangles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import Dim, For, LoopKind
from .bounds import Loops, prune_starts, prune_stops
from .checks import describe, is_around, quoted


def permute(
    chain: Sequence[For], order: Sequence[str], scope: Loops, dims: dict[str, Dim]
) -> list[For]:
    """Return the loops of *chain* in *order*, with bounds that mean the same."""
    by_axis = {loop.axis: loop for loop in chain}
    wanted = [by_axis[axis] for axis in order]
    if _is_scoped(wanted):
        return wanted
    # Sort by exchanging neighbours; each exchange rewrites the two bounds.
    result = list(chain)
    rank = {axis: position for position, axis in enumerate(order)}
    for end in range(len(result) - 1, 0, -1):
        for at in range(end):
            outer, inner = result[at], result[at + 1]
            if rank[outer.axis] > rank[inner.axis]:
                around = {**scope, **{loop.axis: loop for loop in result[:at]}}
                result[at : at + 2] = _exchange(outer, inner, around, dims)
    return result


def _is_scoped(order: Sequence[For]) -> bool:
    return not any(
        is_around(inner.axis, loop)
        for position, loop in enumerate(order)
        for inner in order[position + 1 :]
    )


def _exchange(
    outer: For, inner: For, scope: Loops, dims: dict[str, Dim]
) -> tuple[For, For]:
    """Return *inner* around *outer*: the integer points of both are the same.

    Eliminating the outer axis by Fourier and Motzkin is exact for unit coefficients.
    """
    if not is_around(outer.axis, inner):
        return inner, outer
    _check_exchange(outer, inner)
    axis = outer.axis
    starts = [form for form in inner.starts if axis not in form.names()]
    stops = [form for form in inner.stops if axis not in form.names()]
    outer_starts, outer_stops = list(outer.starts), list(outer.stops)
    here = name(inner.axis)
    for form in inner.starts:  # inner >= form
        rest = form - name(axis) * form.coefficient(axis)
        if form.coefficient(axis) == 1:  # outer <= inner - rest
            outer_stops.append(here - rest + 1)
            starts += [rest + start for start in outer.starts]
        elif form.coefficient(axis) == -1:  # outer >= rest - inner
            outer_starts.append(rest - here)
            starts += [rest - (stop - 1) for stop in outer.stops]
    for form in inner.stops:  # inner <= form - 1
        rest = form - name(axis) * form.coefficient(axis)
        if form.coefficient(axis) == 1:  # outer >= inner - rest + 1
            outer_starts.append(here - rest + 1)
            stops += [rest + (stop - 1) for stop in outer.stops]
        elif form.coefficient(axis) == -1:  # outer <= rest - 1 - inner
            outer_stops.append(rest - here)
            stops += [rest - start for start in outer.starts]
    first = replace(
        inner,
        starts=prune_starts(starts, scope, dims),
        stops=prune_stops(stops, scope, dims),
    )
    inside = {**scope, first.axis: first}
    second = replace(
        outer,
        starts=prune_starts(outer_starts, inside, dims),
        stops=prune_stops(outer_stops, inside, dims),
    )
    return first, second


def _check_exchange(outer: For, inner: For) -> None:
    axis = outer.axis
    forms: tuple[Affine, ...] = (*inner.starts, *inner.stops)
    unit = all(
        form.coefficient(axis) in (-1, 1)
        and axis not in (form - name(axis) * form.coefficient(axis)).names()
        for form in forms
        if axis in form.names()
    )
    for loop in (outer, inner):
        if loop.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED):
            raise ScheduleError(
                f'reorder: loop "{loop.axis}" is {loop.kind.value} and would get new '
                f'bounds, without a constant extent; reorder "{axis}" and '
                f'"{inner.axis}" before that step'
            )
    if unit and outer.step == 1 and inner.step == 1:
        return
    raise ScheduleError(
        f'reorder: loop "{inner.axis}" cannot be around loop "{axis}": '
        f"{describe(inner)} needs {quoted((axis,))}, and only steps and coefficients "
        f"of one are rewritten; keep "
        f'"{axis}" outside, or reorder before the split that made it'
    )
