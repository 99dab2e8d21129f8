"""Programs with data for the interpreter and the error bounds, and wrong variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tdsl.ir.dtypes import DType, f32, f64, i32
from tdsl.ir.nodes import (
    Alloc,
    Const,
    Expr,
    Function,
    Reduce,
    Role,
    Stmt,
    Store,
    Tensor,
)
from tdsl.ir.walk import rewrite, rewrite_expr

from ..ir_text import read_function
from ..kernels import MATMUL, edited


@dataclass(frozen=True)
class Program:
    """A program as text, sizes for it, and edits of the text that make it wrong."""

    text: str
    dims: Mapping[str, int]
    faults: tuple[tuple[str, str], ...] = ()

    @property
    def function(self) -> Function:
        return read_function(self.text)

    def wrong(self, fault: tuple[str, str]) -> Function:
        return read_function(edited(self.text, fault))


PROGRAMS: dict[str, Program] = {
    "matmul": Program(
        MATMUL,
        {"M": 9, "N": 8, "K": 40},
        (("range(K)", "range(K - 1)"), ("B[k, j]", "B[k, 0]"), ("A[i, k]", "A[i, 0]")),
    ),
    "batched": Program(
        """
def batched(A: f32[B, M, K], W: f32[B, K, N], C: inout f32[B, M, N]) for B, M, N, K:
    for b in range(B):
        for i in range(M):
            for j in range(N):
                s = local f32 in registers
                s = 0.0
                for k in range(K):
                    s += -(2.0 * A[b, i, k] * W[b, k, j])
                C[b, i, j] += s
""",
        {"B": 3, "M": 9, "N": 8, "K": 21},
        (("2.0 *", "2.001 *"), ("W[b", "W[0"), ("C[b, i, j] += s", "C[b, i, j] = s")),
    ),
    "convolution": Program(
        """
def convolution(X: f32[H + 2, W + 2], F: f32[3, 3], Y: output f32[H, W]) for H, W:
    for h in range(H):
        for w in range(W):
            Y[h, w] = 0.0
            for r in range(3):
                for s in range(3):
                    Y[h, w] += X[h + r, w + s] * F[r, s]
""",
        {"H": 30, "W": 31},
        (("F[r, s]", "F[s, r]"), ("range(3)", "range(2)"), ("w + s", "w + r")),
    ),
    "scattered": Program(
        """
def scattered(a: f32[M], b: f32[N], c: output f32[M + N - 1]) for M, N:
    for z in range(M + N - 1):
        c[z] = 0.0
    for i in range(M):
        for j in range(N):
            c[i + j] += a[i] * b[j]
""",
        {"M": 17, "N": 5},
        (("range(N)", "range(1, N)"), ("c[i + j]", "c[i]")),
    ),
    "halving": Program(
        """
