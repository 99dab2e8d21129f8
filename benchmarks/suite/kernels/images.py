"""Convolutions of one image, channels last, with bias and ReLU."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import tdsl
from tdsl import f32

H, W, C, F = tdsl.dims("H W C F")


@tdsl.kernel
def conv1x1(X: f32[H, W, C], K: f32[C, F], bias: f32[F]) -> f32[H, W, F]:
    """Mix the channels of each pixel."""
    Y = tdsl.zeros((H, W, F), f32)
    for y, x, f, c in tdsl.grid(H, W, F, C):
        Y[y, x, f] += X[y, x, c] * K[c, f]
    for y, x, f in tdsl.grid(H, W, F):
        Y[y, x, f] = max(Y[y, x, f] + bias[f], 0.0)
    return Y


@tdsl.kernel
def conv3x3(X: f32[H + 2, W + 2, C], K: f32[3, 3, C, F], bias: f32[F]) -> f32[H, W, F]:
    """Correlate a padded image with filters of 3 by 3."""
    Y = tdsl.zeros((H, W, F), f32)
    for y, x, f, dy, dx, c in tdsl.grid(H, W, F, 3, 3, C):
        Y[y, x, f] += X[y + dy, x + dx, c] * K[dy, dx, c, f]
    for y, x, f in tdsl.grid(H, W, F):
        Y[y, x, f] = max(Y[y, x, f] + bias[f], 0.0)
    return Y


@tdsl.kernel
def conv7x7s2(
    X: f32[2 * H + 5, 2 * W + 5, C], K: f32[7, 7, C, F], bias: f32[F]
) -> f32[H, W, F]:
    """Correlate a padded image with filters of 7 by 7, at every second pixel."""
    Y = tdsl.zeros((H, W, F), f32)
    for y, x, f, dy, dx, c in tdsl.grid(H, W, F, 7, 7, C):
        Y[y, x, f] += X[2 * y + dy, 2 * x + dx, c] * K[dy, dx, c, f]
    for y, x, f in tdsl.grid(H, W, F):
        Y[y, x, f] = max(Y[y, x, f] + bias[f], 0.0)
    return Y


@tdsl.kernel
def depthwise3x3(
    X: f32[H + 2, W + 2, C], K: f32[3, 3, C], bias: f32[C]
) -> f32[H, W, C]:
    """Correlate each channel of a padded image with a filter of its own."""
    Y = tdsl.zeros((H, W, C), f32)
    for y, x, c, dy, dx in tdsl.grid(H, W, C, 3, 3):
        Y[y, x, c] += X[y + dy, x + dx, c] * K[dy, dx, c]
    for y, x, c in tdsl.grid(H, W, C):
        Y[y, x, c] = max(Y[y, x, c] + bias[c], 0.0)
    return Y
