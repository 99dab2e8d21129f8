"""Parallel loops: which loops share a counter, and what a body needs from outside."""

from __future__ import annotations

from symtable import Function, symtable

from ..ir.nodes import For, LoopKind
from ..ir.walk import walk


def free_names(body: str, number: str, known: set[str]) -> list[str]:
    """Return the variables that *body* reads and does not define."""
    (part,) = symtable(f"def part():\n{body}", "part", "exec").get_children()
    assert isinstance(part, Function)
    return sorted({*part.get_globals()} - known - {number})


def fused_chain(loop: For) -> list[For]:
    """Return *loop* and the loops fused with it, as far as their ranges are fixed."""
    chain = [loop]
    while len(chain[-1].body.statements) == 1:
        inner = chain[-1].body.statements[0]
        if not isinstance(inner, For) or inner.kind is not LoopKind.FUSED:
            break
        axes = {each.axis for each in chain}
        if any(form.names() & axes for form in (*inner.starts, *inner.stops)):
            break
        chain.append(inner)
    return chain


def is_uneven(chain: list[For]) -> bool:
    """Whether the work of an iteration depends on which one of *chain* it is.

    That is so in triangles. The border of a tile, whose size does not move, does not
    count, also where a tuner passes that size at run time.
    """
    moving = {loop.axis for loop in chain}
    for node in walk(chain[-1].body):
        if not isinstance(node, For):
            continue
        length = [stop - start for stop in node.stops for start in node.starts]
        if any(form.names() & moving for form in (*node.starts, *node.stops)):
            moving.add(node.axis)
            if all(form.names() & moving for form in length):
                return True
    return False
