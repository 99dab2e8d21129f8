"""One traversal and one rewrite for the whole IR, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from .affine import Affine
from .nodes import (
    Alloc,
    Binary,
    Block,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Function,
    Gather,
    If,
    Index,
    Instance,
    Load,
    Reduce,
    Scatter,
    Select,
    Stmt,
    Store,
    Unary,
    Write,
)

Node = Function | Block | Stmt | Expr
_AROUND = (For, If)  # faster to ask for than their union


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below *node*, in program order."""
    match node:
        case Load() | Const() | Index() | Alloc():
            return ()
        case Function() | For() | If():
            return (node.body,)
        case Block():
            return node.statements
        case Store() | Reduce():
            return (node.value,)
        case Gather():
            return node.index
        case Scatter():
            return (*node.index, node.value, *_present(node.condition))
        case Unary() | Call() | Cast():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Select():
            return (node.condition, node.then, node.otherwise)
        case _:
            assert_never(node)


def _present(expr: Expr | None) -> tuple[Expr, ...]:
    return () if expr is None else (expr,)


def walk(node: Node) -> Iterator[Node]:
    """Yield *node* and every node below it, parents first, in program order."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        if below := children(found):
            waiting += below[::-1]


def walk_nest(
    block: Block, outer: tuple[For | If, ...] = ()
) -> Iterator[tuple[Write | Alloc, tuple[For | If, ...]]]:
    """Yield every leaf statement with the loops and guards around it."""
    for statement in block.statements:
        if isinstance(statement, _AROUND):
            yield from walk_nest(statement.body, (*outer, statement))
        else:
            yield statement, outer


def rewrite_expr(expr: Expr, rule: Callable[[Expr], Expr]) -> Expr:
    """Apply *rule* to every expression bottom-up; unchanged means the same object."""
    match expr:
        case Const() | Index() | Load():
            return rule(expr)
        case Gather():
            index = rewrite_exprs(expr.index, rule)
            same = index is expr.index
            return rule(expr if same else replace(expr, index=index))
        case Unary() | Call() | Cast():
            operand = rewrite_expr(expr.operand, rule)
            same = operand is expr.operand
            return rule(expr if same else replace(expr, operand=operand))
        case Binary():
            left, right = rewrite_expr(expr.left, rule), rewrite_expr(expr.right, rule)
            same = left is expr.left and right is expr.right
            return rule(expr if same else replace(expr, left=left, right=right))
        case Select():
            parts = (expr.condition, expr.then, expr.otherwise)
            new = tuple(rewrite_expr(part, rule) for part in parts)
            if all(a is b for a, b in zip(parts, new, strict=True)):
                return rule(expr)
            return rule(replace(expr, condition=new[0], then=new[1], otherwise=new[2]))
        case _:
            assert_never(expr)


def rewrite_exprs(
    exprs: tuple[Expr, ...], rule: Callable[[Expr], Expr]
) -> tuple[Expr, ...]:
    """Apply *rule* inside each expression; unchanged means the same tuple."""
    new = tuple(rewrite_expr(expr, rule) for expr in exprs)
    return exprs if all(a is b for a, b in zip(exprs, new, strict=True)) else new


def map_exprs(statement: Write, rule: Callable[[Expr], Expr]) -> Write:
    """Apply *rule* to every expression of *statement* bottom-up."""
    value = rewrite_expr(statement.value, rule)
    if not isinstance(statement, Scatter):
        same = value is statement.value
        return statement if same else replace(statement, value=value)
    index = rewrite_exprs(statement.index, rule)
    old = statement.condition
    condition = None if old is None else rewrite_expr(old, rule)
    if index is statement.index and value is statement.value and condition is old:
        return statement
    return replace(statement, index=index, value=value, condition=condition)


def rewrite_block(block: Block, rule: Callable[[Stmt], Stmt | Block]) -> Block:
    """Apply *rule* to every statement bottom-up; unchanged means the same object.

    A rule may return a `Block`, which is spliced in (an empty one deletes).
    """
    result: list[Stmt] = []
    changed = False
    for statement in block.statements:
        inner = statement
        if isinstance(statement, _AROUND):
            body = rewrite_block(statement.body, rule)
            if body is not statement.body:
                inner = replace(statement, body=body)
        new = rule(inner)
        changed = changed or new is not statement
        result.extend(new.statements if isinstance(new, Block) else (new,))
    return Block(tuple(result)) if changed else block


def rewrite(function: Function, rule: Callable[[Stmt], Stmt | Block]) -> Function:
    """Apply *rule* to every statement of *function* bottom-up."""
    body = rewrite_block(function.body, rule)
    return function if body is function.body else replace(function, body=body)


def map_forms(statement: Stmt, change: Callable[[Affine], Affine]) -> Stmt:
    """Apply *change* to each affine form of *statement* and, for loops, its body."""

    def forms(values: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple(change(value) for value in values)

    def instance(value: Instance | None) -> Instance | None:
        return value and Instance(value.label, forms(value.coordinates))

    def leaf(expr: Expr) -> Expr:
        if isinstance(expr, Load):
            return replace(expr, index=forms(expr.index))
        return (
            replace(expr, value=change(expr.value)) if isinstance(expr, Index) else expr
        )

    match statement:
        case For():
            return replace(
                statement,
                starts=forms(statement.starts),
                stops=forms(statement.stops),
                body=map_block_forms(statement.body, change),
            )
        case If():
            return replace(
                statement,
                conditions=forms(statement.conditions),
                body=map_block_forms(statement.body, change),
            )
        case Store() | Reduce():
            return replace(
                statement,
                index=forms(statement.index),
                value=rewrite_expr(statement.value, leaf),
                instance=instance(statement.instance),
            )
        case Scatter():
            changed = map_exprs(statement, leaf)
            return replace(changed, instance=instance(statement.instance))
        case Alloc():
            return replace(
                statement,
                tensor=replace(statement.tensor, shape=forms(statement.tensor.shape)),
            )
        case _:
            assert_never(statement)


def map_block_forms(block: Block, change: Callable[[Affine], Affine]) -> Block:
    """Apply *change* to each affine form of a block."""
    return Block(tuple(map_forms(statement, change) for statement in block.statements))


def substitute(block: Block, values: Mapping[str, Affine]) -> Block:
    """Replace axes and dims in every affine form of *block*.

    Loop headers keep their axis names: rename a loop where it is built.
    """
    return map_block_forms(block, lambda form: form.substitute(values))


def loops(function: Function) -> dict[str, For]:
    """Return the loops of *function* by axis name, in program order."""
    found = _statements(function.body, [])
    return {each.axis: each for each in found if isinstance(each, For)}


def allocations(function: Function) -> dict[str, Alloc]:
    """Return the local tensors of *function* by name, in program order."""
    found = _statements(function.body, [])
    return {each.tensor.name: each for each in found if isinstance(each, Alloc)}


def _statements(block: Block, found: list[Stmt]) -> list[Stmt]:
    """Add all statements in *block* to *found*, those around others first."""
    for statement in block.statements:
        found.append(statement)
        if isinstance(statement, _AROUND):
            _statements(statement.body, found)
    return found


def loads(node: Node) -> Iterator[Load]:
    """Yield every load below *node*, in evaluation order."""
    return (n for n in walk(node) if isinstance(n, Load))


def reads(node: Node) -> Iterator[Load | Gather]:
    """Yield every load and gather below *node*: a gather before its subscripts."""
    return (n for n in walk(node) if isinstance(n, Load | Gather))


def gathers(node: Node) -> Iterator[Gather]:
    """Yield every gather below *node*, the outer ones first."""
    return (n for n in walk(node) if isinstance(n, Gather))


def scatters(node: Node) -> Iterator[Scatter]:
    """Yield every scatter below *node*, in program order."""
    return (n for n in walk(node) if isinstance(n, Scatter))


def chosen_accesses(node: Node) -> Iterator[Gather | Scatter]:
    """Yield every gather and scatter below *node*."""
    return (n for n in walk(node) if isinstance(n, Gather | Scatter))


def chosen_by_data(index: tuple[Expr, ...]) -> tuple[int, ...]:
    """Return the positions of the subscripts that are not affine."""
    return tuple(n for n, part in enumerate(index) if not isinstance(part, Index))


def read_forms(node: Node) -> Iterator[Affine]:
    """Yield the affine forms in the subscripts of reads, and the numbers, in *node*."""
    for each in walk(node):
        if isinstance(each, Load):
            yield from each.index
        elif isinstance(each, Index):
            yield each.value
