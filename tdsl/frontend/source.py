"""The text of a kernel: its syntax tree, and places in it for spans and errors."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from dataclasses import dataclass, replace
from tokenize import TokenError
from typing import Any

from ..errors import KernelSyntaxError, KernelTypeError
from ..ir.given import shown
from ..ir.nodes import Span
from .edited import edited_since_import


@dataclass(frozen=True, slots=True)
class Source:
    """The file and the syntax tree of one kernel; lines count as in the file.

    The text of a helper that a kernel calls at *caller* is that of *callee*.
    """

    file: str
    lines: tuple[str, ...]
    first_line: int
    definition: ast.FunctionDef
    caller: Span | None = None
    callee: str = ""

    def span(self, node: ast.AST) -> Span:
        """Return the place of *node*, in characters."""
        line = getattr(node, "lineno", self.definition.lineno)
        end_line = getattr(node, "end_lineno", None) or line
        column = self._characters(line, getattr(node, "col_offset", 0))
        end = self._characters(end_line, getattr(node, "end_col_offset", None) or 0)
        place = Span(self.file, line, column, end_line, end)
        if self.caller is None:
            return place
        return replace(place, caller=self.caller, callee=self.callee)

    def text(self, node: ast.AST) -> str:
        """Return *node* as one line of Python."""
        return ast.unparse(node)

    def syntax_error(self, node: ast.AST, message: str) -> KernelSyntaxError:
        """Return the error for text outside the language."""
        return KernelSyntaxError(message + self.span(node).calls, self._details(node))

    def type_error(self, node: ast.AST, message: str) -> KernelTypeError:
        """Return the error for names, ranks or dtypes that do not fit."""
        return KernelTypeError(message + self.span(node).calls, self._details(node))

    def _line(self, number: int) -> str:
        index = number - self.first_line
        return self.lines[index] if 0 <= index < len(self.lines) else ""

    def _characters(self, line: int, offset: int) -> int:
        # The syntax tree counts UTF-8 bytes; people and SyntaxError count characters.
        return len(self._line(line).encode()[:offset].decode(errors="replace"))

    def error_at(self, place: Span, message: str) -> KernelSyntaxError:
        """Return the error for text of this file at *place*."""
        return KernelSyntaxError(message + place.calls, self._marks(place))

    def _details(self, node: ast.AST) -> tuple[str, int, int, str, int, int]:
        return self._marks(self.span(node))

    def _marks(self, at: Span) -> tuple[str, int, int, str, int, int]:
        text = self._line(at.line)
        columns = (at.column + 1, at.end_column + 1)
        return (at.file, at.line, columns[0], text, at.end_line, columns[1])


def read_source(function: Callable[..., Any]) -> Source:
    """Return the source of *function*, a plain Python function."""
    if not inspect.isfunction(function):
        raise KernelSyntaxError(
            f"{shown(function)} is no function in Python: write the decorator above "
            "one that begins with `def`"
        )
    if function.__name__ == "<lambda>":
        message = "a lambda cannot be a kernel: write a function with `def`"
        raise KernelSyntaxError(message, _place(function))
    linecache.checkcache(function.__code__.co_filename)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise KernelSyntaxError(
            f"the text of {function.__name__} is not available: define the kernel in "
            "a file or a notebook cell",
            _place(function),
        ) from None
    except (TokenError, SyntaxError):
        raise _changed(function) from None
    if edited_since_import(function):
        raise _changed(function)
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    return Source(file, tuple(lines), first, _definition(lines, first, function))


def _definition(
    lines: list[str], first: int, function: Callable[..., Any]
) -> ast.FunctionDef:
    text = "".join(lines)
    indented = text[:1].isspace()
    # An enclosing `if` keeps the columns of an indented function as they are.
    try:
        tree = ast.parse("if True:\n" + text if indented else text)
    except SyntaxError:
        raise _changed(function) from None
    ast.increment_lineno(tree, first - (2 if indented else 1))
    outer = tree.body[0]
    node = outer.body[0] if isinstance(outer, ast.If) else outer
    if isinstance(node, ast.AsyncFunctionDef):
        raise KernelSyntaxError(
            f"{function.__name__} is an `async def`: write `def {function.__name__}`",
            _place(function),
        )
    if not isinstance(node, ast.FunctionDef):
        raise KernelSyntaxError(
            f"{function.__name__} is not written as a plain `def`", _place(function)
        )
    return node


def _changed(function: Callable[..., Any]) -> KernelSyntaxError:
    return KernelSyntaxError(
        f"{function.__name__} cannot be read: its file has changed since it was "
        "imported; reload it",
        _place(function),
    )


def _place(function: Callable[..., Any]) -> tuple[str, int, int, str, int, int]:
    file, line = function.__code__.co_filename, function.__code__.co_firstlineno
    text = linecache.getline(file, line)
    indent = len(text) - len(text.lstrip())
    return (file, line, indent + 1, text, line, len(text.rstrip()) + 1)
