"""Calls of other kernels: their loops, written out in the place of the call."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ..ir.affine import Affine
from ..ir.nodes import Expr, Function, Param, Role, Stmt
from ..ir.printer import print_tensor
from .advice import kernel_function
from .assignments import AssignmentParser
from .captured import root_name
from .copies import Copier
from .emission import Emitter
from .expressions import ExpressionParser
from .scope import Array, Scope
from .source import Source
from .unification import Unifier
from .values import Mismatch, can_store, convert


@dataclass(frozen=True, slots=True)
class CallParser:
    """Translate calls of kernels in the current scope."""

    expressions: ExpressionParser
    assignments: AssignmentParser

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.expressions.source

    @property
    def scope(self) -> Scope:
        """The names of the kernel."""
        return self.expressions.scope

    @property
    def emitter(self) -> Emitter:
        """What numbers the statements."""
        return self.assignments.emitter

    def called(self, node: ast.AST) -> Function | None:
        """Return the kernel that *node* calls, if it does."""
        if not isinstance(node, ast.Call) or root_name(node.func) is None:
            return None
        return kernel_function(self.expressions.callee(node))

    def call(
        self,
        function: Function,
        node: ast.Call,
        targets: list[ast.expr],
        block: list[Stmt],
    ) -> None:
        """Append the body of *function*; its results get the names *targets*."""
        results = [param for param in function.params if param.returned]
        self._check_targets(function, node, targets, len(results))
        given = self._arguments(function, node)
        sizes = self._sizes(function, node, given)
        tensors = {
            param.tensor.name: self._array(param, argument).tensor.name
            for param, argument in given.items()
            if param.tensor.shape
        }
        self._check_aliases(node, given)
        changing = {tensors[p.tensor.name] for p in given if p.role is not Role.INPUT}
        numbers = {
            param.tensor.name: self._number(param, argument, changing, block)
            for param, argument in given.items()
            if not param.tensor.shape
        }
        for param, target in zip(results, targets, strict=True):
            assert isinstance(target, ast.Name)
            shape = tuple(size.substitute(sizes) for size in param.tensor.shape)
            dtype = param.tensor.dtype
            name = self.assignments.result(target, shape, dtype, block)
            tensors[param.tensor.name] = name
        place = replace(self.source.span(node), callee=function.name)
        copier = Copier(self.scope, self.emitter, sizes, tensors, numbers, place)
        copier.block(function.body, block)
        for param, argument in given.items():
            if param.role is not Role.INPUT:
                array = self._array(param, argument)
                array.initialised = array.written = True

    def _check_targets(
        self, function: Function, node: ast.Call, targets: list[ast.expr], results: int
    ) -> None:
        name = function.name
        if not results and targets:
            raise self.source.type_error(
                node, f"`{name}` returns nothing: call it in a statement of its own"
            )
        if results != len(targets):
            names = ", ".join("UVWXYZ"[:results]) if results <= 6 else "..."
            raise self.source.type_error(
                node,
                f"`{name}` returns {results} tensor{'s' * (results != 1)}: write "
                f"`{names} = {self.source.text(node)}`",
            )
        for target in targets:
            if not isinstance(target, ast.Name):
                raise self.source.syntax_error(
                    target,
                    f"`{name}` returns a tensor: give it a name, `T = {name}(...)`",
                )

    # --- arguments ------------------------------------------------------------

    def _arguments(self, function: Function, node: ast.Call) -> dict[Param, ast.expr]:
        params = {p.tensor.name: p for p in function.params if not p.returned}
        dims = {dim.name for dim in function.dims}
        names = ", ".join(params)
        found = dict(zip(params.values(), node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg in dims and keyword.arg not in params:
                continue
            if keyword.arg not in params or params[keyword.arg] in found:
                raise self.source.type_error(
                    keyword, f"`{function.name}` takes ({names})"
                )
            found[params[keyword.arg]] = keyword.value
        if len(found) != len(params) or len(node.args) > len(params):
            given = len(found) + max(0, len(node.args) - len(params))
            raise self.source.type_error(
                node,
                f"`{function.name}` takes {len(params)} "
                f"argument{'s' * (len(params) != 1)} ({names}), not {given}",
            )
        return found

    def _array(self, param: Param, node: ast.expr) -> Array:
        """Return the tensor that *node* names, which fits *param*."""
        tensor = param.tensor
        binding = self.scope.find(node.id) if isinstance(node, ast.Name) else None
        text = self.source.text(node)
        if not isinstance(binding, Array):
            raise self.source.type_error(
                node,
                f"`{tensor.name}` is a tensor, {print_tensor(tensor)}: pass the name "
                f"of one, not `{text}`",
            )
        own = binding.tensor
        if (own.dtype, len(own.shape)) != (tensor.dtype, len(tensor.shape)):
            raise self.source.type_error(
                node,
                f"`{tensor.name}` is {print_tensor(tensor)}, and `{text}` is "
                f"{print_tensor(own)}",
            )
        if param.role is not Role.OUTPUT and not binding.initialised:
            raise self.source.type_error(
                node, f"`{text}` is read here before anything is written to it"
            )
        if param.role is not Role.INPUT and binding.role is Role.INPUT:
            raise self.source.type_error(node, self.assignments.is_input(binding))
        return binding

    def _number(
        self, param: Param, node: ast.expr, changing: set[str], block: list[Stmt]
    ) -> Expr:
        """Return the value of a scalar argument, before the call is *changing* any."""
        dtype, name = param.tensor.dtype, param.tensor.name
        value = self.expressions.value(node)
        if not can_store(value, dtype):
            text = self.source.text(node)
            raise self.source.type_error(
                node,
                f"`{name}` is {dtype}, and `{text}` is {value.dtype}: write "
                f"`{dtype}({text})`",
            )
        try:
            expr = convert(value, dtype)
        except Mismatch as mismatch:
            raise self.source.type_error(node, str(mismatch)) from None
        return self.emitter.kept(expr, self.scope.derived(name), block, changing)

    def _check_aliases(self, node: ast.Call, given: dict[Param, ast.expr]) -> None:
        names = [
            (param, argument.id)
            for param, argument in given.items()
            if isinstance(argument, ast.Name) and param.tensor.shape
        ]
        for param, name in names:
            others = [other for other, each in names if each == name]
            if param.role is not Role.INPUT and len(others) > 1:
                both = " and ".join(f"`{each.tensor.name}`" for each in others)
                raise self.source.type_error(
                    node,
                    f"`{name}` is passed as {both}, and `{param.tensor.name}` is "
                    "written: pass another tensor",
                )

    # --- sizes ----------------------------------------------------------------

    def _sizes(
        self, function: Function, node: ast.Call, given: dict[Param, ast.expr]
    ) -> dict[str, Affine]:
        """Return the dims of *function* as forms over the dims here."""
        shapes = {
            param.tensor.name: self._array(param, argument).tensor.shape
            for param, argument in given.items()
            if param.tensor.shape
        }
        known = {
            keyword.arg: self.expressions.affine(keyword.value, "a size")
            for keyword in node.keywords
            if keyword.arg in {dim.name for dim in function.dims}
        }
        unifier = Unifier(function, shapes, self.scope.facts)
        sizes = unifier.solve(known)
        problem = unifier.problem(sizes) or self._assumed(function, given, sizes)
        if problem:
            raise self.source.type_error(node, problem)
        return sizes

    def _assumed(
        self, function: Function, given: dict[Param, ast.expr], sizes: dict[str, Affine]
    ) -> str | None:
        """Return which promise about an index tensor is missing here."""
        names = {
            param.tensor.name: self._array(param, argument).tensor.name
            for param, argument in given.items()
            if param.tensor.shape
        }
        wanted, known = function.assumptions, self.scope.assumptions
        for name, lower, upper in wanted.in_range:
            low, high = lower.substitute(sizes), upper.substitute(sizes)
            if not any(
                tensor == names[name]
                and self.scope.facts.implies(least - low)
                and self.scope.facts.implies(high - most)
                for tensor, least, most in known.in_range
            ):
                fact = f"{low} <= {names[name]} < {high}"
                return _missing(function, fact)
        for name in wanted.injective:
            if names[name] not in known.injective:
                return _missing(function, f"tdsl.injective({names[name]})")
        return None


def _missing(function: Function, fact: str) -> str:
    return (
        f"`{function.name}` assumes `{fact}`, which is not known here: start with "
        f"`tdsl.assume({fact})`"
    )
