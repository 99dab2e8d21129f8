"""Conditions of `if`: which part is decided by loop variables and dims alone.

A condition becomes *cases*: affine forms that are all >= 0, and what the condition is
there: true, false, or a bool that is known only when the kernel runs. The cases are
disjoint and cover every iteration, so each one can be a guard around a copy of a
branch. `and` and `or` evaluate their right side only in the cases that need it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import pairwise

from ..ir.affine import Affine
from ..ir.nodes import Const, Span
from . import operations, values
from .expressions import COMPARE, ExpressionParser
from .facts import Facts
from .values import Value

MOST_CASES = 32
Forms = tuple[Affine, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Where every form in *when* is >= 0, the condition is *outcome*."""

    when: Forms
    outcome: bool | Value


@dataclass(frozen=True, slots=True)
class ConditionParser:
    """Translate conditions in the current scope."""

    expressions: ExpressionParser

    @property
    def facts(self) -> Facts:
        """What is known at this statement."""
        return self.expressions.scope.facts

    def cases(self, node: ast.expr) -> list[Case]:
        """Return the possible cases of the condition *node*, without what is known."""
        found = [
            Case(self.facts.remaining(case.when), case.outcome)
            for case in self._cases(node)
        ]
        if len(found) > MOST_CASES:
            raise self.expressions.source.syntax_error(
                node,
                f"this condition has {len(found)} cases: nest simpler `if` statements",
            )
        return found

    def _cases(self, node: ast.expr) -> list[Case]:
        match node:
            case ast.BoolOp():
                result = self._cases(node.values[0])
                for operand in node.values[1:]:
                    result = self._joined(result, node, operand)
                return result
            case ast.UnaryOp(op=ast.Not()):
                return [self._negated(case, node) for case in self._cases(node.operand)]
            case ast.Compare() if all(type(op) in COMPARE for op in node.ops):
                return self._comparison(node)
            case _:
                return [self._plain(node)]

    def _plain(self, node: ast.expr) -> Case:
        value = self.expressions.value(node)
        expr = value.expr
        if isinstance(expr, Const) and expr.dtype.kind != "float":
            return Case((), bool(expr.value))
        return Case((), self.expressions.truth(node, "if"))

    def _negated(self, case: Case, node: ast.UnaryOp) -> Case:
        if isinstance(case.outcome, bool):
            return Case(case.when, not case.outcome)
        span = self.expressions.source.span(node)
        return Case(case.when, operations.invert(case.outcome, span))

    def _joined(
        self, left: list[Case], node: ast.BoolOp, operand: ast.expr
    ) -> list[Case]:
        """Return the cases of `left and operand`, or of `or`."""
        op = "or" if isinstance(node.op, ast.Or) else "and"
        if all(case.outcome is (op == "or") for case in left):
            return left
        span = self.expressions.source.span(node)
        return self._linked(op, left, self._cases(operand), span)

    # --- comparisons ----------------------------------------------------------

    def _comparison(self, node: ast.Compare) -> list[Case]:
        """Return the cases of a chain, which is an `and` of its links."""
        parts = (node.left, *node.comparators)
        operands = [self.expressions.value(part) for part in parts]
        span = self.expressions.source.span(node)
        result = [Case((), True)]
        for op, (left, right) in zip(node.ops, pairwise(operands), strict=True):
            with self.expressions.place(node):
                link = self._link(COMPARE[type(op)], left, right, span)
            result = self._linked("and", result, link, span)
        return result

    def _link(self, op: str, left: Value, right: Value, span: Span) -> list[Case]:
        x, y = values.form_of(left), values.form_of(right)
        if left.weak and right.weak and x is not None and y is not None:
            cases = _affine(op, x, y)
            return [case for case in cases if self.facts.possible(*case.when)]
        value = operations.comparison(op, left, right, span)
        known = operations.known_comparison(op, left, right)
        return [Case((), value if known is None else known)]

    def _linked(
        self, op: str, left: list[Case], right: list[Case], span: Span
    ) -> list[Case]:
        """Return the possible cases of `left op right`."""
        found: list[Case] = []
        for first in left:
            if first.outcome is (op == "or"):
                found.append(first)
                continue
            for second in right:
                when = (*first.when, *second.when)
                if self.facts.possible(*when):
                    outcome = _logic(op, first.outcome, second.outcome, span)
                    found.append(Case(when, outcome))
        return found


def _affine(op: str, x: Affine, y: Affine) -> list[Case]:
    gap = x - y
    below, above = (-gap - 1,), (gap - 1,)
    match op:
        case "lt":
            return [Case(below, True), Case((gap,), False)]
        case "le":
            return [Case((-gap,), True), Case(above, False)]
        case "gt":
            return [Case(above, True), Case((-gap,), False)]
        case "ge":
            return [Case((gap,), True), Case(below, False)]
        case _:
            same = op == "eq"
            return [
                Case((gap, -gap), same),
                Case(below, not same),
                Case(above, not same),
            ]


def _logic(
    op: str, left: bool | Value, right: bool | Value, span: Span
) -> bool | Value:
    """Return `and` or `or`, where *left* alone does not decide."""
    if isinstance(left, bool):
        return left if left is (op == "or") else right
    if isinstance(right, bool):
        return right if right is (op == "or") else left
    return operations.logic(op, left, right, span)
