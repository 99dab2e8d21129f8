"""Stencils that run for several steps, and bodies that attract one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SOFTENING = 1e-3


def numpy_jacobi(np: Any, a: Any, b: Any, steps: int) -> Any:
    """Take means of five neighbours, a whole plane at a time."""
    for _ in range(steps):
        for x, y in ((a, b), (b, a)):
            near = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
            y[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + near)
    return a


def numpy_heat(np: Any, a: Any, b: Any, steps: int) -> Any:
    """Add an eighth of the Laplacian, the whole space at a time."""
    inner, low, high = slice(1, -1), slice(None, -2), slice(2, None)
    middle = (inner, inner, inner)
    for _ in range(steps):
        for x, y in ((a, b), (b, a)):
            near = x[inner, inner, low] + x[inner, inner, high]
            near += x[inner, low, inner] + x[inner, high, inner]
            near += x[low, inner, inner] + x[high, inner, inner]
            y[middle] = 0.25 * x[middle] + 0.125 * near
    return a


def numpy_seidel(np: Any, a: Any, steps: int) -> Any:
    """Take means of nine neighbours in place: rows at a time, then along the row."""
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            above = a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:]
            below = a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            others = above + below + a[i, 1:-1] + a[i, 2:]
            left = a[i, 0]
            for j, other in enumerate(others, 1):
                left = a[i, j] = (other + left) / 9
    return a


def attraction(np: Any, x: Any, y: Any, z: Any, mass: Any) -> Any:
    """Return accelerations from all pairs."""
    dx, dy, dz = (p[None, :] - p[:, None] for p in (x, y, z))
    near = 1 / np.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
    pull = mass * near * near * near
    return np.stack([np.sum(pull * d, axis=1) for d in (dx, dy, dz)])


def torch_attraction(torch: Any, x: Any, y: Any, z: Any, mass: Any) -> Any:
    """Return accelerations from all pairs."""
    dx, dy, dz = (p[None, :] - p[:, None] for p in (x, y, z))
    near = torch.rsqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
    pull = mass * near * near * near
    return torch.stack([torch.sum(pull * d, 1) for d in (dx, dy, dz)])


def numba_jacobi(numba: Any) -> Callable[..., Any]:
    """Return compiled loops."""

    @numba.njit(fastmath=True, parallel=True)  # type: ignore[untyped-decorator]
    def run(a: Any, b: Any, steps: int) -> Any:
        n = len(a)
        for _ in range(steps):
            for i in numba.prange(1, n - 1):
                for j in range(1, n - 1):
                    near = a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j]
                    b[i, j] = numba.float32(0.2) * (a[i, j] + near)
            for i in numba.prange(1, n - 1):
                for j in range(1, n - 1):
                    near = b[i, j - 1] + b[i, j + 1] + b[i - 1, j] + b[i + 1, j]
                    a[i, j] = numba.float32(0.2) * (b[i, j] + near)
        return a

    return run


def numba_heat(numba: Any) -> Callable[..., Any]:
    """Return compiled loops."""
    inline = numba.njit(fastmath=True, inline="always")

    @inline  # type: ignore[untyped-decorator]
    def point(x: Any, i: int, j: int, k: int) -> Any:
        near = x[i, j, k - 1] + x[i, j, k + 1] + x[i, j - 1, k] + x[i, j + 1, k]
        near += x[i - 1, j, k] + x[i + 1, j, k]
        return numba.float32(0.25) * x[i, j, k] + numba.float32(0.125) * near

    @numba.njit(fastmath=True, parallel=True)  # type: ignore[untyped-decorator]
    def run(a: Any, b: Any, steps: int) -> Any:
        n = len(a)
        for _ in range(steps):
            for i in numba.prange(1, n - 1):
                for j in range(1, n - 1):
                    for k in range(1, n - 1):
                        b[i, j, k] = point(a, i, j, k)
            for i in numba.prange(1, n - 1):
                for j in range(1, n - 1):
                    for k in range(1, n - 1):
                        a[i, j, k] = point(b, i, j, k)
        return a

    return run


def numba_seidel(numba: Any) -> Callable[..., Any]:
    """Return compiled loops."""

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def run(a: Any, steps: int) -> Any:
        n = len(a)
        for _ in range(steps):
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                    below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                    others = above + below + a[i, j] + a[i, j + 1] + a[i, j - 1]
                    a[i, j] = others / numba.float32(9)
        return a

    return run


def numba_attraction(numba: Any) -> Callable[..., Any]:
    """Return compiled loops."""
    import numpy as np

    softening, one = np.float32(SOFTENING), np.float32(1)

    @numba.njit(fastmath=True, parallel=True)  # type: ignore[untyped-decorator]
    def run(x: Any, y: Any, z: Any, mass: Any) -> Any:
        n = len(x)
        force = np.empty((3, n), np.float32)
        for i in numba.prange(n):
            fx = fy = fz = np.float32(0)
            for j in range(n):
                dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
                near = one / np.sqrt(dx * dx + dy * dy + dz * dz + softening)
                pull = mass[j] * near * near * near
                fx += pull * dx
                fy += pull * dy
                fz += pull * dz
            force[0, i], force[1, i], force[2, i] = fx, fy, fz
        return force

    return run
