"""Batched matrix product and 3x3 convolution, written as plain loops.

    python -m benchmarks.contractions --threads 1 --json

The same machinery as for the matrix product, and no template: the share of the FMA
peak shows what it finds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np

from .arrays import contraction_error, normal_arrays
from .contenders import Problem, measure, tdsl_contenders
from .harness import Contender
from .libraries import convolve, multiply_batches
from .options import add_options, finish
from .report import Row

ALL = ("tdsl", "tdsl-default", "numpy", "torch")
ERROR_UNIT = "sum|terms| 2^-24"


def libraries(
    operation: str, shapes: Sequence[Sequence[int]], threads: int
) -> list[Contender]:
    """Return the libraries to compare with in one *operation*."""
    arguments = {"shapes": shapes, "threads": threads}
    return [
        Contender("numpy", f"benchmarks.libraries:numpy_{operation}", arguments),
        Contender(
            "torch", f"benchmarks.libraries:torch_{operation}", arguments, "torch"
        ),
    ]


def batched_matmul(threads: int) -> Problem:
    """Return 64 products of 128x128 matrices."""
    b, n = 64, 128
    shapes = [[b, n, n], [b, n, n]]
    return _problem(
        "suite/kernels/products.py",
        "batched_matmul",
        shapes,
        {"B": b, "M": n, "N": n, "K": n},
        2.0 * b * n**3,
        threads,
        multiply_batches,
    )


def conv3x3(threads: int) -> Problem:
    """Return a 3x3 convolution of 64 channels into 64, on a 56x56 image."""
    h, w, c, f = 56, 56, 64, 64
    shapes = [[h + 2, w + 2, c], [3, 3, c, f]]
    dims = {"H": h, "W": w, "C": c, "F": f}
    return _problem(
        "kernels.py", "conv3x3", shapes, dims, 18.0 * h * w * c * f, threads, convolve
    )


def _problem(
    file: str,
    name: str,
    shapes: list[list[int]],
    dims: dict[str, int],
    flops: float,
    threads: int,
    exact: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Problem:
    def error(result: np.ndarray) -> float:
        x, y = (array.astype(np.float64) for array in normal_arrays(shapes))
        return contraction_error(result, exact(x, y), exact(np.abs(x), np.abs(y)))

    kernel = f"benchmarks/{file}:{name}"
    ours = tdsl_contenders(kernel, shapes, threads)
    theirs = libraries(name, shapes, threads)
    return Problem(name, kernel, dims, flops, (*ours, *theirs), error)


PROBLEMS = {"batched_matmul": batched_matmul, "conv3x3": conv3x3}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.contractions", description=__doc__
    )
    parser.add_argument(
        "--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS)
    )
    options = add_options(parser, ALL).parse_args(arguments)
    rows: list[Row] = []
    for name in options.problems:
        rows += measure(PROBLEMS[name](options.threads), options)
    return finish(rows, options, ERROR_UNIT)


if __name__ == "__main__":
    raise SystemExit(main())
