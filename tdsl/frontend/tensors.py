"""Tensors made in a kernel: `tdsl.zeros`, `tdsl.empty` and `tdsl.full`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..errors import KernelSyntaxError
from ..ir.affine import Affine
from ..ir.dtypes import DType
from ..ir.nodes import Alloc, Expr, Memory, Stmt, Tensor
from .builtins import TENSOR_FUNCTIONS, function_name
from .captured import root_name
from .emission import Emitter
from .expressions import ExpressionParser
from .scope import Array
from .source import Source
from .values import Mismatch, Value, can_store, convert, number

_USE = {
    "zeros": "zeros((M, N), f32)",
    "empty": "empty((M, N), f32)",
    "full": "full((M, N), f32, value)",
}


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
        assert name in _USE
        shape_node, dtype_node, fill_node = self._arguments(node, name)
        self._check_order(node, dtype_node, fill_node)
        shape = self._shape(shape_node)
        dtype = self.expressions.dtype(dtype_node)
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
        names = ("shape", "dtype", "value")[: 3 if name == "full" else 2]
        found: dict[str | None, ast.expr] = {
            keyword.arg: keyword.value for keyword in node.keywords
        }
        found |= dict(zip(names, node.args, strict=False))
        count = len(node.args) + len(node.keywords)
        if set(found) != set(names) or count != len(names):
            text = self.source.text(node.func)
            prefix = text.rpartition(".")[0]
            raise self.source.type_error(
                node,
                f"`{text}` takes {', '.join(names[:-1])} and {names[-1]}: write "
                f"`{prefix + '.' if prefix else ''}{_USE[name]}`",
            )
        return found["shape"], found["dtype"], found.get("value")

    def _check_order(
        self, node: ast.Call, dtype: ast.expr, fill: ast.expr | None
    ) -> None:
        """Refuse `full(shape, value, dtype)`, which is NumPy's order."""
        if fill is None or self._is_dtype(dtype) or not self._is_dtype(fill):
            return
        raise self.source.type_error(
            node,
            f"`{self.source.text(dtype)}` is no tdsl dtype, and stands in its place: "
            f"write {self.source.text(node.func)}(shape, dtype, value)",
        )

    def _is_dtype(self, node: ast.expr) -> bool:
        try:
            self.expressions.dtype(node)
        except KernelSyntaxError:
            return False
        return True

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
