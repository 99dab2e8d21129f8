"""A recursive filter and two programs of dynamic programming."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import prange

from examples.polybench.deriche import A1, A2, A3, A4, B1, B2

# As float32, or Numba computes the filter in float64.
a1, a2, a3, a4, b1, b2 = (np.float32(each) for each in (A1, A2, A3, A4, B1, B2))


def deriche(image, smooth):
    w, h = image.shape
    zero = np.float32(0)
    forwards = np.empty((w, h), np.float32)
    backwards = np.empty((w, h), np.float32)
    for i in prange(w):
        x1 = zero
        y1 = zero
        y2 = zero
        for j in range(h):
            y0 = a1 * image[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            forwards[i, j] = y0
            x1 = image[i, j]
            y2 = y1
            y1 = y0
    for i in prange(w):
        x1 = zero
        x2 = zero
        y1 = zero
        y2 = zero
        for j in range(h - 1, -1, -1):
            y0 = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            backwards[i, j] = y0
            x2 = x1
            x1 = image[i, j]
            y2 = y1
            y1 = y0
    for i in prange(w):
        for j in range(h):
            smooth[i, j] = forwards[i, j] + backwards[i, j]
    for j in prange(h):
        x1 = zero
        y1 = zero
        y2 = zero
        for i in range(w):
            y0 = a1 * smooth[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            forwards[i, j] = y0
            x1 = smooth[i, j]
            y2 = y1
            y1 = y0
    for j in prange(h):
        x1 = zero
        x2 = zero
        y1 = zero
        y2 = zero
        for i in range(w - 1, -1, -1):
            y0 = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            backwards[i, j] = y0
            x2 = x1
            x1 = smooth[i, j]
            y2 = y1
            y1 = y0
    for i in prange(w):
        for j in range(h):
            smooth[i, j] = forwards[i, j] + backwards[i, j]


def floyd_warshall(path):
    n = path.shape[0]
    to_node = np.empty(n, np.int32)
    from_node = np.empty(n, np.int32)
    for k in range(n):
        for i in range(n):
            to_node[i] = path[i, k]
            from_node[i] = path[k, i]
        for i in prange(n):
            for j in range(n):
                path[i, j] = min(path[i, j], to_node[i] + from_node[j])


def nussinov(seq, table):
    n = seq.shape[0]
    table[:] = 0
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j - 1], table[i + 1, j])
            if j > i + 1:
                pairs = 1 if seq[i] + seq[j] == 3 else 0
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs)
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
