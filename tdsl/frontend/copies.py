"""Copies of a called kernel's statements, with names that are free in the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from ..ir.affine import Affine
from ..ir.affine import name as name_form
from ..ir.nodes import (
    Alloc,
    Block,
    Expr,
    For,
    Gather,
    If,
    Index,
    Load,
    Reduce,
    Scatter,
    Span,
    Stmt,
    Store,
    Tensor,
)
from ..ir.walk import map_exprs, rewrite_expr
from .emission import Emitter
from .scope import Scope


@dataclass(slots=True)
class Copier:
    """Copy statements, with places that say where they are called from.

    *forms* gives the dims of the called kernel and, while copying, its axes; *tensors*
    the names of its tensors; *numbers* the values of its scalar parameters.
    """

    scope: Scope
    emitter: Emitter
    forms: dict[str, Affine]
    tensors: dict[str, str]
    numbers: Mapping[str, Expr]
    call: Span

    def block(self, block: Block, target: list[Stmt]) -> None:
        """Append copies of the statements in *block*."""
        for statement in block.statements:
            self._statement(statement, target)

    def _statement(self, statement: Stmt, target: list[Stmt]) -> None:
        span = self._span(statement.span)
        assert span is not None
        match statement:
            case For():
                target.append(self._loop(statement))
            case If():
                inner: list[Stmt] = []
                self.block(statement.body, inner)
                conditions = self._forms(statement.conditions)
                target.append(If(conditions, Block(tuple(inner)), span=span))
            case Alloc():
                tensor = statement.tensor
                name = self.scope.unique(tensor.name)
                self.tensors[tensor.name] = name
                local = Tensor(name, tensor.dtype, self._forms(tensor.shape))
                target.append(Alloc(local, statement.memory, span=span))
            case Scatter():
                target.append(self._scatter(statement, span))
            case Store():
                name, index, value = self._write(statement)
                self.emitter.store(name, index, value, target, span)
            case Reduce():
                name, index, value = self._write(statement)
                self.emitter.reduce(statement.op, name, index, value, target, span)
            case _:
                assert_never(statement)

    def _loop(self, loop: For) -> For:
        starts, stops = self._forms(loop.starts), self._forms(loop.stops)
        axis = self.scope.unique(loop.axis)
        self.forms[loop.axis] = name_form(axis)
        inner: list[Stmt] = []
        self.scope.axes.append(axis)
        self.block(loop.body, inner)
        self.scope.axes.pop()
        body, span = Block(tuple(inner)), self._span(loop.span)
        return For(axis, starts, stops, loop.step, loop.kind, body, span=span)

    def _scatter(self, statement: Scatter, span: Span) -> Scatter:
        copy = map_exprs(statement, self._expr)
        assert isinstance(copy, Scatter)
        name, instance = self.tensors[copy.tensor], self.emitter.instance()
        return replace(copy, tensor=name, instance=instance, span=span)

    def _write(self, statement: Store | Reduce) -> tuple[str, tuple[Affine, ...], Expr]:
        value = rewrite_expr(statement.value, self._expr)
        return self.tensors[statement.tensor], self._forms(statement.index), value

    def _expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.tensor in self.numbers:
            return self.numbers[expr.tensor]
        expr = replace(expr, span=self._span(expr.span))
        match expr:
            case Load():
                index = self._forms(expr.index)
                return replace(expr, tensor=self.tensors[expr.tensor], index=index)
            case Gather():
                return replace(expr, tensor=self.tensors[expr.tensor])
            case Index():
                return replace(expr, value=expr.value.substitute(self.forms))
            case _:
                return expr

    def _forms(self, forms: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple(form.substitute(self.forms) for form in forms)

    def _span(self, span: Span | None) -> Span | None:
        return None if span is None else _called(span, self.call)


def _called(span: Span, call: Span) -> Span:
    """Return *span*, reached from *call*, which names what it calls."""
    if span.caller is not None:
        return replace(span, caller=_called(span.caller, call))
    place = replace(call, callee="")
    return replace(span, caller=place, callee=call.callee)
