"""Compare the kernels with NumPy.

An element may be off by the error bound that tdsl derives from the kernel's own
arithmetic, and by a few roundings of NumPy's. Whole numbers are equal. Where the
derived bound is larger than half the digits of the results, or takes too long, the
tolerance counts that the module states with its reason.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from tdsl import TdslError
from tdsl.backends.error_bound import EvaluationTooSlow, evaluate_with_bound

from . import Benchmark, load

PRESETS = ("mini", "primes")
NUMPY_ROUNDINGS = 8
"""How many units in the last place of the largest element NumPy may be off.

Its methods are stable, which bounds the error of a tensor as a whole.
"""
BOUND_SECONDS = 60.0
"""How long deriving a bound may take where the module states a tolerance."""

Limits = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Finding:
    """The worst element of one kernel at one size: its error, and what is allowed."""

    name: str
    dims: dict[str, int]
    criterion: str
    error: float
    allowed: float
    seconds: float
    failure: str = ""

    @property
    def passed(self) -> bool:
        """Whether the results are those of NumPy."""
        return not self.failure and self.error <= self.allowed

    def __str__(self) -> str:
        """Return the row of the table."""
        dims = " ".join(f"{name}={size}" for name, size in self.dims.items())
        if self.failure:
            return f"{self.name:<15} {dims:<28} FAILED: {self.failure}"
        verdict = "ok" if self.passed else "WRONG"
        return (
            f"{self.name:<15} {dims:<28} {self.error:>8.1e} {self.allowed:>8.1e} "
            f"{self.criterion:<9} {self.seconds:>6.2f}  {verdict}"
        )


HEAD = f"{'kernel':<15} {'dims':<28} {'error':>8} {'allowed':>8} {'by':<9} {'s':>6}"


def check(names: Sequence[str], presets: Sequence[str] = PRESETS) -> Iterator[Finding]:
    """Compare each kernel with NumPy at each preset's size."""
    for name in names:
        try:
            benchmark = load(name)
        except TdslError as error:
            yield Finding(name, {}, "", 0.0, 0.0, 0.0, f"not a kernel: {error}")
            continue
        for preset in presets:
            yield compare(benchmark, benchmark.sizes[preset])


def compare(benchmark: Benchmark, dims: dict[str, int]) -> Finding:
    """Run *benchmark* once and compare every result with NumPy's."""
    start = perf_counter()
    arguments = benchmark.initialize(dims)
    expected = benchmark.expect(copy.deepcopy(arguments), dims)
    try:
        actual = benchmark.run(copy.deepcopy(arguments), dims)
    except TdslError as error:
        return Finding(benchmark.name, dims, "", 0.0, 0.0, 0.0, str(error))
    limits, criterion = allowed_errors(benchmark, arguments, dims, expected)
    worst = Finding(benchmark.name, dims, criterion, 0.0, 0.0, 0.0)
    for name, want in expected.items():
        error, allowed = _worst(actual[name], want, limits[name])
        if error * worst.allowed >= worst.error * allowed or error > allowed:
            worst = Finding(benchmark.name, dims, criterion, error, allowed, 0.0)
        if error > allowed:
            break
    return Finding(
        benchmark.name,
        dims,
        criterion,
        worst.error,
        worst.allowed,
        perf_counter() - start,
    )


def allowed_errors(
    benchmark: Benchmark,
    arguments: dict[str, Any],
    dims: dict[str, int],
    expected: dict[str, np.ndarray],
) -> tuple[Limits, str]:
    """Return how far each element may be off, and what says so."""
    types = {p.tensor.name: p.tensor.dtype for p in benchmark.kernel.function.params}
    if all(types[name].kind != "float" for name in expected):
        return {
            name: np.zeros(want.shape) for name, want in expected.items()
        }, "equality"
    largest = {name: float(np.abs(want).max()) for name, want in expected.items()}
    units = {name: float(np.finfo(types[name].numpy).eps) for name in expected}
    bounds = derived_bounds(benchmark, arguments, dims)
    silent = not bounds or any(
        (bounds[name] > units[name] ** 0.5 * largest[name]).any() for name in expected
    )
    if benchmark.tolerance and silent:
        share = benchmark.tolerance(dims)
        return {
            name: np.full(want.shape, share * largest[name])
            for name, want in expected.items()
        }, "tolerance"
    return {
        name: bounds[name] + NUMPY_ROUNDINGS * units[name] * largest[name]
        for name in expected
    }, "bound"


def derived_bounds(
    benchmark: Benchmark, arguments: dict[str, Any], dims: dict[str, int]
) -> Limits:
    """Return the derived bounds; none where a tolerance is stated and time is over."""
    seconds = BOUND_SECONDS if benchmark.tolerance else inf
    function = benchmark.kernel.function
    try:
        found = evaluate_with_bound(function, arguments, dims, seconds=seconds)
    except EvaluationTooSlow:
        return {}
    return {name: bound for name, (_, bound) in found.items()}


def _worst(
    actual: np.ndarray, want: np.ndarray, allowed: np.ndarray
) -> tuple[float, float]:
    """Return the error and the limit of the element closest to or over its limit."""
    if not actual.size:
        return 0.0, 0.0
    error = np.abs(actual.astype(np.float64) - want)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(error == 0, 0.0, error / allowed)
    place = np.unravel_index(
        np.where(np.isnan(share), np.inf, share).argmax(), share.shape
    )
    return float(np.nan_to_num(error[place], nan=np.inf)), float(allowed[place])
