"""Elements of tensors: `A[i, j]` to a tensor and its subscripts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..ir.affine import Affine
from ..ir.dtypes import i64
from ..ir.nodes import Expr
from ..ir.printer import print_tensor
from . import values
from .advice import not_integer
from .names import Names
from .scope import Array, Scope
from .source import Source
from .subscripts import Subscripts
from .values import Value


@dataclass(frozen=True, slots=True)
class ElementParser:
    """Translate elements; *value* translates what stands in the brackets."""

    names: Names
    value: Callable[[ast.expr], Value]

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.names.source

    @property
    def scope(self) -> Scope:
        """The names that the kernel binds."""
        return self.names.scope

    def element(self, node: ast.Subscript) -> tuple[Array, Subscripts]:
        """Return the tensor and the subscripts of `A[i, j]`.

        They are forms, or expressions if some are known only when the kernel runs.
        """
        array = self._array(node)
        shape = array.tensor.shape
        inner = node.slice
        subscripts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        name = self.source.text(node.value)
        for each in subscripts:
            if isinstance(each, ast.Constant) and each.value is ...:
                raise self.source.syntax_error(
                    each, "`...` is not in the kernel language: write loops over it"
                )
        if len(subscripts) != len(shape):
            sizes, given = len(shape), len(subscripts)
            raise self.source.type_error(
                node,
                f"`{name}` has {sizes} dimension{'s' * (sizes != 1)}, "
                f"{print_tensor(array.tensor)}, but {given} "
                f"subscript{'s' * (given != 1)} {'are' if given != 1 else 'is'} given",
            )
        parts = [self._subscript(each) for each in subscripts]
        texts = [self.source.text(each) for each in subscripts]
        for axis, form in enumerate(parts):
            if not isinstance(form, Affine):
                continue
            if form.is_constant and form.constant < 0:
                texts[axis] = str(shape[axis] + form.constant)
                raise self.source.type_error(
                    subscripts[axis],
                    "negative subscripts do not count from the end here: "
                    f"write `{name}[{', '.join(texts)}]`",
                )
            if form.is_constant and (shape[axis] - form).is_constant:
                self._check_inside(subscripts[axis], form.constant, shape[axis])
        return array, tuple(parts)

    def _subscript(self, node: ast.expr) -> Affine | Expr:
        """Return the form that *node* is, or an integer that data decides."""
        value = self.value(node)
        form = values.form_of(value)
        if form is not None:
            return form
        if value.dtype.kind != "int":
            text = self.source.text(node)
            raise self.source.type_error(node, not_integer(text, value))
        return values.cast(value, i64, self.source.span(node)).expr

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
            found = self.names.resolve(node.value)
            if isinstance(found, np.ndarray | list | tuple):
                is_array = isinstance(found, np.ndarray)
                kind = "NumPy array" if is_array else type(found).__name__
                raise self.source.type_error(
                    node.value,
                    f"`{node.value.id}` is a {kind}: pass it as a parameter",
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

    def _check_inside(self, node: ast.expr, position: int, size: Affine) -> None:
        if position >= size.constant:
            raise self.source.type_error(
                node, f"{position} is out of range: the size here is {size}"
            )
