"""What to write instead of Python that is outside the kernel language."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from ..ir.nodes import Binary, Function, Gather, Load
from ..ir.walk import walk
from .builtins import CASTS, VALUE_FUNCTIONS
from .values import Value

REFUSED_EXPRESSIONS: dict[type[ast.AST], str] = {
    ast.JoinedStr: "text has no place in a kernel: values are numbers and bools",
    ast.List: "a list is no value here: use a tensor, `tdsl.zeros(shape, dtype)`",
    ast.Tuple: "a tuple is no value here: write one assignment for each part",
    ast.Dict: "a dict is no value here: use parameters or tensors",
    ast.Set: "a set is no value here: use parameters or tensors",
    ast.ListComp: "a comprehension is no value here: write a `for` loop",
    ast.SetComp: "a comprehension is no value here: write a `for` loop",
    ast.DictComp: "a comprehension is no value here: write a `for` loop",
    ast.GeneratorExp: "a generator is no value here: write a `for` loop with `+=`",
    ast.Lambda: "a kernel cannot define functions: write the expression in place",
    ast.NamedExpr: "`:=` is not in the kernel language: write `x = ...` above",
    ast.Yield: "`yield` is not in the kernel language: write into a tensor",
    ast.YieldFrom: "`yield` is not in the kernel language: write into a tensor",
    ast.Starred: "`*` is not in the kernel language: write out the arguments",
    ast.Slice: "a slice is not in the kernel language: write a `for` loop over it",
}
ATTRIBUTES = {
    "shape": "write the dim",
    "size": "write the dim",
    "ndim": "write the number",
    "dtype": "write the dtype, as in `f32`",
    "T": "exchange the subscripts, as in `A[j, i]`",
}
REFUSED_OPERATORS: dict[type[ast.AST], str] = {
    ast.BitAnd: "`&` is not in the kernel language: write `and` for bools, and "
    "`x % 2**n` for the last n bits of an integer",
    ast.BitOr: "`|` is not in the kernel language: write `or` for bools; integers "
    "have nothing in its place",
    ast.BitXor: "`^` is not in the kernel language: write `!=` for bools; integers "
    "have nothing in its place",
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
REFUSED_STATEMENTS: dict[type[ast.stmt], str] = {
    ast.While: "`while` is not in the kernel language: bound the loop and leave it, "
    "`for i in range(...):` with `if ...: break`",
    ast.With: "`with` is not in the kernel language: put it around the call",
    ast.Try: "`try` is not in the kernel language: put it around the call",
    ast.TryStar: "`try` is not in the kernel language: put it around the call",
    ast.Raise: "a kernel cannot raise: check the arguments outside",
    ast.Assert: "`assert` is not in the kernel language: give the dims assumptions, "
    'as in tdsl.dim("M", min=1, multiple=8)',
    ast.FunctionDef: "a kernel cannot define functions: write them out in place",
    ast.ClassDef: "a kernel cannot define classes: define them outside",
    ast.Import: "import at the top of the file, outside the kernel",
    ast.ImportFrom: "import at the top of the file, outside the kernel",
    ast.Global: "`global` is not in the kernel language: return a tensor",
    ast.Nonlocal: "`nonlocal` is not in the kernel language: return a tensor",
    ast.Delete: "`del` is not in the kernel language: a variable ends with its block",
    ast.Match: "`match` is not in the kernel language: write `if` and `elif`",
}
IN_PLACE_OPERATORS: dict[type[ast.operator], str] = {
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def not_callable(text: str, callee: Any) -> str:
    """Return the message for a call of *callee*, named *text*, in an expression."""
    try:
        cast = CASTS.get(callee)
    except TypeError:
        cast = None
    if cast == "tdsl.bool_":
        return f"`{text}` is no cast of the kernel language: write `x != 0`"
    if cast:
        return f"`{text}` is no cast of the kernel language: write `{cast}(x)`"
    last = text.rpartition(".")[2]
    if kernel_function(callee) is not None:
        return (
            f"`{text}` is a kernel, and gives tensors: call it in a statement of its "
            f"own, `T = {text}(...)`"
        )
    if last in _OTHER_FUNCTIONS:
        return _OTHER_FUNCTIONS[last]
    module = getattr(callee, "__module__", None) or ""
    if isinstance(callee, FunctionType) and not module.startswith(("numpy", "tdsl")):
        return f"`{text}` is a Python function: write `@tdsl.inline` above it"
    known = ", ".join(VALUE_FUNCTIONS)
    return f"a kernel cannot call `{text}`; it can call casts and {known}"


def kernel_function(value: Any) -> Function | None:
    """Return the parsed text of *value*, if it is a kernel."""
    found = getattr(value, "function", None)
    return found if isinstance(found, Function) else None


def not_integer(text: str, value: Value) -> str:
    """Return the message for the subscript *text*, which is no integer."""
    floored = text.replace(" / ", " // ")
    hint = f": write `{floored}`" if floored != text else ""
    if not hint and any(isinstance(each, Load | Gather) for each in walk(value.expr)):
        hint = f": write `i64({text})`"
    return f"a subscript must be an integer, and `{text}` is {value.dtype}{hint}"


def not_affine(text: str, value: Value, what: str, variables: Mapping[str, str]) -> str:
    """Return the message for *text*, which has *value* where a form is needed.

    *variables* are those of the kernel, by their names in the IR.
    """
    nodes = list(walk(value.expr))
    loaded = [each for each in nodes if isinstance(each, Load | Gather)]
    operations = {each.op for each in nodes if isinstance(each, Binary)}
    instead = "use sums, multiples, and // and % by constants"
    if loaded and loaded[0].tensor in variables:
        name = variables[loaded[0].tensor]
        reason = f"as the value of `{name}` is known only when the kernel runs"
        instead = "use loop variables, dims, and variables that are set once, to a form"
    elif loaded and not loaded[0].index:
        reason = f"as `{loaded[0].tensor}` is known only when the kernel runs"
        instead = "use loop variables, and dims in place of scalar parameters"
    elif loaded:
        reason = f"as `{loaded[0].tensor}` is read from memory"
    elif value.dtype.kind != "int":
        floored = text.replace(" / ", " // ")
        hint = f": write `{floored}`" if floored != text else ""
        return f"{what} must be an integer, and `{text}` is {value.dtype}{hint}"
    elif operations & {"floordiv", "mod"}:
        reason = "as the divisor is no positive constant"
    elif "mul" in operations:
        reason = "as it multiplies two variables"
    else:
        reason = "as it is no sum of multiples"
    return (
        f"{what} must be affine in loop variables and dims, and `{text}` is not, "
        f"{reason}: {instead}"
    )
