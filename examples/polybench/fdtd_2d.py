"""fdtd-2d: electromagnetic waves in the plane, by finite differences in time."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

TMAX = tdsl.dim("TMAX")
NX = tdsl.dim("NX", min=1)
NY = tdsl.dim("NY", min=1)

SIZES = {
    "mini": {"TMAX": 20, "NX": 20, "NY": 30},
    "primes": {"TMAX": 7, "NX": 29, "NY": 19},
    "small": {"TMAX": 40, "NX": 60, "NY": 80},
    "medium": {"TMAX": 100, "NX": 200, "NY": 240},
    "large": {"TMAX": 500, "NX": 1000, "NY": 1200},
    "bench": {"TMAX": 100, "NX": 1000, "NY": 1200},
}

# Where the arrays are too large for the derived bound to follow each error: waves keep
# their energy, and the bound otherwise lets all errors interfere.
TOLERANCE = 1e-12


@tdsl.kernel
def fdtd_2d(
    ex: tdsl.inout(f64[NX, NY]),
    ey: tdsl.inout(f64[NX, NY]),
    hz: tdsl.inout(f64[NX, NY]),
    source: f64[TMAX],
):
    """Update the electric field from the magnetic one, then the other way."""
    for t in range(TMAX):
        for j in range(NY):
            ey[0, j] = source[t]
        for i in range(1, NX):
            for j in range(NY):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(NX):
            for j in range(1, NY):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(NX - 1):
            for j in range(NY - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


kernel = fdtd_2d


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    nx, ny = dims["NX"], dims["NY"]
    return {
        "ex": np.fromfunction(lambda i, j: i * (j + 1) / nx, (nx, ny)),
        "ey": np.fromfunction(lambda i, j: i * (j + 2) / ny, (nx, ny)),
        "hz": np.fromfunction(lambda i, j: i * (j + 3) / nx, (nx, ny)),
        "source": np.arange(dims["TMAX"], dtype=np.float64),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"fdtd_2d": initialize}


def reference(
    ex: np.ndarray, ey: np.ndarray, hz: np.ndarray, source: np.ndarray
) -> dict[str, np.ndarray]:
    """State the same in NumPy, a whole plane at a time."""
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for pulse in source:
        ey[0] = pulse
        ey[1:] -= np.diff(hz, axis=0) / 2
        ex[:, 1:] -= np.diff(hz, axis=1) / 2
        curl = np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1]
        hz[:-1, :-1] -= 0.7 * curl
    return {"ex": ex, "ey": ey, "hz": hz}
