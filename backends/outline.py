"""Parallel loops: which loops share a counter, and what a body needs from outside."""

from __future__ import annotations

import ast

from ..ir.nodes import For, LoopKind


def free_names(body: str, number: str, known: set[str]) -> list[str]:
    """Return the variables that *body* reads and does not define."""
    names = list(ast.walk(ast.parse("def part():\n" + body)))
    loaded = [n.id for n in names if isinstance(n, ast.Name)]
    stored = {
        n.id for n in names if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return sorted(set(loaded) - stored - known - {number})


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
