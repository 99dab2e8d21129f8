"""Matrix product: tdsl, tuned and by default, against NumPy's BLAS and torch.

    python -m benchmarks.gemm --sizes 256,512,1024,2048 --threads 1 --json

A size is N, or MxNxK for an M by K matrix times a K by N matrix. tdsl is tuned for
each size first, for at most `--budget`, with the ledger's help; `--budget 0`
takes what was tuned before. The row `fma-peak` is the time at the machine's measured
peak of multiply-adds. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from .arrays import contraction_error, normal_arrays
from .contenders import Problem, measure, tdsl_contenders
from .harness import Contender
from .options import add_options, finish
from .report import Row

KERNEL = "examples/01_matmul.py:matmul"
ALL = ("tdsl", "tdsl-default", "numpy", "torch")
ERROR_UNIT = "|A||B| 2^-24"

Size = tuple[int, int, int]


def parse_size(text: str) -> Size:
    """Read `N` or `MxNxK`."""
    numbers = [int(part) for part in text.lower().split("x")]
    match numbers:
        case [n] if n > 0:
            return n, n, n
        case [m, n, k] if min(m, n, k) > 0:
            return m, n, k
    raise argparse.ArgumentTypeError(f"{text!r} is neither N nor MxNxK")


def parse_sizes(text: str) -> list[Size]:
    """Read sizes separated by commas."""
    return [parse_size(part) for part in text.split(",")]


def label(size: Size) -> int | str:
    """Return how a size is written in the report."""
    m, n, k = size
    return m if m == n == k else f"{m}x{n}x{k}"


def shapes_of(size: Size) -> list[list[int]]:
    """Return the shapes of both factors."""
    m, n, k = size
    return [[m, k], [k, n]]


def libraries(size: Size, threads: int) -> list[Contender]:
    """Return the libraries to compare with."""
    arguments = {"shapes": shapes_of(size), "threads": threads}
    return [
        Contender("numpy", "benchmarks.libraries:numpy_matmul", arguments),
        Contender("torch", "benchmarks.libraries:torch_matmul", arguments, "torch"),
    ]


def problem(size: Size, threads: int) -> Problem:
    """Return the race for one size."""
    m, n, k = size
    ours = tdsl_contenders(KERNEL, shapes_of(size), threads)
    return Problem(
        label=label(size),
        kernel=KERNEL,
        dims={"M": m, "N": n, "K": k},
        flops=2.0 * m * n * k,
        contenders=(*ours, *libraries(size, threads)),
        error=lambda result: error_of(size, result),
    )


def error_of(size: Size, result: np.ndarray) -> float:
    """Return the largest error of *result*, in ERROR_UNIT."""
    a, b = (array.astype(np.float64) for array in normal_arrays(shapes_of(size)))
    return contraction_error(result, a @ b, np.abs(a) @ np.abs(b))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser("python -m benchmarks.gemm", description=__doc__)
    parser.add_argument("--sizes", default="256,512,1024,2048", type=parse_sizes)
    options = add_options(parser, ALL).parse_args(arguments)
    rows: list[Row] = []
    for size in options.sizes:
        rows += measure(problem(size, options.threads), options, with_peak=True)
    return finish(rows, options, ERROR_UNIT)


if __name__ == "__main__":
    raise SystemExit(main())
