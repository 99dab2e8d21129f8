"""PolyBench: tdsl, tuned and by default, against Numba on the same loops.

    python -m benchmarks.polybench --threads 2 --budget 60s --json --record rows.jsonl
    python -m benchmarks.polybench --kernels gemm,lu --budget 0

tdsl is tuned for each kernel first, for `--budget` at most, with the ledger's help;
`--budget 0` takes what was tuned before. Numba runs with fastmath, serial and
with `prange` at the outermost loop that may run in parallel. Sizes are those at which
Numba takes 0.1 to 2 s, or one of the benchmark's presets; matrices that are read just
once would fill the memory before that, and take 0.02 s or more. The ratio is the
time of the faster Numba variant over that of tdsl; where it is below 1.2, the row says
what takes the time (`limits`). Results are compared before anything is timed.

Rows go to stdout at the end, everything else, each kernel's rows too, to stderr. With
`--record FILE` they are also kept there as they come, and a kernel that the file has
under the same settings is not measured again. A kernel that fails leaves the others
alone; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

from examples.polybench import NAMES, Benchmark, load
from tdsl.cli.arguments import whole
from tdsl.paths import cache_folder

from .contenders import tune
from .harness import Contender, ContenderError, Pace, race
from .limits import measure_limits
from .options import add_budget, names_among
from .polybench_workloads import has_parallel_loops
from .record import Record
from .report import machine, note

ALL = ("numba", "numba-parallel", "tdsl-default", "tdsl-tuned")
NUMBA, OURS = ALL[:2], ALL[2:]
WORKLOADS = "benchmarks.polybench_workloads"
EXPLAINED = 1.2
"""Ratios below this one are given a reason."""
TOLERANCE = {4: 1e-3, 8: 1e-6}
"""Largest difference between contenders, by the bytes of an element."""


@dataclass(frozen=True, slots=True)
class Row:
    """The median seconds of one contender, and its *ratio* to the faster Numba variant.

    The ratio is the median of those of the rounds; *reason* is why a low one is not
    higher.
    """

    kernel: str
    contender: str
    threads: int
    seconds: float
    ratio: float
    dims: dict[str, int]
    error: float
    reason: str = ""


class Comparison:
    """Compare each contender's results with those of the first."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.first: np.ndarray | None = None

    def __call__(self, result: np.ndarray) -> float:
        """Return the largest error, as a share of the largest element of its tensor."""
        if self.first is None:
            self.first = result
        scale = np.abs(self.first).max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            error = np.abs(result - self.first) / np.maximum(scale, 1e-300)
        worst = float(np.nan_to_num(error, nan=np.inf).max())
        if worst > self.tolerance:
            raise ContenderError(f"wrong: its results are off by {worst:.1e}")
        return worst


def contenders(
    benchmark: Benchmark, dims: dict[str, int], threads: int
) -> list[Contender]:
    """Return who can run *benchmark*."""
    arguments = {"kernel": benchmark.name, "dims": dims}
    untuned = {"TDSL_CACHE": str(cache_folder() / "benchmarks-default")}
    serial, parallel = arguments | {"parallel": False}, arguments | {"parallel": True}
    found = [Contender("numba", f"{WORKLOADS}:numba_workload", serial)]
    if threads > 1 and has_parallel_loops(benchmark.module):
        found.append(
            Contender("numba-parallel", f"{WORKLOADS}:numba_workload", parallel)
        )
    ours = f"{WORKLOADS}:tdsl_workload"
    found.append(Contender("tdsl-default", ours, arguments, environment=untuned))
    found.append(Contender("tdsl-tuned", ours, arguments))
    return found


def measure(name: str, options: argparse.Namespace) -> list[Row]:
    """Tune one kernel, race, and say who is absent and why."""
    benchmark = load(name)
    dims = benchmark.sizes[options.sizes]
    if "tdsl-tuned" in options.contenders and options.budget > 0:
        place = f"{benchmark.file}:kernel"
        tune(name, place, dims, options.threads, options.budget)
    chosen = contenders(benchmark, dims, options.threads)
    outcome = race(
        [each for each in chosen if each.name in options.contenders],
        options.threads,
        Pace(options.rounds),
        Comparison(TOLERANCE[benchmark.precision]),
    )
    for absent, reason in outcome.absent.items():
        note(f"{name}: {absent}: {reason}")
    measured = outcome.measured
    best = min(
        (measured[each] for each in NUMBA if each in measured),
        key=lambda found: found.seconds,
        default=None,
    )
    rows = [
        Row(
            name,
            contender,
            options.threads,
            found.seconds,
            found.speedup_over(best) if best else float("nan"),
            dims,
            found.error or 0.0,
        )
        for contender, found in measured.items()
    ]
    return explained(benchmark, rows, options)


