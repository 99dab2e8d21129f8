"""Names from outside the kernel: what they are bound to, and as which value."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import KernelTypeError
from ..ir.affine import Affine
from ..ir.dims import dims_of, is_dim_expression, to_affine
from ..ir.dtypes import DType, TensorType, from_numpy
from ..ir.nodes import Const
from .advice import dtype_instead
from .captured import Captured, Missing, root_name
from .scope import Scope
from .source import Source
from .values import Value, index, number


@dataclass(frozen=True, slots=True)
class Names:
    """Look up names that the kernel does not bind."""

    source: Source
    captured: Captured
    scope: Scope

    def resolve(self, node: ast.Name | ast.Attribute) -> Any:
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
            return f"`{name}` may be unassigned here: {self.scope.ended[name]}"
        if name in self.captured and is_dim_expression(self.captured.lookup(name)):
            return (
                f"`{name}` is read before it is assigned: the variable hides the dim "
                f"`{name}` in all of the kernel; give it another name"
            )
        return f"`{name}` is read before it is assigned: give it a value first"

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

    def dtype(self, node: ast.expr, before: str = "", after: str = "") -> DType:
        """Return the dtype that *node* names.

        *before* and *after* are the text around it, for the message where it is none.
        """
        found = self._named(node)
        if isinstance(found, DType):
            return found
        instead = f"{before}{self.dtype_text(node) or 'f32'}{after}"
        text = self.source.text(node)
        raise self.source.type_error(
            node, f"`{text}` is no tdsl dtype: write `{instead}`"
        )

    def dtype_text(self, node: ast.expr) -> str | None:
        """Return how to write the dtype that *node* stands for, if for any."""
        found, text = self._named(node), self.source.text(node)
        return text if isinstance(found, DType) else dtype_instead(found, text)

    def _named(self, node: ast.expr) -> Any:
        """Return what *node* is bound to, or None if it is no name."""
        if isinstance(node, ast.Name | ast.Attribute) and root_name(node):
            return self.resolve(node)
        return None

    def value(self, node: ast.Name | ast.Attribute, found: Any) -> Value:
        """Return *found*, which *node* names, as a value."""
        text, span = self.source.text(node), self.source.span(node)
        if isinstance(found, bool | int | float | complex) and not isinstance(
            found, np.generic
        ):
            return number(found, span)
        if is_dim_expression(found):
            return index(self.dim_form(node, found), span, self.scope.ranges)
        if isinstance(found, np.generic):
            dtype = from_numpy(found.dtype)
            if dtype is not None:
                return Value(Const(found.item(), dtype, span=span))
        if isinstance(found, ModuleType):
            what = f"a module: write `{text}.exp(x)`, or another of its functions"
        elif isinstance(found, np.ndarray):
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
