"""How tight the bounds of the kernels of PolyBench are, at one of their sizes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time

import numpy as np

from examples.polybench import NAMES, Benchmark, load
from tdsl.backends.comparison import error_over_bound
from tdsl.backends.error_bound import evaluate_with_bound


@dataclass(frozen=True, slots=True)
class Tightness:
    """The largest bound over the largest result, the median of bound over error, and
    the seconds that the second evaluation took, when its code was compiled.
    """

    share: float
    ratio: float
    seconds: float


def tightness_of_polybench(preset: str) -> Iterator[str]:
    """Yield the lines of a table."""
    head = f"{'kernel':<15} {'dims':<30} {'bound/largest':>14} {'bound/error':>12}"
    yield f"{head} {'s':>6}"
    for name in NAMES:
        benchmark = load(name)
        dims = benchmark.sizes[preset]
        found = measure(benchmark, dims)
        sizes = " ".join(f"{key}={size}" for key, size in dims.items())
        yield (
            f"{name:<15} {sizes:<30} {found.share:>14.1e} {found.ratio:>12.3g} "
            f"{found.seconds:>6.2f}"
        )


def measure(benchmark: Benchmark, dims: dict[str, int]) -> Tightness:
    """Compare the bounds of *benchmark* with the errors of its default schedule."""
    arguments = benchmark.initialize(dims)
    for _ in range(2):
        start = process_time()
        expected = evaluate_with_bound(benchmark.kernel.function, arguments, dims)
        seconds = process_time() - start
    actual = benchmark.run(copy.deepcopy(arguments), dims)
    share, ratios = 0.0, []
    for name, (value, bound) in expected.items():
        found = error_over_bound(actual[name], value, bound)
        assert (found <= 1).all(), f"{benchmark.name} leaves its bound"
        largest = np.abs(value).max(initial=0.0)
        share = max(share, float(bound.max(initial=0.0)) / (largest or 1.0))
        ratios.append((1 / found[found > 0]).ravel())
    every = np.concatenate(ratios)
    return Tightness(share, float(np.median(every)) if every.size else 1.0, seconds)
