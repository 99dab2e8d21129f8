"""The functions, as kernels and as exact references."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np
from scipy import special

import tdsl
from tdsl import f32, f64

N = tdsl.dim("N")


def unary(function, dtype):
    """Return the kernel that applies *function* to each element."""

    @tdsl.kernel
    def apply(X: dtype[N]) -> dtype[N]:
        Y = tdsl.empty((N,), dtype)
        for i in range(N):
            Y[i] = function(X[i])
        return Y

    return apply


def binary(function, dtype):
    """Return the kernel that applies *function* to pairs of elements."""

    @tdsl.kernel
    def apply(X: dtype[N], Y: dtype[N]) -> dtype[N]:
        Z = tdsl.empty((N,), dtype)
        for i in range(N):
            Z[i] = function(X[i], Y[i])
        return Z

    return apply


@dataclass(frozen=True)
class Function:
    """A function: in NumPy for float64, in mpmath, and where to sample float64.

    Samples are spread evenly over *span*, or over the exponents in it if *by_exponent*.
    *ulps* is what float32 results may be off by.
    """

    name: str
    numpy: Callable
    mpmath: Callable
    span: tuple[float, float]
    by_exponent: bool = False
    ulps: float = 1.0
    operands: int = 1

    def kernel(self, dtype):
        """Return the kernel for *dtype*."""
        make = unary if self.operands == 1 else binary
        return make(getattr(tdsl, self.name), dtype)


def _sigmoid(x):
    tail = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + tail), tail / (1 + tail))


FUNCTIONS = (
    Function("exp", np.exp, mpmath.exp, (-745.0, 709.0)),
    Function("exp2", np.exp2, lambda x: mpmath.mpf(2) ** x, (-1074.0, 1023.0)),
    Function("expm1", np.expm1, mpmath.expm1, (-40.0, 709.0)),
    Function("log", np.log, mpmath.log, (-1074.0, 1023.0), by_exponent=True),
    Function(
        "log2", np.log2, lambda x: mpmath.log(x, 2), (-1074.0, 1023.0), by_exponent=True
    ),
    Function("log1p", np.log1p, mpmath.log1p, (-60.0, 1023.0), by_exponent=True),
    Function("tanh", np.tanh, mpmath.tanh, (-20.0, 20.0)),
    Function("erf", special.erf, mpmath.erf, (-6.0, 6.0), ulps=2.0),
    Function("sigmoid", _sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), (-740.0, 740.0)),
    Function("sin", np.sin, mpmath.sin, (-1e5, 1e5)),
    Function("cos", np.cos, mpmath.cos, (-1e5, 1e5)),
    Function("sqrt", np.sqrt, mpmath.sqrt, (-1074.0, 1023.0), by_exponent=True),
    Function(
        "rsqrt",
        lambda x: 1 / np.sqrt(x),
        lambda x: 1 / mpmath.sqrt(x),
        (-1074.0, 1023.0),
        by_exponent=True,
    ),
    Function("pow", np.power, mpmath.power, (0.0, 10.0), ulps=2.0, operands=2),
)
DTYPES = {"f32": f32, "f64": f64}
