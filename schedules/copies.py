"""Copies of nests under fresh names, and what a nest mentions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..ir.affine import name
from ..ir.nodes import (
    Alloc,
    Block,
    Expr,
    For,
    Gather,
    If,
    Load,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from ..ir.walk import map_exprs, rewrite_block, substitute, walk
from .checks import fresh


def labels(statement: Stmt) -> set[str]:
    """Return the labels of the original statements in *statement*."""
    return {
        node.instance.label
        for node in walk(statement)
        if isinstance(node, Store | Reduce | Scatter) and node.instance
    }


def tensor_names(statement: Stmt) -> Iterator[str]:
    """Yield the tensors that *statement* reads or writes."""
    for node in walk(statement):
        if isinstance(node, Load | Gather | Store | Reduce | Scatter):
            yield node.tensor


def copy_block(block: Block, suffix: str, taken: set[str]) -> Block:
    """Return *block* with its axes and local tensors under fresh names.

    Instances are kept: the copies stand for the same original statements.
    """
    nodes = tuple(walk(block))
    axes = {n.axis: fresh(n.axis + suffix, taken) for n in nodes if isinstance(n, For)}
    locals_ = {
        n.tensor.name: fresh(n.tensor.name + suffix, taken)
        for n in nodes
        if isinstance(n, Alloc)
    }

    def rule(statement: Stmt) -> Stmt:
        if isinstance(statement, For):
            return replace(statement, axis=axes[statement.axis])
        return statement

    renamed = rewrite_block(block, rule) if axes else block
    renamed = substitute(renamed, {old: name(new) for old, new in axes.items()})
    return rename_tensors(renamed, locals_) if locals_ else renamed


def rename_tensors(block: Block, names: Mapping[str, str]) -> Block:
    """Return *block* with other names for the tensors in *names*."""

    def leaf(expr: Expr) -> Expr:
        if isinstance(expr, Load | Gather) and expr.tensor in names:
            return replace(expr, tensor=names[expr.tensor])
        return expr

    def rule(statement: Stmt) -> Stmt:
        match statement:
            case Store() | Reduce() | Scatter():
                tensor = names.get(statement.tensor, statement.tensor)
                return replace(map_exprs(statement, leaf), tensor=tensor)
            case Alloc():
                tensor = names.get(statement.tensor.name, statement.tensor.name)
                return replace(statement, tensor=replace(statement.tensor, name=tensor))
            case For() | If():
                return statement

    return rewrite_block(block, rule)
