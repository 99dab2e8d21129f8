"""What to write instead of Python that is outside the kernel language."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from ..ir.dtypes import DTYPES
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
_UPDATES = {
    **dict.fromkeys(("mean", "dot", "inner", "matmul", "einsum"), "+="),
    "prod": "*=",
    **dict.fromkeys(("max", "amax"), "m = max(m, x)"),
    **dict.fromkeys(("min", "amin"), "m = min(m, x)"),
}
"""Functions of whole tensors, and the update of a loop in their place."""
_LIBRARIES = {
    **{name: f"tdsl.{name}(x)" for name in VALUE_FUNCTIONS},
    **dict.fromkeys(("zeros", "zeros_like"), "tdsl.zeros((M, N), f32)"),
    **dict.fromkeys(("empty", "empty_like"), "tdsl.empty((M, N), f32)"),
    **dict.fromkeys(("ones", "ones_like"), "tdsl.full((M, N), f32, 1)"),
    **dict.fromkeys(("full", "full_like"), "tdsl.full((M, N), f32, x)"),
    **dict.fromkeys(("absolute", "fabs"), "tdsl.abs(x)"),
    **dict.fromkeys(("power", "pow", "float_power"), "x ** y"),
    **dict.fromkeys(("maximum", "fmax"), "max(x, y)"),
    **dict.fromkeys(("minimum", "fmin"), "min(x, y)"),
    **dict.fromkeys(("clip", "clamp"), "min(max(x, low), high)"),
    **dict.fromkeys(("mod", "remainder"), "x % y"),
    "conjugate": "tdsl.conj(x)",
    "square": "x * x",
    "reciprocal": "1 / x",
    "relu": "max(x, 0)",
    "log10": "tdsl.log(x) / math.log(10)",
    "tan": "tdsl.sin(x) / tdsl.cos(x)",
    "hypot": "tdsl.sqrt(x * x + y * y)",
}
"""Functions of NumPy, SciPy, PyTorch and others, and what to write in their place."""
_DTYPES = {
    **{dtype.name: dtype.name for dtype in DTYPES.values()},
    **{each.numpy_text.rpartition(".")[2]: each.name for each in DTYPES.values()},
    "half": "f16",
    "double": "f64",
    "bool": "tdsl.bool_",
}
"""The names of dtypes in libraries, and what to write in their place."""
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


def dtype_instead(found: Any, text: str) -> str | None:
    """Return the dtype to write for *found*, of another library, named *text*."""
    if isinstance(found, type) and found in CASTS:
        return CASTS[found]
    return _DTYPES.get(text.strip("'").rpartition(".")[2])


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
    is_plain = isinstance(callee, FunctionType)
    is_own = is_plain and not module.startswith(("numpy", "tdsl"))
    if last != text or not is_own:
        if last in _UPDATES:
            return f"`{text}` is written as a loop with `{_UPDATES[last]}`"
        if last in _LIBRARIES:
            return f"`{text}` is written `{_LIBRARIES[last]}`"
    if is_own:
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
