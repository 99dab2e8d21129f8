"""Products of matrices and vectors."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import prange


def gemm(alpha, beta, A, B, C):
    ni, nk = A.shape
    nj = B.shape[1]
    for i in prange(ni):
        for j in range(nj):
            C[i, j] *= beta
        for k in range(nk):
            for j in range(nj):
                C[i, j] += alpha * A[i, k] * B[k, j]


def gemver(alpha, beta, A, u1, v1, u2, v2, y, z, x, w):
    n = A.shape[0]
    for i in prange(n):
        for j in range(n):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in prange(n):
        x[i] = 0.0
        for j in range(n):
            x[i] += beta * A[j, i] * y[j]
    for i in prange(n):
        x[i] += z[i]
    for i in prange(n):
        w[i] = 0.0
        for j in range(n):
            w[i] += alpha * A[i, j] * x[j]


def gesummv(alpha, beta, A, B, x, y):
    n = A.shape[0]
    for i in prange(n):
        in_a = 0.0
        in_b = 0.0
        for j in range(n):
            in_a += A[i, j] * x[j]
            in_b += B[i, j] * x[j]
        y[i] = alpha * in_a + beta * in_b


def symm(alpha, beta, A, B, C):
    m, n = B.shape
    for i in range(m):
        for j in prange(n):
            mirrored = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                mirrored += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * mirrored


def syrk(alpha, beta, A, C):
    n, m = A.shape
    for i in prange(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


def syr2k(alpha, beta, A, B, C):
    n, m = A.shape
    for i in prange(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]


def trmm(alpha, A, B):
    m, n = B.shape
    for i in range(m):
        for j in prange(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] *= alpha


def two_mm(alpha, beta, A, B, C, D):
    ni, nk = A.shape
    nj, nl = C.shape
    tmp = np.empty((ni, nj))
    for i in prange(ni):
        for j in range(nj):
            tmp[i, j] = 0.0
            for k in range(nk):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in prange(ni):
        for j in range(nl):
            D[i, j] *= beta
            for k in range(nj):
                D[i, j] += tmp[i, k] * C[k, j]


def three_mm(A, B, C, D, G):
    ni, nk = A.shape
    nj, nm = C.shape
    nl = D.shape[1]
    E = np.empty((ni, nj))
    F = np.empty((nj, nl))
    for i in prange(ni):
        for j in range(nj):
            E[i, j] = 0.0
            for k in range(nk):
                E[i, j] += A[i, k] * B[k, j]
    for i in prange(nj):
        for j in range(nl):
            F[i, j] = 0.0
            for k in range(nm):
                F[i, j] += C[i, k] * D[k, j]
    for i in prange(ni):
        for j in range(nl):
            G[i, j] = 0.0
            for k in range(nj):
                G[i, j] += E[i, k] * F[k, j]


def atax(A, x, y):
    m, n = A.shape
    y[:] = 0.0
    for i in range(m):
        product = 0.0
        for j in range(n):
            product += A[i, j] * x[j]
        for j in range(n):
            y[j] += A[i, j] * product


def atax_parallel(A, x, y):
    m, n = A.shape
    total = np.zeros(n)
    for i in prange(m):
        product = 0.0
        for j in range(n):
            product += A[i, j] * x[j]
        total += A[i] * product
    y[:] = total


def bicg(A, p, r, s, q):
    n, m = A.shape
    s[:] = 0.0
    for i in range(n):
        q[i] = 0.0
        for j in range(m):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]


def bicg_parallel(A, p, r, s, q):
    n, m = A.shape
    total = np.zeros(m)
    for i in prange(n):
        product = 0.0
        for j in range(m):
            product += A[i, j] * p[j]
        q[i] = product
        total += r[i] * A[i]
    s[:] = total


def doitgen(A, C4):
    nr, nq, np_ = A.shape
    for r in prange(nr):
        fibre = np.empty(np_)
        for q in range(nq):
            for p in range(np_):
                fibre[p] = 0.0
                for s in range(np_):
                    fibre[p] += A[r, q, s] * C4[s, p]
            for p in range(np_):
                A[r, q, p] = fibre[p]


def mvt(x1, x2, y1, y2, A):
    n = A.shape[0]
    for i in prange(n):
        for j in range(n):
            x1[i] += A[i, j] * y1[j]
    for i in prange(n):
        for j in range(n):
            x2[i] += A[j, i] * y2[j]
