"""The parameters of a kernel: names and annotations to IR parameters."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import TdslError
from ..ir.affine import Affine
from ..ir.affine import constant as constant_form
from ..ir.dims import is_dim_expression
from ..ir.dtypes import DType, TensorType
from ..ir.nodes import Param, Role, Tensor
from .builtins import CASTS, ResultType
from .expressions import ExpressionParser
from .scope import Array, Scalar, Scope
from .source import Source


@dataclass(frozen=True, slots=True)
class SignatureParser:
    """Translate annotations, and bind the parameters in the scope."""

    function: Callable[..., Any]
    expressions: ExpressionParser

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.expressions.source

    @property
    def scope(self) -> Scope:
        """The names of the kernel."""
        return self.expressions.scope

    def params(self) -> list[Param]:
        """Return the parameters in order."""
        arguments = self.source.definition.args
        self._check_plain(arguments)
        return [self._param(argument) for argument in arguments.args]

    def result(self) -> list[Tensor] | None:
        """Return the annotated results, unnamed; None where there is no annotation."""
        node = self.source.definition.returns
        if node is None:
            return None
        found = self._evaluate(node, "return")
        if found is None:
            return []
        many = found if isinstance(found, tuple) else getattr(found, "__args__", None)
        return [self._tensor(node, "", each) for each in many or (found,)]

    def _check_plain(self, arguments: ast.arguments) -> None:
        for starred in (arguments.vararg, arguments.kwarg):
            if starred is not None:
                raise self.source.syntax_error(
                    starred, "a kernel names each of its parameters: no `*` or `**`"
                )
        if arguments.kwonlyargs:
            raise self.source.syntax_error(
                arguments.kwonlyargs[0],
                "keyword-only parameters are not in the kernel language: drop the `*`",
            )
        if arguments.posonlyargs:
            raise self.source.syntax_error(
                arguments.posonlyargs[0],
                "positional-only parameters are not in the kernel language: "
                "drop the `/`",
            )
        if arguments.defaults:
            raise self.source.syntax_error(
                arguments.defaults[0],
                "default values are not in the kernel language: pass the argument",
            )

    def _param(self, argument: ast.arg) -> Param:
        name, node = argument.arg, argument.annotation
        if node is None:
            raise self.source.type_error(
                argument,
                f"parameter `{name}` has no type: write `{name}: f32[M, N]` for a "
                f"tensor or `{name}: f32` for a number",
            )
        found: Any = self._evaluate(node, name)
        role = Role.INPUT
        if isinstance(found, ResultType):
            role, found = found.role, found.type
        if name in self.scope.dims:
            raise self.source.type_error(
                argument,
                f"`{name}` is a dim and also a parameter: rename the parameter",
            )
        self.scope.used.add(name)
        tensor = self._tensor(node, name, found)
        if tensor.shape:
            line = argument.lineno
            known = role is not Role.OUTPUT
            self.scope.bind(name, Array(tensor, role, line, argument, known))
        else:
            self.scope.bind(name, Scalar(tensor))
        return Param(tensor, role)

    def _evaluate(self, node: ast.expr, name: str) -> Any:
        annotation = inspect.get_annotations(self.function).get(name)
        try:
            return self.expressions.names.captured.evaluate(annotation)
        except NameError as error:
            raise self.source.type_error(
                node, f"{error}: an annotation uses dims and dtypes defined above"
            ) from None
        except TdslError as error:
            raise self.source.type_error(node, str(error)) from None
        except Exception as error:
            raise self.source.type_error(
                node, f"the annotation cannot be evaluated: {error}"
            ) from error

    def _tensor(self, node: ast.expr, name: str, found: Any) -> Tensor:
        if isinstance(found, DType):
            return Tensor(name, found, ())
        if not isinstance(found, TensorType):
            raise self.source.type_error(node, self._no_type(node, found))
        shape = tuple(self._size(node, size) for size in found.shape)
        return Tensor(name, found.dtype, shape)

    def _no_type(self, node: ast.expr, found: Any) -> str:
        text = self.source.text(node)
        instead = "f32[M, N]"
        if isinstance(found, type):
            instead = CASTS.get(found, instead)
        return f"`{text}` is no tensor or scalar type: write `{instead}`"

    def _size(self, node: ast.expr, size: Any) -> Affine:
        if isinstance(size, int) and not isinstance(size, bool):
            if size < 0:
                raise self.source.type_error(node, f"a size is at least 0, not {size}")
            return constant_form(size)
        if is_dim_expression(size):
            return self.expressions.names.dim_form(node, size)
        given = "`:`" if isinstance(size, slice) else repr(size)
        raise self.source.type_error(
            node,
            f"a size is an integer or an expression over dims, not {given}: "
            'create dims with `M, N = tdsl.dims("M N")`',
        )
