"""Parallel loops: which loops share a counter, and what a body needs from outside."""

from __future__ import annotations

import re
from keyword import iskeyword

from ..ir.nodes import For, LoopKind
from ..ir.walk import walk

_COMMENT = re.compile(r"#.*")
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_DEFINED = re.compile(r"^ *(?:for )?(\w+(?:, \w+)*) (?:=|in) ", re.MULTILINE)


def free_names(body: str, number: str, known: set[str]) -> list[str]:
    """Return the variables that *body* reads and does not define.

    Generated lines are of a few forms, without texts in quotes: they need no parser,
    which would take as long as writing them.
    """
    text = _COMMENT.sub("", body)
    defined = {name for names in _DEFINED.findall(text) for name in names.split(", ")}
    found = {*_NAME.findall(text)} - defined - known - {number}
    return sorted(name for name in found if not iskeyword(name))


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