def explained(
    benchmark: Benchmark, rows: list[Row], options: argparse.Namespace
) -> list[Row]:
    """Return *rows* with reasons for low ratios, the limits being measured for them."""

    def is_low(row: Row) -> bool:
        return row.contender in OURS and row.ratio < EXPLAINED

    if not any(map(is_low, rows)):
        return rows
    dims, threads = rows[0].dims, options.threads
    limits = measure_limits(benchmark, dims, threads, options.rounds)
    return [
        replace(row, reason=limits.reason(row.seconds, row.ratio * row.seconds))
        if is_low(row)
        else row
        for row in rows
    ]


def measured_or_kept(
    name: str, options: argparse.Namespace, record: Record
) -> list[Row]:
    """Return the rows of one kernel: from *record*, or else measured and kept there."""
    settings: dict[str, Any] = {
        "kernel": name,
        "dims": load(name).sizes[options.sizes],
        "contenders": options.contenders,
        "threads": options.threads,
        "budget": options.budget,
        "rounds": options.rounds,
    }
    kept = record.find(settings)
    if kept is not None:
        note(f"{name}: measured before")
        return [Row(**row) for row in kept]
    try:
        rows = measure(name, options)
    except Exception:  # the other kernels must not be lost
        note(f"{name}: failed\n{traceback.format_exc()}")
        return []
    if {row.contender for row in rows} >= {*options.contenders} - {"numba-parallel"}:
        record.append(settings, [asdict(row) for row in rows])
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return *rows* as text for people, a line for each kernel."""
    head = f"{'seconds':<15}" + "".join(f"{name:>15}" for name in ALL)
    head += f"{'default ratio':>15}{'tuned ratio':>13}"
    lines = [head, "-" * len(head)]
    for kernel in dict.fromkeys(row.kernel for row in rows):
        found = {row.contender: row for row in rows if row.kernel == kernel}
        line = f"{kernel:<15}"
        for name in ALL:
            line += f"{found[name].seconds:>15.4f}" if name in found else f"{'-':>15}"
        for name, width in (("tdsl-default", 15), ("tdsl-tuned", 13)):
            text = f"{found[name].ratio:.2f}" if name in found else "-"
            line += f"{text:>{width}}"
        lines.append(line)
    reasons = [
        f"{row.kernel}, {row.contender}, {row.ratio:.2f}x: {row.reason}"
        for row in rows
        if row.reason
    ]
    return "\n".join([*lines, _means(rows), *reasons])


def _means(rows: Sequence[Row]) -> str:
    line = f"{'geometric mean':<{15 * (len(ALL) + 1)}}"
    for name, width in (("tdsl-default", 15), ("tdsl-tuned", 13)):
        ratios = [row.ratio for row in rows if row.contender == name]
        ratios = [ratio for ratio in ratios if np.isfinite(ratio)]
        text = f"{geometric_mean(ratios):.2f}" if ratios else "-"
        line += f"{text:>{width}}"
    return line


def as_json(rows: Sequence[Row]) -> str:
    """Return *rows* as a JSON list, one row a line."""
    return "[\n" + ",\n".join(json.dumps(asdict(row)) for row in rows) + "\n]"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    made = argparse.ArgumentParser(
        "python -m benchmarks.polybench", description=__doc__
    )
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.add_argument("--kernels", type=names_among(NAMES), default=list(NAMES))
    made.add_argument("--contenders", type=names_among(ALL), default=list(ALL))
    made.add_argument("--threads", type=whole(1), default=2, metavar="N")
    add_budget(made, "kernel", 60)
    made.add_argument(
        "--sizes",
        default="bench",
        choices=("mini", "small", "medium", "large", "bench"),
        help="which preset of each kernel to measure (default: bench)",
    )
    made.add_argument("--rounds", type=whole(1), default=5, metavar="N")
    made.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="keep rows here as they come, and take those that are here already",
    )
    made.add_argument("--json", action="store_true", help="print rows as JSON")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    options = parser().parse_args(arguments)
    record = Record(options.record)
    rows: list[Row] = []
    for name in options.kernels:
        found = measured_or_kept(name, options, record)
        for row in found:
            note(json.dumps(asdict(row)))
        rows += found
    note(f"{machine()}; {options.rounds} rounds")
    if options.json:
        note(table(rows))
        print(as_json(rows))
    else:
        print(table(rows))
    missing = {*options.kernels} - {row.kernel for row in rows}
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
