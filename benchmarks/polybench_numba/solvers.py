"""Factorisations, substitutions, and matrices of statistics."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import prange


def cholesky(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])


def durbin(r, y):
    n = r.shape[0]
    z = np.empty(n)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


def gramschmidt(A, Q, R):
    m, n = A.shape
    R[:] = 0.0
    for k in range(n):
        square = 0.0
        for i in range(m):
            square += A[i, k] * A[i, k]
        R[k, k] = np.sqrt(square)
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in prange(k + 1, n):
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] -= Q[i, k] * R[k, j]


def lu(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in prange(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def ludcmp(A, b, x, y):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            below = A[i, j]
            for k in range(j):
                below -= A[i, k] * A[k, j]
            A[i, j] = below / A[j, j]
        for j in prange(i, n):
            above = A[i, j]
            for k in range(i):
                above -= A[i, k] * A[k, j]
            A[i, j] = above
    for i in range(n):
        rest = b[i]
        for j in range(i):
            rest -= A[i, j] * y[j]
        y[i] = rest
    for i in range(n - 1, -1, -1):
        rest = y[i]
        for j in range(i + 1, n):
            rest -= A[i, j] * x[j]
        x[i] = rest / A[i, i]


def trisolv(L, b, x):
    n = L.shape[0]
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def correlation(data, corr):
    n, m = data.shape
    mean = np.empty(m)
    stddev = np.empty(m)
    for j in prange(m):
        total = 0.0
        for i in range(n):
            total += data[i, j]
        mean[j] = total / n
    for j in prange(m):
        total = 0.0
        for i in range(n):
            total += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        deviation = np.sqrt(total / n)
        stddev[j] = 1.0 if deviation <= 0.1 else deviation
    for i in prange(n):
        for j in range(m):
            data[i, j] = (data[i, j] - mean[j]) / (np.sqrt(n) * stddev[j])
    for i in prange(m - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, m):
            corr[i, j] = 0.0
            for k in range(n):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1.0


def covariance(data, cov):
    n, m = data.shape
    mean = np.empty(m)
    for j in prange(m):
        total = 0.0
        for i in range(n):
            total += data[i, j]
        mean[j] = total / n
    for i in prange(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in prange(m):
        for j in range(i, m):
            cov[i, j] = 0.0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1
            cov[j, i] = cov[i, j]
