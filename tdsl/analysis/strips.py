"""Joined strips: loops cut into pieces that run one after the other, put together.

A loop that starts at the largest of several bounds, run in strips for the sake of
vectors, has no simple set of strip numbers. But as long as nothing else happens
between the strips, they are just the loop.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.affine import Affine, constant, name
from ..ir.inequalities import known_residue
from ..ir.nodes import Block, For, Function, LoopKind, Stmt
from ..ir.walk import map_block_forms, rewrite


def with_strips_joined(function: Function) -> Function:
    """Return *function* with one strip in place of those whose numbers are not simple.

    The order of all work stays. Lanes of a vector are then neighbours of more lanes, so
    what is proved of the result holds for *function*, but not the other way around.
    """
    return rewrite(function, _joined)


def _joined(statement: Stmt) -> Stmt:
    if not isinstance(statement, For) or statement.kind is not LoopKind.SERIAL:
        return statement
    remainders = {known_residue(start, statement.step) for start in statement.starts}
    match statement.body.statements:
        case (For() as strip,) if len(remainders) > 1 and _is_strip(statement, strip):
            rest = tuple(s for s in strip.stops if statement.axis not in s.names())
            whole = replace(strip, starts=statement.starts, stops=rest)
            zero, one = constant(0), constant(1)
            return replace(
                statement, starts=(zero,), stops=(one,), step=1, body=Block((whole,))
            )
    return statement


def _is_strip(loop: For, strip: For) -> bool:
    """Whether *strip* runs from each value of *loop* to the next, and to its end."""
    here = name(loop.axis)
    ends = {stop for stop in strip.stops if loop.axis in stop.names()}
    return (
        strip.kind in (LoopKind.SERIAL, LoopKind.UNROLLED, LoopKind.VECTORIZED)
        and strip.step == 1
        and strip.starts == (here,)
        and ends == {here + loop.step}
        and set(loop.stops) <= set(strip.stops)
        and not _is_used(loop.axis, strip.body)
    )


def _is_used(axis: str, block: Block) -> bool:
    used: set[str] = set()

    def note(form: Affine) -> Affine:
        used.update(form.names())
        return form

    map_block_forms(block, note)
    return axis in used
