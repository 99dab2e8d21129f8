"""Expressions of a kernel: Python's syntax tree to typed IR."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import KernelSyntaxError
from ..ir.affine import Affine
from ..ir.affine import name as name_form
from ..ir.dtypes import DType
from ..ir.nodes import Const, Index, Load
from ..ir.printer import print_tensor
from . import operations, values
from .advice import (
    ATTRIBUTES,
    REFUSED_EXPRESSIONS,
    REFUSED_OPERATORS,
    not_affine,
    not_callable,
)
from .builtins import (
    BINARY_FUNCTIONS,
    STATEMENT_FUNCTIONS,
    TENSOR_FUNCTIONS,
    function_name,
)
from .captured import root_name
from .elements import ElementParser
from .inline import InlineFunction
from .inlining import inlined
from .names import Names
from .saturation import saturate
from .scope import Alias, Array, Axis, Scalar, Scope, Temporary
from .source import Source
from .subscripts import Subscripts, read_element
from .values import Mismatch, Value

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}


@dataclass(frozen=True, slots=True)
class ExpressionParser:
    """Translate expressions in the current scope."""

    names: Names

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.names.source

    @property
    def scope(self) -> Scope:
        """The names that the kernel binds."""
        return self.names.scope

    def value(self, node: ast.expr) -> Value:
        """Return the typed value of *node*."""
        with self.place(node):
            return self._value(node)

    def affine(self, node: ast.expr, what: str) -> Affine:
        """Return the integer form that *node* is, for a subscript, bound or size."""
        value = self.value(node)
        form = values.form_of(value)
        if form is None:
            text = self.source.text(node)
            variables = {
                binding.name: name
                for name, binding in self.scope.bindings()
                if isinstance(binding, Temporary)
            }
            raise self.source.type_error(node, not_affine(text, value, what, variables))
        return form

    def callee(self, node: ast.Call) -> Any:
        """Return the object that *node* calls; an unknown name is an error."""
        function = node.func
        name = root_name(function)
        if isinstance(function, ast.Attribute) and (
            name is None or self.scope.find(name) is not None
        ):
            raise self.source.syntax_error(
                function,
                f"`.{function.attr}` is a method, and methods are not in the kernel "
                "language: write a loop, or a function such as `exp(x)` or `f32(x)`",
            )
        if name is None or not isinstance(function, ast.Name | ast.Attribute):
            raise self.source.syntax_error(
                function, "call a function by its name: `exp(x)` or `tdsl.exp(x)`"
            )
        if self.scope.find(name) is not None:
            raise self.source.type_error(
                function, f"`{name}` is a variable of the kernel, not a function"
            )
        return self.names.resolve(function)

    def refuse_operators(self, node: ast.expr) -> None:
        """Refuse operators outside the language, before what they would be used for."""
        for each in ast.walk(node):
            if isinstance(each, ast.BinOp) and type(each.op) not in _BINARY:
                raise self.source.syntax_error(each, REFUSED_OPERATORS[type(each.op)])

    @contextmanager
    def place(self, node: ast.AST) -> Iterator[None]:
        """Give a `Mismatch` raised inside the place of *node*."""
        try:
            yield
        except Mismatch as mismatch:
            raise self.source.type_error(node, str(mismatch)) from None

    def _value(self, node: ast.expr) -> Value:
        span = self.source.span(node)
        match node:
            case ast.Constant(value=bool() | int() | float() | complex() as literal):
                return values.number(literal, span)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._load(node)
            case ast.BinOp():
                if type(node.op) not in _BINARY:
                    raise self.source.syntax_error(
                        node, REFUSED_OPERATORS[type(node.op)]
                    )
                left, right = self.value(node.left), self.value(node.right)
                return operations.binary(_BINARY[type(node.op)], left, right, span)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp():
                op = "and" if isinstance(node.op, ast.And) else "or"
                result, *others = [self.truth(each, op) for each in node.values]
                for operand in others:
                    result = operations.logic(op, result, operand, span)
                return result
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                condition = self.truth(node.test, "if")
                then, otherwise = self.value(node.body), self.value(node.orelse)
                return operations.select(condition, then, otherwise, span)
            case ast.Call():
                return self._call(node)
            case _:
                raise self._refused(node)

    def _refused(self, node: ast.expr) -> KernelSyntaxError:
        if isinstance(node, ast.Constant):
            text = isinstance(node.value, str | bytes)
            what = "text" if text else f"`{self.source.text(node)}`"
            return self.source.syntax_error(
                node, f"{what} has no place in a kernel: values are numbers and bools"
            )
        default = f"`{type(node).__name__}` is not in the kernel language"
        return self.source.syntax_error(
            node, REFUSED_EXPRESSIONS.get(type(node), default)
        )

    # --- names ----------------------------------------------------------------

    def _name(self, node: ast.Name) -> Value:
        binding = self.scope.find(node.id)
        span = self.source.span(node)
        match binding:
            case Axis():
                return values.index(name_form(binding.name), span, self.scope.ranges)
            case Scalar():
                tensor = binding.tensor
                return Value(Load(tensor.name, (), tensor.dtype, span=span))
            case Temporary():
                load = Load(binding.name, (), binding.dtype, span=span)
                return Value(load, binding.weak)
            case Alias():
                return binding.value
            case Array():
                subscripts = ", ".join("ijklmn"[: len(binding.tensor.shape)])
                raise self.source.type_error(
                    node,
                    f"`{node.id}` is a tensor, {print_tensor(binding.tensor)}: "
                    f"name an element, `{node.id}[{subscripts}]`",
                )
            case None:
                return self.names.value(node, self.names.resolve(node))

    def _attribute(self, node: ast.Attribute) -> Value:
        name = root_name(node)
        if name is None:
            raise self.source.syntax_error(
                node,
                "an attribute of a value is not in the kernel language: write an "
                "expression",
            )
        if self.scope.find(name) is not None:
            instead = ATTRIBUTES.get(node.attr, "write an element, as in `A[i, j]`")
            raise self.source.syntax_error(
                node, f"`.{node.attr}` is not in the kernel language: {instead}"
            )
        return self.names.value(node, self.names.resolve(node))

    # --- operations -----------------------------------------------------------

    def truth(self, node: ast.expr, operation: str) -> Value:
        """Return the bool that *node* is, for *operation*."""
        value = self.value(node)
        if value.dtype.kind != "bool":
            text = self.source.text(node)
            raise self.source.type_error(
                node,
                f"`{operation}` needs a bool, and `{text}` is {value.dtype}: "
                f"write `{text} != 0`",
            )
        return value

    def _unary(self, node: ast.UnaryOp) -> Value:
        span = self.source.span(node)
        match node.op:
            case ast.USub():
                return operations.negate(self.value(node.operand), span)
            case ast.Not():
                return operations.invert(self.truth(node.operand, "not"), span)
            case ast.UAdd():
                return self.value(node.operand)
            case _:
                raise self.source.syntax_error(
                    node, "`~` is not in the kernel language: write `not` for a bool"
                )

    def _compare(self, node: ast.Compare) -> Value:
        operands = [node.left, *node.comparators]
        span = self.source.span(node)
        if not all(type(op) in COMPARE for op in node.ops):
            raise self.source.syntax_error(
                node, "`in` and `is` are not in the kernel language: use `==`"
            )
        parts = [self.value(operand) for operand in operands]
        result: Value | None = None
        for op, left, right in zip(node.ops, parts, parts[1:], strict=False):
            each = operations.comparison(COMPARE[type(op)], left, right, span)
            result = operations.logic("and", result, each, span) if result else each
        assert result is not None
        return result

    def _call(self, node: ast.Call) -> Value:
        callee = self.callee(node)
        text, span = self.source.text(node.func), self.source.span(node)
        if node.keywords:
            raise self.source.syntax_error(
                node.keywords[0], f"`{text}` takes no keyword arguments here"
            )
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self._refused(argument)
        if isinstance(callee, InlineFunction):
            arguments = [self.value(each) for each in node.args]
            return inlined(callee, node, arguments, self.names, _evaluate)
        if isinstance(callee, DType):
            self._count(node, text, 1, 1)
            return values.cast(self.value(node.args[0]), callee, span)
        name = function_name(callee)
        if name in TENSOR_FUNCTIONS:
            raise self.source.syntax_error(
                node, f"`{text}` makes a tensor: write `T = {self.source.text(node)}`"
            )
        if name in STATEMENT_FUNCTIONS:
            instead = STATEMENT_FUNCTIONS[name].format(text)
            raise self.source.syntax_error(node, f"`{text}` {instead}")
        if name == "saturate":
            self._count(node, text, 2, 2)
            number, dtype = node.args
            return saturate(self.value(number), self.names.dtype(dtype), span)
        if name is None:
            raise self.source.syntax_error(node.func, not_callable(text, callee))
        if name in ("min", "max"):
            self._count(node, text, 2, None)
        else:
            wanted = 2 if name in BINARY_FUNCTIONS else 1
            self._count(node, text, wanted, wanted)
        arguments = [self.value(each) for each in node.args]
        return operations.call(name, arguments, span, text)

    def _count(self, node: ast.Call, text: str, least: int, most: int | None) -> None:
        given = len(node.args)
        if given < least or (most is not None and given > most):
            wanted = f"{least}" if least == most else f"at least {least}"
            plural = "" if wanted == "1" else "s"
            raise self.source.type_error(
                node, f"`{text}` takes {wanted} argument{plural}, not {given}"
            )

    # --- subscripts -----------------------------------------------------------

    def element(self, node: ast.Subscript) -> tuple[Array, Subscripts]:
        """Return the tensor and the subscripts of `A[i, j]`."""
        return ElementParser(self.names, self.value).element(node)

    def _load(self, node: ast.Subscript) -> Value:
        array, index = self.element(node)
        if not array.initialised:
            raise self.source.type_error(node, self.uninitialised(node))
        return Value(read_element(array.tensor, index, self.source.span(node)))

    def uninitialised(self, node: ast.Subscript) -> str:
        """Return the message for a read of a tensor before its first write."""
        name = self.source.text(node.value)
        binding = self.scope.find(name)
        assert isinstance(binding, Array)
        instead = "make it with `tdsl.zeros`"
        if binding.role is not None:
            instead = f"set it first, as in `{self.source.text(node)} = 0`, or "
            instead += f"declare it as `tdsl.inout({print_tensor(binding.tensor)})`"
        return f"`{name}` is read here, and no statement above writes it: {instead}"


def _evaluate(node: ast.expr, names: Names) -> Value:
    """Return the value of *node* in the text of an inline function."""
    return ExpressionParser(names).value(node)


def is_index(value: Value) -> bool:
    """Whether *value* needs no storage: a number or an affine form."""
    return value.weak and isinstance(value.expr, Const | Index)
