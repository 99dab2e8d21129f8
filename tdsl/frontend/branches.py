"""What the branches of an `if` do to names and to the flow, from the syntax alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def surely_assigned(nodes: Iterable[ast.stmt]) -> frozenset[str]:
    """Return the variables that *nodes* assign however their conditions turn out."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Continue | ast.Break):
            break
        if isinstance(node, ast.If):
            found |= surely_assigned(node.body) & surely_assigned(node.orelse)
        found |= set(_targets(node))
    return frozenset(found)


def _targets(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _names(target)
        case ast.AnnAssign(target=target, value=ast.expr()):
            yield from _names(target)


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple):
        for each in target.elts:
            yield from _names(each)


def leaves_iteration(node: ast.stmt) -> bool:
    """Whether *node* may end an iteration of the loop around it."""
    if isinstance(node, ast.If):
        return any(map(leaves_iteration, (*node.body, *node.orelse)))
    return isinstance(node, ast.Continue | ast.Break)


def leaves_loop(nodes: Iterable[ast.stmt]) -> bool:
    """Whether one of *nodes* may end the loop around it."""
    return any(
        isinstance(node, ast.Break)
        or (isinstance(node, ast.If) and leaves_loop((*node.body, *node.orelse)))
        for node in nodes
    )


def assigns_inside(name: str, node: ast.stmt) -> bool:
    """Whether *node* is a loop or an `if` that assigns *name* inside."""
    return isinstance(node, ast.For | ast.If) and any(
        isinstance(each, ast.Name)
        and each.id == name
        and isinstance(each.ctx, ast.Store)
        for each in ast.walk(node)
    )
