"""The functions a kernel may call, and the stand-ins for them outside a kernel."""

from __future__ import annotations

import builtins
import math
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..errors import ArgumentError, TdslError
from ..ir.dtypes import DTYPES, DType, TensorType, bf16, boolean
from ..ir.given import shown
from ..ir.nodes import Role


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A function of the kernel language, by the name it has in `tdsl`."""

    name: str
    numpy: str | None = None

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        """Refuse: there is nothing to compute outside a kernel."""
        instead = f"; use numpy.{self.numpy} here" if self.numpy else ""
        raise TdslError(
            f"tdsl.{self.name}(...) has a meaning only inside a kernel{instead}"
        )

    def __repr__(self) -> str:
        return f"tdsl.{self.name}"


@dataclass(frozen=True, slots=True)
class ResultType:
    """A tensor type with the role of an output, as `out` and `inout` return it."""

    type: TensorType
    role: Role


def out(type: TensorType) -> ResultType:
    """Annotate a parameter that the kernel writes: `C: tdsl.out(f32[M, N])`."""
    return _result("out", type, Role.OUTPUT)


def inout(type: TensorType) -> ResultType:
    """Annotate a parameter that the kernel updates: `C: tdsl.inout(f32[M, N])`."""
    return _result("inout", type, Role.INOUT)


def _result(function: str, type: TensorType, role: Role) -> ResultType:
    if not isinstance(type, TensorType) or not type.shape:
        given = type if isinstance(type, DType | TensorType) else shown(type)
        raise ArgumentError(
            f"tdsl.{function}({given}) names no tensor type: write "
            f"tdsl.{function}(f32[M]), and f32[1] for a single number"
        )
    return ResultType(type, role)


exp = KernelFunction("exp", "exp")
exp2 = KernelFunction("exp2", "exp2")
expm1 = KernelFunction("expm1", "expm1")
log = KernelFunction("log", "log")
log2 = KernelFunction("log2", "log2")
log1p = KernelFunction("log1p", "log1p")
sqrt = KernelFunction("sqrt", "sqrt")
rsqrt = KernelFunction("rsqrt")
tanh = KernelFunction("tanh", "tanh")
erf = KernelFunction("erf")
sin = KernelFunction("sin", "sin")
cos = KernelFunction("cos", "cos")
abs = KernelFunction("abs", "abs")
floor = KernelFunction("floor", "floor")
ceil = KernelFunction("ceil", "ceil")
real = KernelFunction("real", "real")
imag = KernelFunction("imag", "imag")
conj = KernelFunction("conj", "conj")
sigmoid = KernelFunction("sigmoid")
pow = KernelFunction("pow", "power")
minimum = KernelFunction("minimum", "minimum")
maximum = KernelFunction("maximum", "maximum")
zeros = KernelFunction("zeros", "zeros")
empty = KernelFunction("empty", "empty")
full = KernelFunction("full", "full")
grid = KernelFunction("grid")
argmax = KernelFunction("argmax", "argmax")
argmin = KernelFunction("argmin", "argmin")
saturate = KernelFunction("saturate")
assume = KernelFunction("assume")
injective = KernelFunction("injective")

FLOAT_FUNCTIONS = frozenset(
    {
        *("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt"),
        *("tanh", "erf", "sin", "cos", "sigmoid"),
    }
)
"""Functions of one number that give a float; integers become f64 first."""

ROUNDING_FUNCTIONS = frozenset({"floor", "ceil"})
PART_FUNCTIONS = frozenset({"real", "imag", "conj"})
COMPLEX_FUNCTIONS = PART_FUNCTIONS | {"abs"}
"""Functions of complex numbers; `conj` gives one too."""

STATEMENT_FUNCTIONS: dict[str, str] = {
    "range": "stands after `in`: write `for i in {0}(...):`",
    "grid": "stands after `in`: write `for i, j in {0}(...):`",
    "argmax": "stands alone: write `k = {0}(A[i] for i in range(M))`",
    "argmin": "stands alone: write `k = {0}(A[i] for i in range(M))`",
    "assume": "stands at the start of the kernel, before other statements",
    "injective": "is something to assume: write `tdsl.assume({0}(P))`",
}
"""What is no value, and where it stands instead."""

BINARY_FUNCTIONS = {"pow": "pow", "min": "min", "max": "max"}
TENSOR_FUNCTIONS = frozenset({"zeros", "empty", "full"})

_SAME: dict[str, tuple[Any, ...]] = {
    "exp": (exp, math.exp, np.exp),
    "exp2": (exp2, math.exp2, np.exp2),
    "expm1": (expm1, math.expm1, np.expm1),
    "log": (log, math.log, np.log),
    "log2": (log2, math.log2, np.log2),
    "log1p": (log1p, math.log1p, np.log1p),
    "sqrt": (sqrt, math.sqrt, np.sqrt),
    "rsqrt": (rsqrt,),
    "tanh": (tanh, math.tanh, np.tanh),
    "erf": (erf, math.erf),
    "sin": (sin, math.sin, np.sin),
    "cos": (cos, math.cos, np.cos),
    "abs": (abs, builtins.abs, math.fabs, np.abs),
    "floor": (floor, math.floor, np.floor),
    "ceil": (ceil, math.ceil, np.ceil),
    "real": (real, np.real),
    "imag": (imag, np.imag),
    "conj": (conj, np.conj),
    "sigmoid": (sigmoid,),
    "pow": (pow, builtins.pow, math.pow, np.power),
    "min": (minimum, min, np.minimum),
    "max": (maximum, max, np.maximum),
    "zeros": (zeros, np.zeros),
    "empty": (empty, np.empty),
    "full": (full, np.full),
    "grid": (grid,),
    "argmax": (argmax, np.argmax),
    "argmin": (argmin, np.argmin),
    "saturate": (saturate,),
    "assume": (assume,),
    "injective": (injective,),
    "range": (range,),
}
_BY_OBJECT = {each: name for name, same in _SAME.items() for each in same}

VALUE_FUNCTIONS: tuple[str, ...] = tuple(
    sorted(set(_SAME) - TENSOR_FUNCTIONS - set(STATEMENT_FUNCTIONS))
)
"""What may be called in an expression, besides casts."""

CASTS: dict[Any, str] = {
    float: "f64",
    int: "i64",
    bool: "tdsl.bool_",
    complex: "c128",
    **{
        dtype.numpy.type: dtype.name
        for dtype in DTYPES.values()
        if dtype not in (bf16, boolean)
    },
    np.bool_: "tdsl.bool_",
}
"""Python and NumPy types, and the tdsl cast or dtype to write instead."""


def function_name(value: object) -> str | None:
    """Return the language's name for *value*, or None if a kernel cannot call it."""
    try:
        return _BY_OBJECT.get(value)
    except TypeError:  # unhashable
        return None
