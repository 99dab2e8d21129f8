"""Expressions of a kernel: Python's syntax tree to typed IR."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import KernelSyntaxError, KernelTypeError
from ..ir.affine import Affine
from ..ir.affine import name as name_form
from ..ir.dims import dims_of, is_dim_expression, to_affine
from ..ir.dtypes import DType, TensorType, from_numpy
from ..ir.nodes import Binary, Const, Index, Load
from ..ir.printer import print_tensor
from ..ir.walk import walk
from . import values
from .builtins import (
    BINARY_FUNCTIONS,
    CASTS,
    TENSOR_FUNCTIONS,
    VALUE_FUNCTIONS,
    KernelFunction,
    function_name,
)
from .captured import Captured, Missing, root_name
from .scope import Alias, Array, Axis, Scalar, Scope, Temporary
from .source import Source
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
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_REFUSED: dict[type[ast.AST], str] = {
    ast.JoinedStr: "text has no place in a kernel: values are numbers and bools",
    ast.List: "a list is no value here: use a tensor, `tdsl.zeros(shape, dtype)`",
    ast.Tuple: "a tuple is no value here: write one assignment for each part",
    ast.Dict: "a dict is no value here: use parameters or tensors",
    ast.Set: "a set is no value here: use parameters or tensors",
    ast.ListComp: "a comprehension is no value here: write a `for` loop",
    ast.GeneratorExp: "a generator is no value here: write a `for` loop with `+=`",
    ast.Lambda: "a kernel cannot define functions: write the expression in place",
    ast.NamedExpr: "`:=` is not in the kernel language: write `x = ...` above",
    ast.Await: "`await` is not in the kernel language",
    ast.Yield: "`yield` is not in the kernel language: write into a tensor",
    ast.Starred: "`*` is not in the kernel language: write out the arguments",
    ast.Slice: "a slice is not in the kernel language: write a `for` loop over it",
}
_OPERATORS: dict[type[ast.AST], str] = {
    ast.BitAnd: "`&` is not in the kernel language: write `and` for bools",
    ast.BitOr: "`|` is not in the kernel language: write `or` for bools",
    ast.BitXor: "`^` is not in the kernel language: write `!=` for bools",
    ast.LShift: "`<<` is not in the kernel language: multiply by a power of two",
    ast.RShift: "`>>` is not in the kernel language: write `//` by a power of two",
    ast.MatMult: "`@` is not in the kernel language: write the loops with `+=`",
}
_OTHER_FUNCTIONS = {
    "where": "`where(c, a, b)` is written `a if c else b`",
    "sum": "`sum` is written as a loop with `+=`",
    "print": "a kernel cannot print: return a tensor and print it outside",
    "len": "`len` is written as the dim: `M`",
    "enumerate": "a kernel loops over `range(...)` or `tdsl.grid(...)`",
    "zip": "a kernel loops over `range(...)` or `tdsl.grid(...)`",
    "round": "`round(x)` is written `floor(x + 0.5)`",
}


@dataclass(frozen=True, slots=True)
class ExpressionParser:
    """Translate expressions in the current scope."""

    source: Source
    captured: Captured
    scope: Scope

    def value(self, node: ast.expr) -> Value:
        """Return the typed value of *node*."""
        with self._place(node):
            return self._value(node)

    def affine(self, node: ast.expr, what: str) -> Affine:
        """Return the integer form that *node* is, for a subscript, bound or size."""
        value = self.value(node)
        form = values.form_of(value)
        if form is None:
            raise self.source.type_error(node, self._not_affine(node, value, what))
        return form

    def callee(self, node: ast.Call) -> Any:
        """Return the object that *node* calls; an unknown name is an error."""
        function = node.func
        name = root_name(function)
        if name is None or not isinstance(function, ast.Name | ast.Attribute):
            raise self.source.syntax_error(
                function, "call a function by its name: `exp(x)` or `tdsl.exp(x)`"
            )
        if self.scope.find(name) is not None:
            what = "a variable of the kernel, not a function"
            if isinstance(function, ast.Attribute):
                what = "a variable, and methods are not in the kernel language"
            raise self.source.type_error(function, f"`{name}` is {what}")
        return self._resolve(function)

    def dtype(self, node: ast.expr) -> DType:
        """Return the dtype that *node* names."""
        found = None
        if isinstance(node, ast.Name | ast.Attribute) and root_name(node):
            found = self._resolve(node)
        if isinstance(found, DType):
            return found
        instead = CASTS.get(found, "f32") if isinstance(found, type) else "f32"
        raise self.source.type_error(
            node, f"`{self.source.text(node)}` is no tdsl dtype: write `{instead}`"
        )

    @contextmanager
    def _place(self, node: ast.AST) -> Iterator[None]:
        try:
            yield
        except Mismatch as mismatch:
            raise self.source.type_error(node, str(mismatch)) from None

    def _value(self, node: ast.expr) -> Value:
        span = self.source.span(node)
        match node:
            case ast.Constant(value=bool() | int() | float() as literal):
                return values.number(literal, span)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._load(node)
            case ast.BinOp():
                if type(node.op) not in _BINARY:
                    raise self.source.syntax_error(node, _OPERATORS[type(node.op)])
                left, right = self.value(node.left), self.value(node.right)
                return values.binary(_BINARY[type(node.op)], left, right, span)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp():
                op = "and" if isinstance(node.op, ast.And) else "or"
                result, *others = [self._bool(each, op) for each in node.values]
                for operand in others:
                    result = values.logic(op, result, operand, span)
                return result
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                condition = self._bool(node.test, "if")
                then, otherwise = self.value(node.body), self.value(node.orelse)
                return values.select(condition, then, otherwise, span)
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
        return self.source.syntax_error(node, _REFUSED.get(type(node), default))

    # --- names ----------------------------------------------------------------

    def _name(self, node: ast.Name) -> Value:
        binding = self.scope.find(node.id)
        span = self.source.span(node)
        match binding:
            case Axis():
                return values.index(name_form(binding.name), span)
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
                return self._captured(node, self._resolve(node))

    def _attribute(self, node: ast.Attribute) -> Value:
        name = root_name(node)
        if name is None:
            raise self.source.syntax_error(
                node, "attributes of values are not in the kernel language"
            )
        if self.scope.find(name) is not None:
            is_size = node.attr in ("shape", "size")
            instead = "write the dim" if is_size else "use the functions of tdsl"
            raise self.source.syntax_error(
                node, f"`.{node.attr}` is not in the kernel language: {instead}"
            )
        return self._captured(node, self._resolve(node))

    def _resolve(self, node: ast.Name | ast.Attribute) -> Any:
        """Return the Python object that *node* names outside the kernel."""
        name = root_name(node)
        assert name is not None
        if name in self.scope.assigned:
            raise self.source.type_error(node, self._unassigned(name))
        try:
            return self.captured.resolve(node)
        except Missing as missing:
            raise self.source.type_error(
                node, self._unknown(node, missing.args[0])
            ) from None

    def _unassigned(self, name: str) -> str:
        if name in self.scope.ended:
            return (
                f"`{name}` may be unassigned here: the {self.scope.ended[name]} "
                "has ended; set it before the loop"
            )
        return f"`{name}` is read before it is assigned"

    def _unknown(self, node: ast.Name | ast.Attribute, missing: str) -> str:
        text = self.source.text(node)
        if isinstance(node, ast.Name):
            inside = (name for name, _ in self.scope.bindings())
            names, prefix = [*inside, *self.captured.names], ""
        else:
            owner = node.value
            assert isinstance(owner, ast.Name | ast.Attribute)
            prefix = f"{self.source.text(owner)}."
            names = dir(self.captured.resolve(owner)) if text.endswith(missing) else []
        close = difflib.get_close_matches(missing, names, n=1)
        hint = f": did you mean `{prefix}{close[0]}`?" if close else ""
        return f"unknown name `{text}`{hint}"

    def _captured(self, node: ast.Name | ast.Attribute, found: Any) -> Value:
        text, span = self.source.text(node), self.source.span(node)
        if isinstance(found, bool | int | float) and not isinstance(found, np.generic):
            return values.number(found, span)
        if is_dim_expression(found):
            return values.index(self.dim_form(node, found), span)
        if isinstance(found, np.generic):
            dtype = from_numpy(found.dtype)
            if dtype is not None:
                return Value(Const(found.item(), dtype, span=span))
        if isinstance(found, np.ndarray):
            what = "a NumPy array: pass it as a parameter"
        elif isinstance(found, DType | TensorType):
            what = f"a type: write a cast, `{text}(x)`"
        elif callable(found):
            what = f"a function: call it, `{text}(x)`"
        else:
            what = f"a {type(found).__name__}: only numbers and dims can be captured"
        raise self.source.type_error(node, f"`{text}` is {what}")

    def dim_form(self, node: ast.AST, expression: Any) -> Affine:
        """Return a captured dim expression as a form, and note its dims."""
        try:
            form = to_affine(expression)
        except KernelTypeError as error:
            raise self.source.type_error(node, error.msg) from None
        for symbol in dims_of(expression):
            problem = self.scope.add_dim(symbol)
            if problem:
                raise self.source.type_error(node, problem)
        return form

    # --- operations -----------------------------------------------------------

    def _bool(self, node: ast.expr, operation: str) -> Value:
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
                return values.negate(self.value(node.operand), span)
            case ast.Not():
                return values.invert(self._bool(node.operand, "not"), span)
            case ast.UAdd():
                return self.value(node.operand)
            case _:
                raise self.source.syntax_error(
                    node, "`~` is not in the kernel language: write `not` for a bool"
                )

    def _compare(self, node: ast.Compare) -> Value:
        operands = [node.left, *node.comparators]
        span = self.source.span(node)
        if not all(type(op) in _COMPARE for op in node.ops):
            raise self.source.syntax_error(
                node, "`in` and `is` are not in the kernel language: use `==`"
            )
        parts = [self.value(operand) for operand in operands]
        result: Value | None = None
        for op, left, right in zip(node.ops, parts, parts[1:], strict=False):
            each = values.comparison(_COMPARE[type(op)], left, right, span)
            result = values.logic("and", result, each, span) if result else each
        assert result is not None
        return result

    def _call(self, node: ast.Call) -> Value:
        callee = self.callee(node)
        text, span = self.source.text(node.func), self.source.span(node)
        if node.keywords:
            raise self.source.syntax_error(
                node.keywords[0], f"`{text}` takes no keyword arguments here"
            )
        if isinstance(callee, DType):
            self._count(node, text, 1, 1)
            return values.cast(self.value(node.args[0]), callee, span)
        name = function_name(callee)
        if name in TENSOR_FUNCTIONS:
            raise self.source.syntax_error(
                node, f"`{text}` makes a tensor: write `T = {self.source.text(node)}`"
            )
        if name in ("range", "grid"):
            raise self.source.syntax_error(
                node, f"`{text}` stands after `in`: write `for i in {text}(...):`"
            )
        if name is None:
            raise self.source.syntax_error(node.func, self._not_callable(text, callee))
        if name in ("min", "max"):
            self._count(node, text, 2, None)
        else:
            wanted = 2 if name in BINARY_FUNCTIONS else 1
            self._count(node, text, wanted, wanted)
        return values.call(name, [self.value(each) for each in node.args], span)

    def _count(self, node: ast.Call, text: str, least: int, most: int | None) -> None:
        given = len(node.args)
        if given < least or (most is not None and given > most):
            wanted = f"{least}" if least == most else f"at least {least}"
            plural = "" if wanted == "1" else "s"
            raise self.source.type_error(
                node, f"`{text}` takes {wanted} argument{plural}, not {given}"
            )

    def _not_callable(self, text: str, callee: Any) -> str:
        try:
            cast = CASTS.get(callee)
        except TypeError:
            cast = None
        if cast == "tdsl.bool_":
            return f"`{text}` is no cast of the kernel language: write `x != 0`"
        if cast:
            return f"`{text}` is no cast of the kernel language: write `{cast}(x)`"
        last = text.rpartition(".")[2]
        if last in _OTHER_FUNCTIONS:
            return _OTHER_FUNCTIONS[last]
        if isinstance(callee, KernelFunction):
            return f"`{text}` cannot be called here"
        known = ", ".join(VALUE_FUNCTIONS)
        return f"a kernel cannot call `{text}`; it can call casts and {known}"

    # --- subscripts -----------------------------------------------------------

    def element(self, node: ast.Subscript) -> tuple[Array, tuple[Affine, ...]]:
        """Return the tensor and the subscripts of `A[i, j]`."""
        array = self._array(node)
        shape = array.tensor.shape
        inner = node.slice
        subscripts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        name = self.source.text(node.value)
        if len(subscripts) != len(shape):
            sizes, given = len(shape), len(subscripts)
            raise self.source.type_error(
                node,
                f"`{name}` has {sizes} dimension{'s' * (sizes != 1)}, "
                f"{print_tensor(array.tensor)}, but {given} "
                f"subscript{'s' * (given != 1)} {'are' if given != 1 else 'is'} given",
            )
        index: list[Affine] = []
        for subscript, size in zip(subscripts, shape, strict=True):
            form = self.affine(subscript, "a subscript")
            if form.is_constant:
                self._inside(subscript, form.constant, size)
            index.append(form)
        return array, tuple(index)

    def _array(self, node: ast.Subscript) -> Array:
        if not isinstance(node.value, ast.Name):
            self._refuse_shape(node)
            nested = isinstance(node.value, ast.Subscript)
            what = "one pair of brackets" if nested else "the name of a tensor"
            raise self.source.syntax_error(
                node, f"subscripts need {what}: write `A[i, j]`"
            )
        binding = self.scope.find(node.value.id)
        if isinstance(binding, Array):
            return binding
        if binding is None:
            found = self._resolve(node.value)
            if isinstance(found, np.ndarray):
                raise self.source.type_error(
                    node.value,
                    f"`{node.value.id}` is a NumPy array: pass it as a parameter",
                )
        raise self.source.type_error(
            node.value, f"`{node.value.id}` is no tensor, so it has no subscripts"
        )

    def _refuse_shape(self, node: ast.Subscript) -> None:
        """Name the dim that `A.shape[0]` stands for."""
        match node:
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
                slice=ast.Constant(value=int() as axis),
            ):
                binding = self.scope.find(name)
                if isinstance(binding, Array) and axis < len(binding.tensor.shape):
                    raise self.source.syntax_error(
                        node,
                        "`.shape` is not in the kernel language: write "
                        f"`{binding.tensor.shape[axis]}`",
                    )

    def _inside(self, node: ast.expr, position: int, size: Affine) -> None:
        if position < 0:
            raise self.source.type_error(
                node,
                "negative subscripts do not count from the end here: "
                f"write `{size + position}`",
            )
        if size.is_constant and position >= size.constant:
            raise self.source.type_error(
                node, f"{position} is out of range: the size here is {size}"
            )

    def _load(self, node: ast.Subscript) -> Value:
        array, index = self.element(node)
        if not array.initialised:
            raise self.source.type_error(node, self.uninitialised(node))
        tensor = array.tensor
        span = self.source.span(node)
        return Value(Load(tensor.name, index, tensor.dtype, span=span))

    def uninitialised(self, node: ast.Subscript) -> str:
        """Return the message for a read of a tensor before its first write."""
        name = self.source.text(node.value)
        binding = self.scope.find(name)
        assert isinstance(binding, Array)
        instead = f"set it first, as in `{self.source.text(node)} = 0`"
        if binding.role is not None:
            kind = print_tensor(binding.tensor)
            instead += f", or declare it as `tdsl.inout({kind})`"
        return f"`{name}` is read before anything is written to it: {instead}"

    def _not_affine(self, node: ast.expr, value: Value, what: str) -> str:
        text = self.source.text(node)
        nodes = list(walk(value.expr))
        loaded = [each for each in nodes if isinstance(each, Load)]
        operations = {each.op for each in nodes if isinstance(each, Binary)}
        if loaded:
            reason = f"as `{loaded[0].tensor}` is read from memory"
        elif value.dtype.kind != "int":
            floored = text.replace(" / ", " // ")
            hint = f": write `{floored}`" if floored != text else ""
            return f"{what} must be an integer, and `{text}` is {value.dtype}{hint}"
        elif operations & {"floordiv", "mod"}:
            reason = "as it divides by a variable"
        elif "mul" in operations:
            reason = "as it multiplies two variables"
        else:
            reason = "as it is no sum of multiples"
        return (
            f"{what} must be affine in loop variables and dims, and `{text}` is not, "
            f"{reason}: use sums, multiples, and // and % by constants"
        )


def is_index(value: Value) -> bool:
    """Whether *value* needs no storage: a number or an affine form."""
    return value.weak and isinstance(value.expr, Const | Index)
