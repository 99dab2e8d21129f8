"""Steps of partial differential equations."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import prange


def adi(u, TSTEPS):
    n = u.shape[0]
    v = np.empty((n, n))
    ratio_v = 2.0 * (n * n / TSTEPS)
    ratio_u = n * n / TSTEPS
    a = -ratio_v / 2.0
    b = 1.0 + ratio_v
    d = -ratio_u / 2.0
    e = 1.0 + ratio_u
    for _t in range(TSTEPS):
        for i in prange(1, n - 1):
            p = np.empty(n)
            q = np.empty(n)
            v[0, i] = 1.0
            p[0] = 0.0
            q[0] = 1.0
            for j in range(1, n - 1):
                p[j] = -a / (a * p[j - 1] + b)
                q[j] = (
                    -d * u[j, i - 1]
                    + (1.0 + 2.0 * d) * u[j, i]
                    - d * u[j, i + 1]
                    - a * q[j - 1]
                ) / (a * p[j - 1] + b)
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[j] * v[j + 1, i] + q[j]
        for i in prange(1, n - 1):
            p = np.empty(n)
            q = np.empty(n)
            u[i, 0] = 1.0
            p[0] = 0.0
            q[0] = 1.0
            for j in range(1, n - 1):
                p[j] = -d / (d * p[j - 1] + e)
                q[j] = (
                    -a * v[i - 1, j]
                    + (1.0 + 2.0 * a) * v[i, j]
                    - a * v[i + 1, j]
                    - d * q[j - 1]
                ) / (d * p[j - 1] + e)
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[j] * u[i, j + 1] + q[j]


def fdtd_2d(ex, ey, hz, source):
    nx, ny = ex.shape
    for t in range(source.shape[0]):
        for j in range(ny):
            ey[0, j] = source[t]
        for i in prange(1, nx):
            for j in range(ny):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in prange(nx):
            for j in range(1, ny):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in prange(nx - 1):
            for j in range(ny - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def heat_3d(A, B, TSTEPS):
    n = A.shape[0]
    for _t in range(TSTEPS):
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


def jacobi_1d(A, B, TSTEPS):
    n = A.shape[0]
    for _t in range(TSTEPS):
        for i in prange(1, n - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in prange(1, n - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])


def jacobi_2d(A, B, TSTEPS):
    n = A.shape[0]
    for _t in range(TSTEPS):
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (
                    A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j]
                )
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (
                    B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j]
                )


def seidel_2d(A, TSTEPS):
    n = A.shape[0]
    for _t in range(TSTEPS):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                above = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                below = A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                others = above + below + A[i, j] + A[i, j + 1]
                A[i, j] = (others + A[i, j - 1]) / 9.0
