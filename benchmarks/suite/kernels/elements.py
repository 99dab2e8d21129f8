"""Functions of single elements, and arrays read or written once."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import math

import tdsl
from tdsl import f32, f64

N = tdsl.dim("N")


@tdsl.kernel
def exp(X: f32[N]) -> f32[N]:
    """Return e to the x."""
    Y = tdsl.empty((N,), f32)
    for i in range(N):
        Y[i] = tdsl.exp(X[i])
    return Y


@tdsl.kernel
def tanh(X: f32[N]) -> f32[N]:
    """Return the hyperbolic tangent."""
    Y = tdsl.empty((N,), f32)
    for i in range(N):
        Y[i] = tdsl.tanh(X[i])
    return Y


@tdsl.kernel
def sigmoid(X: f32[N]) -> f32[N]:
    """Return 1 / (1 + exp(-x))."""
    Y = tdsl.empty((N,), f32)
    for i in range(N):
        Y[i] = tdsl.sigmoid(X[i])
    return Y


@tdsl.kernel
def silu(X: f32[N]) -> f32[N]:
    """Return x sigmoid(x)."""
    Y = tdsl.empty((N,), f32)
    for i in range(N):
        Y[i] = X[i] * tdsl.sigmoid(X[i])
    return Y


@tdsl.kernel
def gelu(X: f32[N]) -> f32[N]:
    """Return x times the normal distribution function of x."""
    Y = tdsl.empty((N,), f32)
    for i in range(N):
        Y[i] = 0.5 * X[i] * (1.0 + tdsl.erf(X[i] * math.sqrt(0.5)))
    return Y


@tdsl.kernel
def gelu_f64(X: f64[N]) -> f64[N]:
    """Return x times the normal distribution function of x, in double precision."""
    Y = tdsl.empty((N,), f64)
    for i in range(N):
        Y[i] = 0.5 * X[i] * (1.0 + tdsl.erf(X[i] * math.sqrt(0.5)))
    return Y


@tdsl.kernel
def softplus(X: f32[N]) -> f32[N]:
    """Return log(1 + exp(x)), from the side where nothing overflows."""
    Y = tdsl.empty((N,), f32)
    for i in range(N):
        Y[i] = max(X[i], 0.0) + tdsl.log1p(tdsl.exp(-abs(X[i])))
    return Y


@tdsl.kernel
def triad(X: f32[N], Y: f32[N], a: f32) -> f32[N]:
    """Return a x + y."""
    Z = tdsl.empty((N,), f32)
    for i in range(N):
        Z[i] = a * X[i] + Y[i]
    return Z
