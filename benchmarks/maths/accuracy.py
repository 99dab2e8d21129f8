"""Errors in units in the last place: float32 everywhere, float64 at samples."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import mpmath
import numpy as np

from .functions import DTYPES, FUNCTIONS, Function

CHUNK = 1 << 20
EVERY = 1 << 32
PAIRS = 1 << 26
"""How many pairs of float32 a function of two arguments is tried at."""


@dataclass(frozen=True, slots=True)
class Error:
    """The largest error found, in units in the last place, where, and in how many."""

    ulps: float
    at: tuple[float, ...]
    tried: int

    def worse(self, other: Error) -> Error:
        """Return the larger of two errors, tried at all arguments of both."""
        larger = max(self, other, key=lambda error: error.ulps)
        return Error(larger.ulps, larger.at, self.tried + other.tried)


NOTHING = Error(0.0, (), 0)


def float32_error(name: str, processes: int) -> Error:
    """Try the function *name* at every float32, or at many pairs of them."""
    (function,) = (each for each in FUNCTIONS if each.name == name)
    count = EVERY if function.operands == 1 else PAIRS
    bounds = np.linspace(0, count, 4 * processes + 1).astype(int).tolist()
    ranges = list(pairwise(bounds))
    worst = NOTHING
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for error in pool.map(partial(_over_range, name), ranges):
            worst = worst.worse(error)
    return worst


def _over_range(name: str, limits: tuple[int, int]) -> Error:
    """Try *name* at the float32 of these bit patterns, or at as many random pairs."""
    (function,) = (each for each in FUNCTIONS if each.name == name)
    kernel = function.kernel(DTYPES["f32"])
    make = _patterns if function.operands == 1 else _pairs
    worst = NOTHING
    for start in range(limits[0], limits[1], CHUNK):
        arguments = make(start, min(start + CHUNK, limits[1]))
        worst = worst.worse(_largest(kernel, function.numpy, arguments))
    return worst


def _patterns(start: int, stop: int) -> list[np.ndarray]:
    return [np.arange(start, stop, dtype=np.uint64).astype(np.uint32).view(np.float32)]


def _pairs(start: int, stop: int) -> list[np.ndarray]:
    """Return powers whose logarithms are spread evenly over those of float32."""
    random = np.random.default_rng(start)
    base = np.exp2(random.uniform(-126, 127, stop - start)).astype(np.float32)
    size = random.uniform(-150, 128, stop - start)
    with np.errstate(all="ignore"):
        return [base, (size / np.log2(base.astype(np.float64))).astype(np.float32)]


def _largest(
    kernel: Callable[..., np.ndarray],
    exact: Callable[..., Any],
    arguments: list[np.ndarray],
) -> Error:
    got = kernel(*arguments)
    with np.errstate(all="ignore"):
        wanted = np.asarray(exact(*(x.astype(np.float64) for x in arguments)))
        ulps = distance(got, wanted)
    worst = int(np.argmax(ulps))
    return Error(
        float(ulps[worst]), tuple(float(x[worst]) for x in arguments), got.size
    )


def distance(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return how far float32 results are from float64 ones, in units of the last place.

    Infinite where one is NaN and the other is not, or where a sign of zero is wrong.
    """
    rounded = wanted.astype(np.float32)
    unit = np.spacing(np.minimum(np.abs(rounded), np.finfo(np.float32).max))
    off = np.abs(got - wanted) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    zero = (wanted == 0) & (np.signbit(got) != np.signbit(wanted))
    off = np.where(same & ~zero, np.minimum(off, 0.5), off)
    return np.where(np.isnan(off) | zero, np.inf, off)


def float64_error(name: str, samples: int) -> Error:
    """Try the function *name* at *samples* float64 against mpmath."""
    (function,) = (each for each in FUNCTIONS if each.name == name)
    arguments = _samples(function, samples)
    got = function.kernel(DTYPES["f64"])(*arguments)
    worst = NOTHING
    with mpmath.workprec(160):
        for value, *at in zip(got, *arguments, strict=True):
            wanted = function.mpmath(*(mpmath.mpf(float(x)) for x in at))
            unit = float(np.spacing(abs(float(wanted))))
            ulps = float(abs(mpmath.mpf(float(value)) - wanted) / mpmath.mpf(unit))
            worst = worst.worse(Error(ulps, tuple(map(float, at)), 1))
    return worst


def _samples(function: Function, count: int) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    found = []
    for _ in range(function.operands):
        values = random.uniform(*function.span, count)
        if function.by_exponent:
            values = np.exp2(values) * random.uniform(1, 2, count)
        found.append(values[np.isfinite(values)])
    return found
