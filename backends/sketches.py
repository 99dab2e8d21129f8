"""What numbers have of each cause of error, without a weight for each cause.

A number is off by a sum of weight * noise over all noises so far: unknowns between -1
and 1, the same in all numbers. It is off by the sum of |weight| at most. A *sketch*
does with `LANES` sums: lane s is the sum of weight * C, where every noise has a random
number C of its own for every lane. Sketches add up and scale as errors do, so what two
numbers have in common cancels in the sketch of their difference.

C is Cauchy-distributed. Then a sum of weight * C is distributed as one C times the sum
of |weight|, so the lanes tell how large that is (Indyk, 2006). Their geometric mean is
below 1/EXCESS of it with a probability of less than DOUBT, by Markov's inequality for a
negative power of their product (as in Li, Hastie and Church, 2007).
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, exp, inf, log, pi
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .modules import guard_caches

Sketch = NDArray[np.float64]

LANES = 256
"""How many sums a sketch has."""

DOUBT = 1e-15
"""How probable it is that the bound of one number is too small, at most."""

SLACK = 2.0**-49
"""More than what slopes and sketches are off, as a share of what they contribute."""

_MITCHELL = 1.07
"""More than a float is off whose logarithm is taken to be straight between powers."""

EXCESS = _MITCHELL * min(
    exp((-log(DOUBT) / LANES - log(cos(pi * power / 2))) / power)
    for power in (0.01 * step for step in range(1, 100))
)
"""How much larger an estimate is than the sum of |weight|, usually."""

_LEAST = 2.0**-900
"""The smallest noise: what underflows beside it is nothing."""

_SIGNLESS = np.int64(2**63 - 1)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)

_compiled: Callable[..., Any] = njit(error_model="numpy", cache=True)
_fused: Callable[..., Any] = njit(
    error_model="numpy", cache=True, fastmath={"contract"}
)


@_compiled
def draw(sketch: Sketch, size: float, noises: NDArray[np.int64]) -> None:
    """Make *sketch* that of a number with a new noise of this *size*, and none else.

    *noises* counts the random numbers that were drawn (splitmix64: Steele, Lea and
    Flood, 2014), each of which gives tan(x) by a quotient of polynomials.
    """
    if size == 0:
        sketch[:] = 0.0
        return
    size += _LEAST
    first = np.uint64(noises[0])
    noises[0] += LANES
    for lane in range(LANES):
        bits = (first + np.uint64(lane + 1)) * _STEP
        bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
        bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
        bits = bits ^ (bits >> np.uint64(31))
        share = (np.float64(np.int64(bits >> np.uint64(12))) + 0.5) * 2.0**-51 - 1.0
        steep = abs(share) > 0.5
        x = pi / 2 * (1.0 - abs(share) if steep else abs(share))
        sine = x * (945.0 - 105.0 * x * x + x * x * x * x)
        cosine = 945.0 - 420.0 * x * x + 15.0 * x * x * x * x
        tangent = cosine / sine if steep else sine / cosine
        sketch[lane] = size * (tangent if share > 0 else -tangent)


@_fused
def mix(sketch: Sketch, slope: float, other: Sketch) -> None:
    """Add *slope* times another sketch."""
    for lane in range(LANES):
        sketch[lane] += slope * other[lane]


@_compiled
def reach(sketch: Sketch, total: float) -> float:
    """Return the sum of |weight|, or *total* if that is smaller.

    The mean of the bits of floats is about the logarithm of their geometric mean. A NaN
    is a large float there.
    """
    mean = np.int64(0)
    bits = sketch.view(np.int64)
    for lane in range(LANES):
        mean += (bits[lane] & _SIGNLESS) // LANES
    estimate = EXCESS * 2.0 ** (np.float64(mean) * 2.0**-52 - 1023.0)
    return min(total, estimate)


@_compiled
def keep(target: Sketch, sketch: Sketch, total: float) -> float:
    """Let *target* be *sketch*, of a number that is off by *total* at most; return by
    how much it is. Nothing is in common where that is nothing, or unknown.
    """
    if not 0 < total < inf:
        target[:] = 0.0
        return total if total == 0 else inf
    target[:] = sketch
    return reach(sketch, total)  # type: ignore[no-any-return]


@_compiled
def settled(
    error: float,
    total: float,
    rest: float,
    sketch: Sketch,
    scratch: Sketch,
    noises: NDArray[np.int64],
) -> float:
    """Return the error of a reduction that is read, and make what *sketch* lacks a
    noise: its *rest*, and its roundings, which make *total* an *error*.
    """
    if 0 < error < inf:
        draw(scratch, rest + (error - total) + SLACK * error, noises)
        mix(sketch, 1.0, scratch)
    return keep(sketch, sketch, error)  # type: ignore[no-any-return]


guard_caches(globals())
