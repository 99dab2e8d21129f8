"""Lesson 3: stencils, several stages in one kernel, and honest comparison.

What you learn: subscripts with offsets and shapes with dim expressions; a local tensor
between two stages; what "the same result" means for floating point: every pixel is
compared within an error bound that tdsl derives from the kernel's own arithmetic, and
not within a tolerance that somebody guessed.

The photograph is the one of 512 by 512 pixels that scikit-image ships. It is blurred
by a Gaussian, first along rows, then along columns:

    for y in range(H + S - 1):
        for x in range(W):
            for k in range(S):
                rows[y, x] += P[y, x + k] * w[k]
    for y in range(H):
        for x in range(W):
            for k in range(S):
                B[y, x] += rows[y + k, x] * w[k]

and then its edges are found by the Sobel filter, the length of the gradient. Borders
are handled by padding with the nearest pixel, as scipy.ndimage does with
mode="nearest".

    python examples/03_photo.py photo.png
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from PIL import Image
from scipy import ndimage
from skimage import data

import tdsl
from tdsl import f32
from tdsl.backends.comparison import error_over_bound
from tdsl.backends.error_bound import evaluate_with_bound

H, W = tdsl.dims("H W")
S = tdsl.dim("S", min=1)
SIGMA, RADIUS = 2.0, 8


@tdsl.kernel
def blur(w: f32[S], P: f32[H + S - 1, W + S - 1]) -> f32[H, W]:
    """Correlate rows, then columns, with the same weights."""
    rows = tdsl.zeros((H + S - 1, W), f32)
    for y, x, k in tdsl.grid(H + S - 1, W, S):
        rows[y, x] += P[y, x + k] * w[k]
    B = tdsl.zeros((H, W), f32)
    for y, x, k in tdsl.grid(H, W, S):
        B[y, x] += rows[y + k, x] * w[k]
    return B


@tdsl.kernel
def edges(P: f32[H + 2, W + 2]) -> f32[H, W]:
    """Return the length of the Sobel gradient."""
    E = tdsl.empty((H, W), f32)
    for y, x in tdsl.grid(H, W):
        right = P[y, x + 2] + 2.0 * P[y + 1, x + 2] + P[y + 2, x + 2]
        left = P[y, x] + 2.0 * P[y + 1, x] + P[y + 2, x]
        below = P[y + 2, x] + 2.0 * P[y + 2, x + 1] + P[y + 2, x + 2]
        above = P[y, x] + 2.0 * P[y, x + 1] + P[y, x + 2]
        E[y, x] = tdsl.sqrt((right - left) ** 2 + (below - above) ** 2)
    return E


def gaussian(sigma: float, radius: int) -> np.ndarray:
    """Return the weights of a Gaussian, which sum to one."""
    offsets = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    return (weights / weights.sum()).astype(np.float32)


def scipy_blur(photo: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Blur in float64 with scipy."""
    wide = ndimage.correlate1d(photo.astype(float), weights, axis=1, mode="nearest")
    return ndimage.correlate1d(wide, weights, axis=0, mode="nearest")


def scipy_edges(photo: np.ndarray) -> np.ndarray:
    """Find edges in float64 with scipy."""
    wide = photo.astype(float)
    across, down = (ndimage.sobel(wide, axis, mode="nearest") for axis in (1, 0))
    return np.hypot(across, down)


def compare(
    kernel: tdsl.Kernel,
    inputs: Sequence[np.ndarray],
    ours: np.ndarray,
    theirs: np.ndarray,
) -> float:
    """Return the largest difference of two results, as a share of *kernel*'s bound."""
    call = kernel.bind(inputs, {})
    names = [param.tensor.name for param in kernel.function.params]
    arrays = dict(zip(names, call.values, strict=True))
    _, bound = evaluate_with_bound(kernel.function, arrays, call.dims)[names[-1]]
    worst = float(error_over_bound(ours, theirs, bound).max())
    print(f"{kernel.name}: the largest error is {worst:.3f} of its bound")
    return worst


def main(arguments: Sequence[str] = ()) -> float:
    """Filter the photo, compare with scipy; return the largest error over its bound."""
    parser = argparse.ArgumentParser(description="blur a photo and find its edges")
    parser.add_argument("output", nargs="?", default="photo.png", help="PNG to write")
    options = parser.parse_args(arguments)

    photo = data.camera().astype(np.float32)
    weights = gaussian(SIGMA, RADIUS)
    padded = np.pad(photo, RADIUS, mode="edge")
    blurred = blur(weights, padded)
    framed = np.pad(blurred, 1, mode="edge")
    outline = edges(framed)

    worst = max(
        compare(blur, (weights, padded), blurred, scipy_blur(photo, weights)),
        compare(edges, (framed,), outline, scipy_edges(blurred)),
    )
    shown = np.hstack([photo, blurred, np.minimum(outline, 255)])
    Image.fromarray(np.rint(shown).astype(np.uint8)).save(options.output)
    print(f"wrote {options.output}: the photo, blurred, and its edges")
    return worst


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
