"""What tdsl costs besides the loops themselves.

    python -m benchmarks.overhead --json

* import: `import tdsl` after `import numpy`
* first result: a whole process that imports tdsl, calls a kernel and prints, with an
  empty disk cache (it compiles) and with a filled one
* call: a call of a compiled kernel, less a call of the bare Numba function in it
* candidate: what one candidate of the tuner costs besides Numba's compilation:
  schedule, proof and emission of a packed matrix product
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter

import numpy as np

from tdsl.analysis.validate import validate
from tdsl.backends.source import emit_source
from tdsl.schedules.library import default_schedule
from tdsl.schedules.sketches import sketch
from tdsl.target import host

from .harness import REPOSITORY
from .ours import load_kernel
from .report import machine, note

IMPORT = """
from time import perf_counter
start = perf_counter(); import numpy; middle = perf_counter(); import tdsl
print(perf_counter() - middle)
"""

FIRST_RESULT = """
import runpy, numpy
matmul = runpy.run_path("examples/01_matmul.py")["matmul"]
ones = numpy.ones((64, 64), numpy.float32)
assert (matmul(ones, ones) == 64).all()
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """One figure, and the most that the project allows itself (None: no limit)."""

    what: str
    value: float
    unit: str
    limit: float | None


def run_python(program: str, cache: str) -> tuple[str, float]:
    """Run *program* in a new process; return what it prints and its wall time."""
    start = perf_counter()
    finished = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        env=os.environ | {"TDSL_CACHE": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return finished.stdout, perf_counter() - start


def import_cost(repeats: int) -> list[Cost]:
    """Time the import of tdsl in new processes."""
    with tempfile.TemporaryDirectory() as cache:
        seconds = [float(run_python(IMPORT, cache)[0]) for _ in range(repeats)]
    return [Cost("import tdsl, after numpy", median(seconds), "s", 0.4)]


def first_result_cost(repeats: int) -> list[Cost]:
    """Time processes from their start to the end of a first call."""
    with tempfile.TemporaryDirectory() as cache:
        cold = run_python(FIRST_RESULT, cache)[1]
        warm = median(run_python(FIRST_RESULT, cache)[1] for _ in range(repeats))
    return [
        Cost("process with a first call, compiling", cold, "s", None),
        Cost("process with a first call, from the disk cache", warm, "s", 1.5),
    ]


KERNEL = "examples/01_matmul.py:matmul"
CALLS = 2000  # a group of calls that is timed as one


def call_cost(repeats: int) -> list[Cost]:
    """Time calls of a small kernel, and of the Numba function in it, alternately."""
    kernel = load_kernel(KERNEL)
    a = b = np.ones((8, 8), np.float32)
    c = kernel(a, b)
    call = kernel.bind((a, b), {"out": c})
    values = (*call.values, *call.dims.values())
    bare = kernel.compile(
        default_schedule(kernel.function, host(), kernel.numerics)
    ).entry_for(("C",) * len(kernel.function.params))
    bare(*values)
    samples: dict[str, list[float]] = {"bare": [], "out": [], "new": []}
    for _ in range(max(repeats, 15)):
        samples["bare"].append(time_calls(lambda: bare(*values)))
        samples["out"].append(time_calls(lambda: kernel(a, b, out=c)))
        samples["new"].append(time_calls(lambda: kernel(a, b)))
    base = median(samples["bare"])
    return [
        Cost("call of the bare Numba function", base * 1e6, "us", None),
        Cost(
            "call with out=, besides it", (median(samples["out"]) - base) * 1e6, "us", 2
        ),
        Cost("call, besides it", (median(samples["new"]) - base) * 1e6, "us", 2),
    ]


def time_calls(call: Callable[[], object]) -> float:
    """Return the seconds a call."""
    start = perf_counter()
    for _ in range(CALLS):
        call()
    return (perf_counter() - start) / CALLS


def candidate_cost(repeats: int) -> list[Cost]:
    """Time schedule, proof and emission of the packed matrix product."""
    kernel = load_kernel(KERNEL)
    stages: dict[str, list[float]] = {"schedule": [], "proof": [], "emission": []}
    for _ in range(repeats + 1):
        family = sketch(kernel.function, host(), kernel.numerics)
        start = perf_counter()
        function = family.build(family.default()).function
        scheduled = perf_counter()
        verdict = validate(kernel.function, function, kernel.numerics).verdict
        proved = perf_counter()
        emit_source(function, numerics=kernel.numerics, runtime_sizes=True)
        emitted = perf_counter()
        assert verdict == "proved"
        stages["schedule"].append(scheduled - start)
        stages["proof"].append(proved - scheduled)
        stages["emission"].append(emitted - proved)
    medians = {name: median(times[1:]) * 1e3 for name, times in stages.items()}
    limits = {"schedule": None, "proof": 50, "emission": None}
    return [
        *(Cost(f"candidate: {n}", ms, "ms", limits[n]) for n, ms in medians.items()),
        Cost("candidate: all three", sum(medians.values()), "ms", 150),
    ]


COSTS: dict[str, Callable[[int], list[Cost]]] = {
    "import": import_cost,
    "first-result": first_result_cost,
    "call": call_cost,
    "candidate": candidate_cost,
}


def table(costs: Sequence[Cost]) -> str:
    """Return *costs* as text for people."""
    lines = []
    for cost in costs:
        limit = f"(limit {cost.limit:g} {cost.unit})" if cost.limit else ""
        lines.append(f"{cost.what:<58} {cost.value:>9.3f} {cost.unit:<3} {limit}")
    return "\n".join(line.rstrip() for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.overhead",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=list(COSTS), default=list(COSTS))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    note(machine())
    costs = [cost for name in options.only for cost in COSTS[name](options.repeats)]
    if options.json:
        print(json.dumps([asdict(cost) for cost in costs], indent=1))
    else:
        print(table(costs))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
