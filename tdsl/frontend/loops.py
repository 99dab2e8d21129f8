"""Loop headers: `for i in range(...)` and `for i, j in tdsl.grid(...)`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..ir.affine import Affine
from ..ir.affine import constant as constant_form
from ..ir.nodes import Span
from .builtins import function_name
from .expressions import ExpressionParser
from .scope import Axis
from .source import Source

_ADVICE = "loop over `range(...)` or `tdsl.grid(...)`"
Forms = tuple[Affine, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """One loop: its variable as written, and its bounds."""

    name: str
    starts: Forms
    stops: Forms
    step: int
    span: Span

    def bounds(self, axis: Affine) -> Forms:
        """Return forms that are >= 0 in each iteration."""
        return (
            *(axis - start for start in self.starts),
            *(stop - axis - 1 for stop in self.stops),
        )


@dataclass(frozen=True, slots=True)
class LoopParser:
    """Translate loop headers in the current scope."""

    expressions: ExpressionParser

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.expressions.source

    def headers(self, node: ast.For) -> list[Header]:
        """Return the loops that *node* stands for, outermost first."""
        if node.orelse:
            raise self.source.syntax_error(
                node.orelse[0],
                "`else` of a loop is not in the kernel language: "
                "write the statements after the loop",
            )
        iterator = node.iter
        if not isinstance(iterator, ast.Call):
            text = self.source.text(iterator)
            raise self.source.syntax_error(
                iterator, f"a kernel cannot loop over `{text}`: {_ADVICE}"
            )
        name = function_name(self.expressions.callee(iterator))
        if name not in ("range", "grid"):
            text = self.source.text(iterator.func)
            raise self.source.syntax_error(
                iterator, f"a kernel cannot loop over `{text}(...)`: {_ADVICE}"
            )
        self._check_arguments(iterator)
        if name == "grid":
            return self._grid(node, iterator)
        return [self._range(node, iterator)]

    def _check_arguments(self, iterator: ast.Call) -> None:
        text = self.source.text(iterator.func)
        if iterator.keywords:
            raise self.source.syntax_error(
                iterator.keywords[0], f"`{text}` takes no keyword arguments"
            )
        for argument in iterator.args:
            if isinstance(argument, ast.Starred):
                raise self.source.syntax_error(
                    argument, "`*` is not in the kernel language: write each extent"
                )

    def _span(self, node: ast.For) -> Span:
        first, last = self.source.span(node), self.source.span(node.iter)
        return Span(
            first.file, first.line, first.column, last.end_line, last.end_column
        )

    def _grid(self, node: ast.For, iterator: ast.Call) -> list[Header]:
        target = node.target
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        count, given = len(names), len(iterator.args)
        if count != given:
            raise self.source.type_error(
                node.target,
                f"{count} loop variable{'s' * (count != 1)} for {given} "
                f"extent{'s' * (given != 1)} of `{self.source.text(iterator)}`",
            )
        stops = [self._bound(each, "min") for each in iterator.args]
        zero = (constant_form(0),)
        span = self._span(node)
        found = [self._name(each) for each in names]
        for index, name in enumerate(found):
            if name in found[:index]:
                raise self.source.type_error(
                    names[index],
                    f"two loop variables are called `{name}`: give each a name of its "
                    "own",
                )
        return [
            Header(name, zero, stop, 1, span)
            for name, stop in zip(found, stops, strict=True)
        ]

    def _range(self, node: ast.For, iterator: ast.Call) -> Header:
        arguments = iterator.args
        if not 1 <= len(arguments) <= 3:
            raise self.source.type_error(
                iterator, f"`range` takes 1 to 3 arguments, not {len(arguments)}"
            )
        if isinstance(node.target, ast.Tuple):
            raise self.source.type_error(
                node.target,
                "`range` gives one loop variable: for several loops write "
                f"`for {self.source.text(node.target).strip('()')} in tdsl.grid(...)`",
            )
        starts: Forms = (constant_form(0),)
        if len(arguments) > 1:
            starts = self._bound(arguments[0], "max")
        stops = self._bound(arguments[min(1, len(arguments) - 1)], "min")
        step = self._step(arguments[2]) if len(arguments) == 3 else 1
        return Header(self._name(node.target), starts, stops, step, self._span(node))

    def _bound(self, node: ast.expr, function: str) -> Forms:
        """Return a bound; a start may be `max(a, b)` and a stop `min(a, b)`."""
        if isinstance(node, ast.Call) and not node.keywords:
            callee = self.expressions.callee(node)
            if function_name(callee) == function and len(node.args) > 1:
                found = [self.expressions.affine(a, "a loop bound") for a in node.args]
                return tuple(dict.fromkeys(found))
        return (self.expressions.affine(node, "a loop bound"),)

    def _step(self, node: ast.expr) -> int:
        form = self.expressions.affine(node, "a step")
        if not form.is_constant:
            raise self.source.type_error(
                node,
                f"the step must be a constant, not `{self.source.text(node)}`: write "
                "a number",
            )
        if form.constant == 0:
            raise self.source.type_error(
                node, "the step is 0: write how far an iteration is from the next"
            )
        if form.constant < 0:
            raise self.source.type_error(
                node,
                f"the step must be at least 1, not {form.constant}: run the loop "
                "forwards and compute the index, as in `A[N - 1 - i]`",
            )
        return form.constant

    def _name(self, target: ast.expr) -> str:
        if not isinstance(target, ast.Name):
            raise self.source.syntax_error(
                target, "a loop variable is a plain name: write `for i in range(...)`"
            )
        name = target.id
        binding = self.expressions.scope.find(name)
        if isinstance(binding, Axis):
            raise self.source.type_error(
                target,
                f"`{name}` is the variable of the loop in line {binding.line} "
                "around this one: choose another name",
            )
        if binding is not None:
            raise self.source.type_error(
                target, f"`{name}` is in use already: choose another loop variable"
            )
        return name