def halving(a: f32[2*N], c: output f32[N]) for N:
    for z in range(N):
        c[z] = 0.0
    for i in range(2*N):
        c[i//2] += a[i]
""",
        {"N": 9},
        (("a[i]", "a[0]"),),
    ),
    "softmax": Program(
        """
def softmax(X: f32[M, N], Y: output f32[M, N]) for M, N:
    for i in range(M):
        m = local f32 in registers
        m = X[i, 0]  # S0[i]
        for j in range(N):
            m = max(m, X[i, j])  # S1[i, j]
        s = local f32 in registers
        s = 0.0  # S2[i]
        for j2 in range(N):
            Y[i, j2] = exp(X[i, j2] - m)  # S3[i, j2]
            s += Y[i, j2]  # S4[i, j2]
        for j3 in range(N):
            Y[i, j3] = Y[i, j3] / s  # S5[i, j3]
""",
        {"M": 7, "N": 33},
        (
            ("j3 in range(N)", "j3 in range(1, N)"),
            ("/ s", "* s"),
            ("exp(X", "exp(0.999 * X"),
        ),
    ),
    "layer_norm": Program(
        """
def layer_norm(X: f32[M, N], g: f32[N], Y: output f32[M, N], n: f32) for M, N:
    for i in range(M):
        mean = local f32 in registers
        mean = 0.0  # S0[i]
        for j in range(N):
            mean += X[i, j] / n  # S1[i, j]
        var = local f32 in registers
        var = 0.0  # S2[i]
        for j2 in range(N):
            var += (X[i, j2] - mean) * (X[i, j2] - mean)  # S3[i, j2]
        for j3 in range(N):
            Y[i, j3] = (X[i, j3] - mean) * rsqrt(var / n + 0.00001) * g[j3]  # S4[i, j3]
""",
        {"M": 5, "N": 48},
        (("g[j3]", "g[0]"), ("0.00001", "0.01"), ("(X[i, j3] - mean)", "(X[i, j3])")),
    ),
    "stencil": Program(
        """
def stencil(A: inout f32[N + 2], B: output f32[N + 2]) for N, T:
    for p in range(N + 2):
        B[p] = A[p]
    for t in range(T):
        for i in range(1, N + 1):
            B[i] = 0.25 * A[i - 1] + 0.5 * A[i] + 0.25 * A[i + 1]
        for i2 in range(1, N + 1):
            A[i2] = B[i2]
""",
        {"N": 30, "T": 6},
        (("0.5", "0.5001"), ("A[i - 1]", "A[i]"), ("range(T)", "range(T - 1)")),
    ),
    "gauss_seidel": Program(
        """
def gauss_seidel(A: inout f32[N + 2]) for N, T:
    for t in range(T):
        for i in range(1, N + 1):
            A[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0
""",
        {"N": 12, "T": 3},
        (("A[i - 1]", "A[i]"),),
    ),
    "prefix_sum": Program(
        """
def prefix_sum(X: f32[M, N], Y: output f32[M, N]) for M, N:
    for i in range(M):
        s = local f32 in registers
        s = 0.0
        for j in range(N):
            s += X[i, j]
            Y[i, j] = s
""",
        {"M": 6, "N": 25},
        (("s += X[i, j]", "s = X[i, j]"),),
    ),
    "triangular_solve": Program(
        """
def triangular_solve(L: f32[N, N], b: f32[N, R], x: output f32[N, R]) for N, R:
    for i in range(N):
        for r in range(R):
            x[i, r] = b[i, r]
            for j in range(i):
                x[i, r] += -(L[i, j] * x[j, r])
            x[i, r] = x[i, r] / (16.0 + L[i, i])
""",
        {"N": 24, "R": 3},
        (("range(i)", "range(i - 1)"), ("L[i, j]", "L[j, i]")),
    ),
    "triangular_product": Program(
        """
def triangular_product(L: f32[N, N], B: f32[N, R], C: output f32[N, R]) for N, R:
    for i in range(N):
        for r in range(R):
            C[i, r] = 0.0
            for j in range(i + 1):
                C[i, r] += L[i, j] * B[j, r]
""",
        {"N": 24, "R": 13},
        (("range(i + 1)", "range(i)"), ("range(i + 1)", "range(N)")),
    ),
    "symmetric_rank_k": Program(
        """
def symmetric_rank_k(A: f32[N, K], C: inout f32[N, N]) for N, K:
    for i in range(N):
        for j in range(i + 1):
            for k in range(K):
                C[i, j] += A[i, k] * A[j, k]
""",
        {"N": 19, "K": 23},
        (("range(i + 1)", "range(i)"), ("A[j, k]", "A[i, k]")),
    ),
    "pooling": Program(
        """
def pooling(X: f32[2*N + 1], Y: output f32[N], Z: output f32[N]) for N:
    for i in range(N):
        Z[i] = 0.0
        if i - 1 >= 0:
            Z[i] = 1.0
        Y[i] = X[2*i]
        for w in range(3):
            Y[i] = max(Y[i], X[2*i + w] * 1.5)
            Z[i] *= X[2*i + w]
""",
        {"N": 20},
        (("range(3)", "range(2)"), ("i - 1 >= 0", "i - 2 >= 0"), ("2*i + w", "2*i")),
    ),
    "mixed_updates": Program(
        """
def mixed_updates(X: f32[N], Y: output f32[2]) for N:
    Y[0] = 0.0
    Y[1] = 1.0
    for i in range(N):
        Y[0] += X[i]
        Y[0] = min(Y[0], 0.5)
        Y[1] *= X[i]
        Y[1] = min(Y[1], 2.0)
""",
        {"N": 30},
        (("min(Y[0], 0.5)", "min(Y[0], 0.4)"),),
    ),
    "distance": Program(
        """
def distance(A: f32[M, K], B: f32[N, K], D: output f32[M, N]) for M, N, K:
    for i in range(M):
        for j in range(N):
            D[i, j] = 0.0
            for k in range(K):
                d = local f32 in registers
                d = A[i, k] - B[j, k]
                D[i, j] += d * d
            D[i, j] = sqrt(D[i, j])
""",
        {"M": 13, "N": 14, "K": 15},
        (("B[j, k]", "B[j, 0]"), ("sqrt(D[i, j])", "D[i, j]")),
    ),
    "functions": Program(
        """
def functions(X: f32[N], Y: output f32[N], Z: output f32[N]) for N:
    for i in range(N):
        t = local f32 in registers
        t = X[i] * 0.7 + 0.1
        Y[i] = tanh(t) * erf(t) + sigmoid(t) * sin(t) - cos(t * 3.0)
        Y[i] = Y[i] + log(abs(t) + 1.0) * exp2(-abs(t)) + expm1(t / (1.0 + abs(t)))
        Z[i] = (log1p(t * t) if t > 0.0 else min(t, -1.0)) + pow(t * t + 1.0, 0.3)
""",
        {"N": 200},
        (("0.7", "0.70001"), ("erf", "tanh"), ("t > 0.0", "t > 0.2"), ("0.3", "0.31")),
    ),
}
"""Each wrong variant is an edit whose result differs on random data."""


def in_double(function: Function) -> Function:
    """Return *function* with f64 in place of f32."""
    return _converted(function, {f32: f64})


def as_integers(function: Function) -> Function:
    """Return *function*, whose tensors are i32, with its literals as i32 too."""
    return _converted(function, {f32: i32})


def _converted(function: Function, change: Mapping[DType, DType]) -> Function:
    def expression(expr: Expr) -> Expr:
        dtype = change.get(expr.dtype, expr.dtype)
        if isinstance(expr, Const) and dtype.kind == "int":
            return replace(expr, dtype=dtype, value=int(expr.value))
        return replace(expr, dtype=dtype)

    def tensor(old: Tensor) -> Tensor:
        return replace(old, dtype=change.get(old.dtype, old.dtype))

    def statement(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store | Reduce):
            return replace(stmt, value=rewrite_expr(stmt.value, expression))
        if isinstance(stmt, Alloc):
            return replace(stmt, tensor=tensor(stmt.tensor))
        return stmt

    params = tuple(replace(p, tensor=tensor(p.tensor)) for p in function.params)
    return replace(rewrite(function, statement), params=params)


def random_arrays(
    function: Function, dims: Mapping[str, int], seed: int, spread: float = 0.0
) -> dict[str, Any]:
    """Return random arguments; *spread* is the standard deviation of log10 of sizes."""
    random = np.random.default_rng(seed)
    arrays: dict[str, Any] = {}
    for param in function.params:
        shape = tuple(extent.evaluate(dims) for extent in param.tensor.shape)
        data = random.standard_normal(shape) * 10 ** (
            spread * random.standard_normal(shape)
        )
        if not shape:
            data = np.asarray(float(dims.get("N", 3)))
        arrays[param.tensor.name] = np.array(data, param.tensor.dtype.numpy)
        if param.role is Role.OUTPUT:
            arrays[param.tensor.name] = np.full(shape, np.nan, param.tensor.dtype.numpy)
    return arrays


def copies(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies, for a run to write into."""
    return {name: np.array(array) for name, array in arrays.items()}
