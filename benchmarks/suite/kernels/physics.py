"""Stencils that run for several steps, and bodies that attract one another."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import tdsl
from tdsl import f32

T, N = tdsl.dims("T N")
SOFTENING = 1e-3


@tdsl.kernel
def jacobi(A: tdsl.inout(f32[N, N]), B: tdsl.inout(f32[N, N])):
    """Take the mean of five neighbours in the plane, 2 T times."""
    for _t in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                near = A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j]
                B[i, j] = 0.2 * (A[i, j] + near)
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                near = B[i, j - 1] + B[i, j + 1] + B[i - 1, j] + B[i + 1, j]
                A[i, j] = 0.2 * (B[i, j] + near)


@tdsl.kernel
def heat(A: tdsl.inout(f32[N, N, N]), B: tdsl.inout(f32[N, N, N])):
    """Add an eighth of the Laplacian in space, 2 T times."""
    for _t in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    rows = A[i, j - 1, k] + A[i, j + 1, k]
                    planes = A[i - 1, j, k] + A[i + 1, j, k]
                    near = A[i, j, k - 1] + A[i, j, k + 1] + rows + planes
                    B[i, j, k] = 0.25 * A[i, j, k] + 0.125 * near
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    rows = B[i, j - 1, k] + B[i, j + 1, k]
                    planes = B[i - 1, j, k] + B[i + 1, j, k]
                    near = B[i, j, k - 1] + B[i, j, k + 1] + rows + planes
                    A[i, j, k] = 0.25 * B[i, j, k] + 0.125 * near


@tdsl.kernel
def seidel(A: tdsl.inout(f32[N, N])):
    """Take the mean of nine neighbours in place, T times, of new values if there."""
    for _t in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                above = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                below = A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                A[i, j] = (above + below + A[i, j] + A[i, j + 1] + A[i, j - 1]) / 9.0


@tdsl.kernel
def attraction(X: f32[N], Y: f32[N], Z: f32[N], mass: f32[N]) -> f32[3, N]:
    """Return the acceleration of N bodies by gravity, softened at short distance."""
    F = tdsl.zeros((3, N), f32)
    for i, j in tdsl.grid(N, N):
        dx = X[j] - X[i]
        dy = Y[j] - Y[i]
        dz = Z[j] - Z[i]
        near = tdsl.rsqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
        pull = mass[j] * near * near * near
        F[0, i] += pull * dx
        F[1, i] += pull * dy
        F[2, i] += pull * dz
    return F
