"""`tdsl.assume(...)`: what holds for the arguments of every call."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ..ir.affine import Affine
from ..ir.nodes import Role
from .builtins import function_name
from .captured import root_name
from .conditions import ConditionParser
from .expressions import ExpressionParser
from .scope import Array, Scope
from .source import Source

_LOWER, _UPPER = (ast.Lt, ast.LtE), (ast.Gt, ast.GtE)


@dataclass(frozen=True, slots=True)
class AssumptionParser:
    """Translate the assumptions at the start of a kernel."""

    expressions: ExpressionParser
    conditions: ConditionParser

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.expressions.source

    @property
    def scope(self) -> Scope:
        """The names of the kernel."""
        return self.expressions.scope

    def is_assumption(self, node: ast.stmt) -> bool:
        """Whether *node* is a call of `tdsl.assume`."""
        match node:
            case ast.Expr(value=ast.Call() as call) if root_name(call.func):
                return function_name(self.expressions.callee(call)) == "assume"
        return False

    def assume(self, node: ast.stmt) -> None:
        """Record the assumption that *node* states."""
        assert isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        call = node.value
        text = self.source.text(call.func)
        if len(call.args) != 1 or call.keywords:
            raise self.source.type_error(
                call, f"`{text}` takes one condition: write `{text}(M >= N)`"
            )
        match call.args[0]:
            case ast.Call(args=[ast.Name() as tensor]) as fact if self._injective(fact):
                self._assume_injective(tensor)
            case ast.Compare() as fact if any(
                self._array(part) for part in (fact.left, *fact.comparators)
            ):
                self._assume_range(fact)
            case fact:
                self._assume_condition(fact)

    def _injective(self, node: ast.Call) -> bool:
        return function_name(self.expressions.callee(node)) == "injective"

    def _array(self, node: ast.expr) -> Array | None:
        found = self.scope.find(node.id) if isinstance(node, ast.Name) else None
        return found if isinstance(found, Array) else None

    def _assume_injective(self, node: ast.Name) -> None:
        name = self._integer_input(node)
        known = self.scope.assumptions
        both = tuple(dict.fromkeys((*known.injective, name)))
        self.scope.assumptions = replace(known, injective=both)

    def _integer_input(self, node: ast.expr) -> str:
        text, array = self.source.text(node), self._array(node)
        if array is None:
            raise self.source.type_error(
                node, f"`{text}` is no tensor: assume something of an integer input"
            )
        if array.tensor.dtype.kind != "int":
            raise self.source.type_error(
                node,
                f"`{text}` is {array.tensor.dtype}: only the elements of an integer "
                "tensor are subscripts",
            )
        if array.role is not Role.INPUT:
            raise self.source.type_error(
                node,
                f"`{text}` is written by the kernel, so nothing can be assumed of it: "
                "copy it from an input",
            )
        return array.tensor.name

    def _assume_range(self, node: ast.Compare) -> None:
        """Record `lower <= P < upper`."""
        parts, ops = [node.left, *node.comparators], list(node.ops)
        if all(isinstance(op, _UPPER) for op in ops):
            parts, ops = parts[::-1], ops[::-1]
        ascending = all(isinstance(op, _LOWER + _UPPER) for op in ops) and (
            len({isinstance(op, _LOWER) for op in ops}) == 1
        )
        if len(parts) != 3 or not ascending or self._array(parts[1]) is None:
            name = next(self.source.text(part) for part in parts if self._array(part))
            raise self.source.syntax_error(
                node, f"assume both ends of a range: `0 <= {name} < N`"
            )
        name = self._integer_input(parts[1])
        strict = [isinstance(op, ast.Lt | ast.Gt) for op in ops]
        lower = self._over_dims(parts[0]) + int(strict[0])
        upper = self._over_dims(parts[2]) + int(not strict[1])
        known = self.scope.assumptions
        ranges = (*known.in_range, (name, lower, upper))
        self.scope.assumptions = replace(known, in_range=ranges)

    def _over_dims(self, node: ast.expr) -> Affine:
        return self.expressions.affine(node, "an end of the range")

    def _assume_condition(self, node: ast.expr) -> None:
        cases = self.conditions.cases(node)
        if not all(isinstance(case.outcome, bool) for case in cases):
            raise self.source.type_error(
                node,
                f"`{self.source.text(node)}` is known only when the kernel runs: "
                "assume conditions on dims",
            )
        holds = [case.when for case in cases if case.outcome is True]
        if not holds:
            raise self.source.type_error(
                node, f"`{self.source.text(node)}` never holds: no call would be legal"
            )
        if len(holds) > 1:
            raise self.source.type_error(
                node,
                f"`{self.source.text(node)}` holds in {len(holds)} separate cases: "
                "assume comparisons joined by `and`, without `!=` and `or`",
            )
        self.scope.facts.forms.extend(holds[0])
        known = self.scope.assumptions
        both = tuple(dict.fromkeys((*known.conditions, *holds[0])))
        self.scope.assumptions = replace(known, conditions=both)
