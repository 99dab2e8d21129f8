"""deriche: smooth an image by Deriche's recursive filter, along rows then columns.

Each direction adds a filter that runs forwards and one that runs backwards.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tdsl
from tdsl import f32

W, H = tdsl.dims("W H")

SIZES = {
    "mini": {"W": 64, "H": 64},
    "primes": {"W": 61, "H": 37},
    "small": {"W": 192, "H": 128},
    "medium": {"W": 720, "H": 480},
    "large": {"W": 4096, "H": 2160},
    "bench": {"W": 4096, "H": 2160},
}

ALPHA = 0.25
DECAY = math.exp(-ALPHA)
GAIN = (1 - DECAY) ** 2 / (1 + 2 * ALPHA * DECAY - math.exp(2 * ALPHA))
# Weights of the newest two inputs forwards, of the last two backwards, and of the
# newest two outputs.
A1, A2 = GAIN, GAIN * DECAY * (ALPHA - 1)
A3, A4 = GAIN * DECAY * (ALPHA + 1), -GAIN * DECAY**2
B1, B2 = 2.0**-ALPHA, -(DECAY**2)

# Where the image is too large for the derived bound to follow each error: a stable
# filter damps errors, which otherwise grow at each pixel in the bound.
TOLERANCE = 1e-5


@tdsl.kernel
def deriche(image: f32[W, H]) -> f32[W, H]:
    """Filter forwards and backwards along each axis."""
    forwards = tdsl.empty((W, H), f32)
    backwards = tdsl.empty((W, H), f32)
    smooth = tdsl.empty((W, H), f32)
    for i in range(W):
        x1 = f32(0)
        y1 = f32(0)
        y2 = f32(0)
        for j in range(H):
            y0 = A1 * image[i, j] + A2 * x1 + B1 * y1 + B2 * y2
            forwards[i, j] = y0
            x1 = image[i, j]
            y2 = y1
            y1 = y0
    for i in range(W):
        x1 = f32(0)
        x2 = f32(0)
        y1 = f32(0)
        y2 = f32(0)
        for back in range(H):
            j = H - 1 - back
            y0 = A3 * x1 + A4 * x2 + B1 * y1 + B2 * y2
            backwards[i, j] = y0
            x2 = x1
            x1 = image[i, j]
            y2 = y1
            y1 = y0
    for i in range(W):
        for j in range(H):
            smooth[i, j] = forwards[i, j] + backwards[i, j]
    for j in range(H):
        x1 = f32(0)
        y1 = f32(0)
        y2 = f32(0)
        for i in range(W):
            y0 = A1 * smooth[i, j] + A2 * x1 + B1 * y1 + B2 * y2
            forwards[i, j] = y0
            x1 = smooth[i, j]
            y2 = y1
            y1 = y0
    for j in range(H):
        x1 = f32(0)
        x2 = f32(0)
        y1 = f32(0)
        y2 = f32(0)
        for back in range(W):
            i = W - 1 - back
            y0 = A3 * x1 + A4 * x2 + B1 * y1 + B2 * y2
            backwards[i, j] = y0
            x2 = x1
            x1 = smooth[i, j]
            y2 = y1
            y1 = y0
    for i in range(W):
        for j in range(H):
            smooth[i, j] = forwards[i, j] + backwards[i, j]
    return smooth


kernel = deriche


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    shape = (dims["W"], dims["H"])
    image = np.fromfunction(lambda i, j: (313 * i + 991 * j) % 65536 / 65535, shape)
    return {"image": image.astype(np.float32)}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"deriche": initialize}


def reference(image: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy: each filter is the solution of a banded system."""
    return {"smooth": _filter(image.shape[0]) @ image @ _filter(image.shape[1]).T}


def _filter(size: int) -> np.ndarray:
    """Return the matrix of the filter, forwards plus backwards, for *size* pixels."""
    one, two = np.eye(size, k=-1), np.eye(size, k=-2)
    recursion = np.eye(size) - B1 * one - B2 * two
    forwards = np.linalg.solve(recursion, A1 * np.eye(size) + A2 * one)
    backwards = np.linalg.solve(recursion, A3 * one + A4 * two)
    return forwards + backwards[::-1, ::-1]
