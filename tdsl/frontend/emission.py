"""Append statements to the block that is being built, with labels and spans."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, replace

from ..ir.affine import Affine
from ..ir.affine import constant as constant_form
from ..ir.affine import name as name_form
from ..ir.nodes import (
    Alloc,
    Block,
    Const,
    Expr,
    For,
    If,
    Index,
    Instance,
    Load,
    LoopKind,
    Memory,
    Reduce,
    ReduceOp,
    Scatter,
    Span,
    Stmt,
    Store,
    Tensor,
)
from ..ir.walk import rewrite_block
from .loops import Header
from .scope import Scope
from .subscripts import Subscripts, write_element


@dataclass(slots=True)
class Emitter:
    """Number the leaf statements in the order in which they are appended."""

    scope: Scope
    labels: int = 0

    def fill(self, tensor: Tensor, value: Expr, block: list[Stmt], span: Span) -> None:
        """Append the nest that sets each element of *tensor* to *value*."""
        suffixes = ["_" + letter for letter in "ijklmnopqr"[: len(tensor.shape)]]
        axes = [self.scope.derived(tensor.name, suffix) for suffix in suffixes]
        self.scope.axes.extend(axes)
        inner: list[Stmt] = []
        index = tuple(name_form(axis) for axis in axes)
        self.store(tensor.name, index, value, inner, span)
        del self.scope.axes[-len(axes) :]
        zero = (constant_form(0),)
        for axis, size in zip(reversed(axes), reversed(tensor.shape), strict=True):
            inner = [loop(axis, Header(axis, zero, (size,), 1, span), inner)]
        block.extend(inner)

    def instance(self) -> Instance:
        """Return a new label at the current iteration."""
        label = f"S{self.labels}"
        self.labels += 1
        return Instance(label, tuple(name_form(axis) for axis in self.scope.axes))

    def store(
        self,
        tensor: str,
        index: Subscripts,
        value: Expr,
        block: list[Stmt],
        span: Span,
    ) -> None:
        """Append `tensor[index] = value`."""
        instance = self.instance()
        block.append(write_element(tensor, index, None, value, instance, span))

    def kept(
        self, value: Expr, name: str, block: list[Stmt], changing: Collection[str] = ()
    ) -> Expr:
        """Return *value* if it is simple, else a load of the new variable *name*.

        An element of a tensor in *changing* is not simple: it may be another one later.
        """
        if isinstance(value, Const | Index) or (
            isinstance(value, Load) and value.tensor not in changing
        ):
            return value
        span = value.span
        assert span is not None
        block.append(Alloc(Tensor(name, value.dtype, ()), Memory.REGISTER, span=span))
        self.store(name, (), value, block, span)
        return Load(name, (), value.dtype, span=span)

    def reduce(
        self,
        op: ReduceOp,
        tensor: str,
        index: Subscripts,
        value: Expr,
        block: list[Stmt],
        span: Span,
    ) -> None:
        """Append `tensor[index] = op(tensor[index], value)`."""
        instance = self.instance()
        block.append(write_element(tensor, index, op, value, instance, span))


def condition(
    forms: tuple[Affine, ...], body: list[Stmt], block: list[Stmt], span: Span
) -> None:
    """Append *body* where every form is >= 0; conditions right inside join them."""
    if not forms:
        block.extend(body)
    elif len(body) == 1 and isinstance(body[0], If):
        both = tuple(dict.fromkeys((*forms, *body[0].conditions)))
        block.append(If(both, body[0].body, span=span))
    elif body:
        block.append(If(forms, Block(tuple(body)), span=span))


def numbered(body: Block) -> Block:
    """Return *body* with its labels numbered in program order."""
    count = itertools.count()

    def rule(statement: Stmt) -> Stmt:
        if (
            not isinstance(statement, Store | Reduce | Scatter)
            or statement.instance is None
        ):
            return statement
        label = f"S{next(count)}"
        if statement.instance.label == label:
            return statement
        return replace(statement, instance=replace(statement.instance, label=label))

    return rewrite_block(body, rule)


def loop(axis: str, header: Header, body: list[Stmt]) -> For:
    """Return the loop with *header*, whose variable the IR calls *axis*."""
    return For(
        axis,
        header.starts,
        header.stops,
        header.step,
        LoopKind.SERIAL,
        Block(tuple(body)),
        span=header.span,
    )
