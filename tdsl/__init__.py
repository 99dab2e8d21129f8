"""tdsl: loop-level tensor programs, proved schedules, tuned code.

Names are loaded when they are first used: a bare import loads not even NumPy, and takes
a millisecond.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .errors import (
    ArgumentError,
    BackendError,
    CacheError,
    CheckError,
    KernelFaultError,
    KernelSyntaxError,
    KernelTypeError,
    MissingPackageError,
    OutOfMemoryError,
    ProofError,
    ScheduleError,
    SubscriptError,
    TdslError,
    TuningError,
)

if TYPE_CHECKING:
    from .frontend.builtins import (
        abs,
        argmax,
        argmin,
        assume,
        ceil,
        conj,
        cos,
        empty,
        erf,
        exp,
        exp2,
        expm1,
        floor,
        full,
        grid,
        imag,
        injective,
        inout,
        log,
        log1p,
        log2,
        maximum,
        minimum,
        out,
        pow,
        real,
        rsqrt,
        saturate,
        sigmoid,
        sin,
        sqrt,
        tanh,
        zeros,
    )
    from .frontend.inline import inline
    from .ir.dims import dim, dims
    from .ir.dtypes import (
        bf16,
        bool_,
        c64,
        c128,
        f16,
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        u8,
        u16,
        u32,
        u64,
    )
    from .kernel import Kernel, kernel
    from .schedules.schedule import Schedule
    from .tuner.job import tune

_LIGHT = ("tdsl.frontend.builtins", "tdsl.frontend.inline", "tdsl.ir.dtypes")
"""Where a name comes from unless it is below; these import NumPy and no more."""
_HEAVY = {
    "Kernel": "tdsl.kernel",
    "Schedule": "tdsl.schedules.schedule",
    "dim": "tdsl.ir.dims",
    "dims": "tdsl.ir.dims",
    "tune": "tdsl.tuner.job",
}

__all__ = [
    "ArgumentError",
    "BackendError",
    "CacheError",
    "CheckError",
    "Kernel",
    "KernelFaultError",
    "KernelSyntaxError",
    "KernelTypeError",
    "MissingPackageError",
    "OutOfMemoryError",
    "ProofError",
    "Schedule",
    "ScheduleError",
    "SubscriptError",
    "TdslError",
    "TuningError",
    "abs",
    "argmax",
    "argmin",
    "assume",
    "bf16",
    "bool_",
    "c64",
    "c128",
    "ceil",
    "conj",
    "cos",
    "dim",
    "dims",
    "empty",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "f16",
    "f32",
    "f64",
    "floor",
    "full",
    "grid",
    "i8",
    "i16",
    "i32",
    "i64",
    "imag",
    "injective",
    "inline",
    "inout",
    "kernel",
    "log",
    "log1p",
    "log2",
    "maximum",
    "minimum",
    "out",
    "pow",
    "real",
    "rsqrt",
    "saturate",
    "sigmoid",
    "sin",
    "sqrt",
    "tanh",
    "tune",
    "u8",
    "u16",
    "u32",
    "u64",
    "zeros",
]


def __getattr__(name: str) -> Any:
    """Load the module of a public name at its first use."""
    if name not in __all__:
        raise AttributeError(f"module 'tdsl' has no attribute {name!r}")
    places = [_HEAVY[name]] if name in _HEAVY else _LIGHT
    modules = map(import_module, places)
    value = next(getattr(each, name) for each in modules if hasattr(each, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:

    class _Root(ModuleType):
        """This package, in which `kernel` is the decorator and not the submodule.

        Importing `tdsl.kernel` sets that attribute to the module: it is ignored.
        """

        @property
        def kernel(self):
            return import_module("tdsl.kernel").kernel

        @kernel.setter
        def kernel(self, submodule):
            pass

    sys.modules[__name__].__class__ = _Root
