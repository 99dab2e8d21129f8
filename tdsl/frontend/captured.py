"""What the names of a kernel mean outside it: closure, globals and builtins."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


class Missing(Exception):
    """Tell that a name or an attribute, the only argument, does not exist."""


@dataclass(frozen=True, slots=True)
class Captured:
    """The names that a kernel sees from where it was defined."""

    names: Mapping[str, Any]

    def __contains__(self, name: str) -> bool:
        return name in self.names or hasattr(builtins, name)

    def lookup(self, name: str) -> Any:
        """Return what *name* is bound to."""
        if name in self.names:
            return self.names[name]
        try:
            return getattr(builtins, name)
        except AttributeError:
            raise Missing(name) from None

    def resolve(self, node: ast.Name | ast.Attribute) -> Any:
        """Return what `name` or `module.name` is bound to."""
        if isinstance(node, ast.Name):
            return self.lookup(node.id)
        assert isinstance(node.value, ast.Name | ast.Attribute), ast.dump(node)
        owner = self.resolve(node.value)
        try:
            return getattr(owner, node.attr)
        except AttributeError:
            raise Missing(node.attr) from None

    def evaluate(self, annotation: Any) -> Any:
        """Return *annotation*, evaluated if it is (still) text."""
        while isinstance(annotation, str):
            annotation = eval(annotation, dict(self.names))
        return annotation


def root_name(node: ast.AST) -> str | None:
    """Return `a` for `a.b.c`, and None for what is no chain of attributes."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def capture(
    function: Callable[..., Any], namespace: Mapping[str, Any] | None
) -> Captured:
    """Return the names *function* sees; *namespace* has those its annotations need.

    A function's closure holds only the names that its body uses, so the decorator
    passes the variables of the place of definition for the annotations.
    """
    names = {**function.__globals__, **(namespace or {})}
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # a variable that is assigned after the definition
            names.pop(name, None)
    return Captured(names)
