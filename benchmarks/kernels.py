"""A convolution without what follows it: the suite's kernels add a bias and a ReLU."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import tdsl
from tdsl import f32

H, W, C, F = tdsl.dims("H W C F")


@tdsl.kernel
def conv3x3(X: f32[H + 2, W + 2, C], K3: f32[3, 3, C, F]) -> f32[H, W, F]:
    """Correlate an image of C channels with F filters of 3 by 3, channels last."""
    Y = tdsl.zeros((H, W, F), f32)
    for y, x, f, dy, dx, c in tdsl.grid(H, W, F, 3, 3, C):
        Y[y, x, f] += X[y + dy, x + dx, c] * K3[dy, dx, c, f]
    return Y
