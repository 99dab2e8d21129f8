"""How exact and how fast the mathematical functions of tdsl are.

    python -m benchmarks.maths                            all of them: 15 minutes
    python -m benchmarks.maths --functions exp,erf --samples 1000

float32 results are compared at all 2**32 arguments (at 2**26 pairs for `pow`) with
NumPy's in double precision, float64 results at random arguments with mpmath's of 160
bits. An error is in units in the last place. Times are nanoseconds an element on one
thread, in arrays of 4096 elements, as medians of interleaved rounds; libmvec is glibc's
vector library, called from a loop that gcc compiles with -ffast-math (it may be off by
4 units). The exit code is 1 if a float32 result is further off than allowed: by 2 units
for `pow` and `erf`, by 1 for the others.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tdsl.cli.arguments import whole

from ..options import names_among
from ..report import machine, note
from .accuracy import Error, float32_error, float64_error
from .functions import DTYPES, FUNCTIONS, Function
from .speed import nanoseconds

NAMES = [function.name for function in FUNCTIONS]


@dataclass(frozen=True, slots=True)
class Row:
    """What was found for one function and dtype."""

    function: str
    dtype: str
    error: Error
    nanoseconds: dict[str, float]


def measure(function: Function, dtype: str, samples: int, processes: int) -> Row:
    """Return the row of one function and dtype."""
    times = nanoseconds(function, dtype)
    if dtype == "f32":
        error = float32_error(function.name, processes)
    else:
        error = float64_error(function.name, samples)
    return Row(function.name, dtype, error, times)


def table(rows: Sequence[Row]) -> str:
    """Return *rows* as a table in Markdown."""
    lines = [
        "| function | dtype | largest error | at | arguments tried | tdsl ns "
        "| NumPy ns | libmvec ns |",
        "|---|---|--:|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        at = ", ".join(f"{value:.9g}" for value in row.error.at)
        times = (row.nanoseconds.get(name) for name in ("tdsl", "numpy", "libmvec"))
        shown = " | ".join("-" if each is None else f"{each:.2f}" for each in times)
        lines.append(
            f"| {row.function} | {row.dtype} | {row.error.ulps:.3f} | {at} "
            f"| {row.error.tried:,} | {shown} |"
        )
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    made = argparse.ArgumentParser("python -m benchmarks.maths", description=__doc__)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.add_argument("--functions", type=names_among(NAMES), default=NAMES)
    made.add_argument("--dtypes", type=names_among(list(DTYPES)), default=list(DTYPES))
    made.add_argument("--samples", type=whole(1), default=100_000, metavar="N")
    made.add_argument(
        "--processes", type=whole(1), default=os.cpu_count() or 1, metavar="N"
    )
    made.add_argument("--json", action="store_true", help="print rows as JSON")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    options = parser().parse_args(arguments)
    rows: list[Row] = []
    for function in FUNCTIONS:
        for dtype in options.dtypes:
            if function.name in options.functions:
                row = measure(function, dtype, options.samples, options.processes)
                note(table([row]).splitlines()[-1])
                rows.append(row)
    note(machine())
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        print(table(rows))
    limits = {function.name: function.ulps for function in FUNCTIONS}
    wrong = [r for r in rows if r.dtype == "f32" and r.error.ulps > limits[r.function]]
    for row in wrong:
        note(f"{row.function}: off by more than {limits[row.function]:g} units")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
