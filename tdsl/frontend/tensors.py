"""Tensors made in a kernel: `tdsl.zeros`, `tdsl.empty` and `tdsl.full`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..errors import KernelSyntaxError
from ..ir.affine import Affine
from ..ir.dtypes import DType
from ..ir.nodes import Alloc, Expr, Memory, Stmt, Tensor
from .builtins import TENSOR_FUNCTIONS, KernelFunction, function_name
from .captured import root_name
from .emission import Emitter
from .expressions import ExpressionParser
from .scope import Array
from .source import Source
from .values import Mismatch, Value, can_store, convert, number

_SHAPE_AND_DTYPE = {"shape": "(M, N)", "dtype": "f32"}
_PARTS = {
    "zeros": _SHAPE_AND_DTYPE,
    "empty": _SHAPE_AND_DTYPE,
    "full": {**_SHAPE_AND_DTYPE, "value": "value"},
}
"""The arguments of each function, in order, with an example."""


@dataclass(frozen=True, slots=True)
class Creation:
    """What a call makes: shape, dtype, and the value it is filled with, if any."""

    shape: tuple[Affine, ...]
    dtype: DType
    fill: Expr | None


@dataclass(frozen=True, slots=True)
class TensorParser:
    """Translate calls that make tensors; those in *returned* are results, not local."""

    expressions: ExpressionParser
    emitter: Emitter
    returned: frozenset[str]

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.expressions.source

    def is_creation(self, node: ast.Call) -> bool:
        """Whether *node* makes a tensor."""
        if root_name(node.func) is None:
            return False
        return function_name(self.expressions.callee(node)) in TENSOR_FUNCTIONS

    def make(self, target: ast.Name, creation: Creation, block: list[Stmt]) -> Array:
        """Bind *target* to a new tensor, filled in *block*, and return that."""
        scope, span = self.expressions.scope, self.source.span(target)
        name = scope.unique(target.id)
        tensor = Tensor(name, creation.dtype, creation.shape)
        filled = creation.fill is not None
        array = Array(tensor, None, target.lineno, target, filled, written=filled)
        scope.bind(target.id, array)
        if len(scope.blocks) > 1 or target.id not in self.returned:
            block.append(Alloc(tensor, Memory.ARRAY, span=span))
        if creation.fill is not None:
            self.emitter.fill(tensor, creation.fill, block, span)
        return array

    def creation(self, node: ast.Call) -> Creation:
        """Return the tensor that *node* makes."""
        name = function_name(self.expressions.callee(node))
        assert name in _PARTS
        shape_node, dtype_node, fill_node = self._arguments(node, name)
        self._check_order(node, shape_node, dtype_node, fill_node)
        shape = self._shape(shape_node)
        before = f"{self._function(node, name)}({self.source.text(shape_node)}, "
        after = f", {self.source.text(fill_node)})" if fill_node else ")"
        dtype = self.expressions.names.dtype(dtype_node, before, after)
        if name == "empty":
            return Creation(shape, dtype, None)
        if fill_node is None:
            return Creation(shape, dtype, convert(_zero(dtype), dtype))
        fill = self.expressions.value(fill_node)
        if not can_store(fill, dtype):
            text = self.source.text(fill_node)
            raise self.source.type_error(
                fill_node,
                f"cannot fill a tensor of {dtype} with {fill.dtype}: "
                f"write `{dtype}({text})`",
            )
        try:
            return Creation(shape, dtype, convert(fill, dtype))
        except Mismatch as mismatch:
            raise self.source.type_error(fill_node, str(mismatch)) from None

    def _arguments(
        self, node: ast.Call, name: str
    ) -> tuple[ast.expr, ast.expr, ast.expr | None]:
        names = list(_PARTS[name])
        found: dict[str | None, ast.expr] = {
            keyword.arg: keyword.value for keyword in node.keywords
        }
        found |= dict(zip(names, node.args, strict=False))
        count = len(node.args) + len(node.keywords)
        if set(found) != set(names) or count != len(names):
            text = self.source.text(node.func)
            parts = dict(_PARTS[name])
            if "shape" in found:
                parts["shape"] = self.source.text(found["shape"])
            raise self.source.type_error(
                node,
                f"`{text}` takes {', '.join(names[:-1])} and {names[-1]}: write "
                f"`{self._function(node, name)}({', '.join(parts.values())})`",
            )
        return found["shape"], found["dtype"], found.get("value")

    def _function(self, node: ast.Call, name: str) -> str:
        """Return the function of tdsl that *node* calls, under any name, as text."""
        own = isinstance(self.expressions.callee(node), KernelFunction)
        return self.source.text(node.func) if own else f"tdsl.{name}"

    def _check_order(
        self, node: ast.Call, shape: ast.expr, dtype: ast.expr, fill: ast.expr | None
    ) -> None:
        """Refuse `full(shape, value, dtype)`, which is NumPy's order."""
        if fill is None or self._dtype_text(dtype):
            return
        instead = self._dtype_text(fill)
        if instead is None:
            return
        value = self.source.text(dtype)
        raise self.source.type_error(
            node,
            f"`{value}` is no tdsl dtype, and stands in its place: write "
            f"`{self._function(node, 'full')}({self.source.text(shape)}, {instead}, "
            f"{value})`",
        )

    def _dtype_text(self, node: ast.expr) -> str | None:
        try:
            return self.expressions.names.dtype_text(node)
        except KernelSyntaxError:
            return None

    def _shape(self, node: ast.expr) -> tuple[Affine, ...]:
        sizes = node.elts if isinstance(node, ast.Tuple) else [node]
        if not sizes:
            raise self.source.type_error(
                node, "a tensor without dimensions: write a variable, `x = f32(0)`"
            )
        return tuple(self._size(size) for size in sizes)

    def _size(self, node: ast.expr) -> Affine:
        form = self.expressions.affine(node, "a size")
        if not form.names() <= set(self.expressions.scope.dims):
            raise self.source.type_error(
                node,
                "a size cannot depend on a loop variable: use dims and constants",
            )
        if form.is_constant and form.constant < 0:
            raise self.source.type_error(
                node, f"a size is at least 0, not {form.constant}"
            )
        return form


def _zero(dtype: DType) -> Value:
    return number(False if dtype.kind == "bool" else 0)
