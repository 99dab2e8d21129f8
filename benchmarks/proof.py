"""How long a proof takes: `python -m benchmarks.proof [--points 10] [--json]`.

The hardest schedule that tdsl itself makes of a matrix product: five levels of tiles,
both operands packed, register tile, parallel panels, all sizes symbolic. The default
schedules of the other contractions here. And of PolyBench, the default schedules and
random points of the search spaces that take longest. Times are processor time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict

import tdsl
from tdsl import f32
from tdsl.analysis.validate import validate
from tdsl.ir.nodes import Function
from tdsl.schedules.library import default_schedule
from tdsl.schedules.schedule import Schedule
from tdsl.target import AVX512

from .candidates import all_candidates, longest_parse, timed
from .kernels import batched_matmul, conv3x3

M, N = tdsl.dims("M N")
K = tdsl.dim("K", min=1)


@tdsl.kernel
def matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]:
    """Multiply two matrices."""
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


def packed(function: Function) -> Function:
    """Return the five-level schedule of *function*, a matrix product."""
    return (
        Schedule(function)
        .split("i", 96)
        .split("i_i", 12, names=("i_t", "i_i"))
        .split("j", 32, names=("j_t", "j_i"))
        .split("k", 256)
        .reorder("k_o", "i_o", "j_t", "i_t", "k_i", "i_i", "j_i")
        .unroll("i_i")
        .vectorize("j_i")
        .cache_write("C", "i_t")
        .compute_at("S0", "i_t")
        .cache_read("B", "k_o", layout=("j_t", "k_i", "j_i"))
        .cache_read("A", "i_o", layout=("i_t", "k_i", "i_i"))
        .parallelize("i_o")
        .parallelize("j_t_B_pack")
        .vectorize("j_i_B_pack")
        .unroll("i_i_A_pack")
        .function
    )


def measure(function: Function, scheduled: Function, repeats: int) -> dict[str, object]:
    """Return the verdict and the median time of a proof, in milliseconds."""
    verdict = validate(function, scheduled).verdict  # also prepares the original
    times = [timed(validate, function, scheduled)[1] for _ in range(repeats)]
    return {"verdict": verdict, "milliseconds": round(statistics.median(times), 1)}


def main() -> int:
    """Measure each proof and print a row for it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proof")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--points", type=int, default=10, help="of each search space")
    parser.add_argument("--seed", type=int, default=1, help="of the points")
    parser.add_argument("--worst", type=int, default=10, help="how many to print")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    options = parser.parse_args()
    cases = [("matmul, packed, five levels", matmul.function, packed(matmul.function))]
    for kernel in (matmul, batched_matmul, conv3x3):
        schedule = default_schedule(kernel.function, AVX512)
        name = f"{kernel.function.name}, default"
        cases.append((name, kernel.function, schedule.function))
    rows = [
        {"proof": name, **measure(function, scheduled, options.repeats)}
        for name, function, scheduled in cases
    ]
    found = sorted(
        all_candidates(options.points, options.seed),
        key=lambda candidate: candidate.proof,
        reverse=True,
    )
    if options.json:
        print(json.dumps(rows + [asdict(each) for each in found]))
        return 0
    for row in rows:
        print(f"{row['proof']:32s} {row['verdict']}  {row['milliseconds']} ms")
    print(f"\nthe longest of {len(found)} proofs of PolyBench schedules:")
    print(*found[: options.worst], sep="\n")
    longest = max(found, key=lambda candidate: candidate.total)
    print(f"\nthe longest with schedule and emission, {longest.total:.0f} ms:")
    print(longest)
    time, name = longest_parse()
    print(f"\nparsing and verifying takes {time:.0f} ms at most ({name})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
