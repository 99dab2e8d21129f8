"""How deep expressions may be nested, so that no later pass runs out of stack."""

from __future__ import annotations

from ..ir.nodes import Alloc, Block, For, Function, If, Span
from ..ir.walk import Node, children

MOST_LEVELS = 120
"""Python itself takes 200 nested parentheses, and generated code has a few more."""

TOO_DEEP = (
    f"this is nested more than {MOST_LEVELS} levels deep: give parts of it to variables"
)


def too_deep(function: Function) -> Span | None:
    """Return the place of a statement of *function* that is nested too deep."""
    waiting: list[tuple[Node, Span | None, int]] = [(function.body, function.span, 0)]
    while waiting:
        node, place, level = waiting.pop()
        if level > MOST_LEVELS:
            return place
        place = getattr(node, "span", None) or place if level == 0 else place
        inside = 0 if isinstance(node, Block | For | If | Alloc) else level + 1
        waiting += [(child, place, inside) for child in children(node)]
    return None
