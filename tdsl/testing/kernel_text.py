"""The text of a kernel with all that it captures, to run in a file of its own."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..frontend.edited import edited_since_import
from ..ir import dtypes
from ..ir.dims import DimSymbol
from ..ir.dtypes import DType
from ..ir.given import kind_of
from ..kernel import Kernel


class NoTextError(Exception):
    """Something that a kernel captures cannot be written down."""


def kernel_text(kernel: Kernel) -> str:
    """Return Python that defines *kernel* under its own name.

    Raise `NoTextError` where the source is gone, or a captured value is none of dims,
    dtypes, numbers, modules, names of tdsl and other kernels.
    """
    lines: dict[str, str] = {}
    _define(kernel, lines)
    imports = [line for line in lines.values() if line.startswith("import ")]
    others = [line for line in lines.values() if not line.startswith("import ")]
    return "\n".join([*imports, "", *others])


def _define(kernel: Kernel, lines: dict[str, str]) -> None:
    """Add the definition of *kernel* to *lines*, after those of what it captures."""
    function = getattr(kernel, "__wrapped__", None)
    if function is None:
        raise NoTextError(f"{kernel.name} was not made from a Python function")
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise NoTextError(f"the source of {kernel.name} is gone: {error}") from error
    if edited_since_import(function):
        raise NoTextError(f"the source of {kernel.name} has changed")
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    lines["tdsl"] = "import tdsl"
    for name, value in _captured(function, node):
        _write(name, value, lines)
    options = f'(numerics="{kernel.numerics}")' if kernel.numerics != "reassoc" else ""
    body = "\n".join(source.splitlines()[node.lineno - 1 :])
    lines[node.name] = f"\n\n@tdsl.kernel{options}\n{body}\n"


def _captured(function: Any, node: ast.FunctionDef) -> Iterator[tuple[str, Any]]:
    """Yield the variables of the surroundings that the text of *function* reads."""
    known = dict(function.__globals__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    known |= {name: cell.cell_contents for name, cell in cells}
    inside = [
        child
        for part in (node.args, node.returns, *node.body)
        if part is not None
        for child in ast.walk(part)
    ]
    arguments = {each.arg for each in inside if isinstance(each, ast.arg)}
    stored = {
        each.id
        for each in inside
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    }
    read = dict.fromkeys(each.id for each in inside if isinstance(each, ast.Name))
    for name in read:
        if name in known and name not in arguments | stored:
            yield name, known[name]


def _write(name: str, value: Any, lines: dict[str, str]) -> None:
    if name in lines:
        return
    match value:
        case ModuleType():
            alias = "" if value.__name__ == name else f" as {name}"
            lines[name] = f"import {value.__name__}{alias}"
        case Kernel():
            _define(value, lines)
        case DimSymbol():
            lines[name] = f"{name} = {_dim_text(value)}"
        case DType() if value.name in dtypes.DTYPES:
            lines[name] = f"{name} = tdsl.{'bool_' if value.kind == 'bool' else value}"
        case bool() | int():
            lines[name] = f"{name} = {value!r}"
        case float() if math.isfinite(value):
            lines[name] = f"{name} = {value!r}"
        case float():
            lines[name] = f'{name} = float("{value}")'
        case _ if getattr(value, "__module__", "").startswith("tdsl."):
            lines[name] = f"{name} = tdsl.{value.__name__}"
        case _:
            raise NoTextError(f"{name} is {kind_of(value)}")


def _dim_text(value: DimSymbol) -> str:
    facts = [f'"{value.name}"']
    facts += [f"min={value.minimum}"] if value.minimum else []
    facts += [f"max={value.maximum}"] if value.maximum is not None else []
    facts += [f"multiple={value.multiple}"] if value.multiple != 1 else []
    return f"tdsl.dim({', '.join(facts)})"
