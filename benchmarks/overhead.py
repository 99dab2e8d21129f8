"""What tdsl costs besides the loops themselves.

    python -m benchmarks.overhead --json

* import: `import tdsl` after `import numpy`
* first result: from the start of a process that imports tdsl and calls a kernel to the
  end of that call, with an empty disk cache (it compiles) and with a filled one; the
  processor time of that, which other programs on the machine disturb less; and the same
  process until Python has cleared up and ended
* call: a call of a compiled kernel on one thread, less a call of the bare Numba
  function in it, which gets all arguments ready
* candidate: what one candidate of the tuner costs besides Numba's compilation:
  schedule, proof and emission of a packed matrix product

Each line is measured in processes of its own; figures are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter, time
from timeit import Timer

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
import numpy
start = perf_counter()
import tdsl
print(perf_counter() - start)
"""

FIRST_RESULT = """
import os, runpy, time, numpy
matmul = runpy.run_path("examples/01_matmul.py")["matmul"]
ones = numpy.ones((64, 64), numpy.float32)
assert (matmul(ones, ones) == 64).all()
print(time.time(), sum(os.times()[:2]))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """One figure, and the most that the project allows itself (None: no limit)."""

    what: str
    value: float
    unit: str
    limit: float | None


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that ended well: what it printed, and when it started and ended."""

    printed: str
    start: float
    end: float


def run_python(arguments: Sequence[str], **environment: str) -> Finished:
    """Run Python with *arguments* in a new process, with *environment* besides ours."""
    start = time()
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=REPOSITORY,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Finished(finished.stdout, start, time())


def import_cost(repeats: int) -> list[Cost]:
    """Time the import of tdsl in new processes."""
    seconds = [float(run_python(["-c", IMPORT]).printed) for _ in range(repeats)]
    return [Cost("import tdsl, after numpy", median(seconds), "s", 0.4)]


def first_result_cost(repeats: int) -> list[Cost]:
    """Time processes from their start to a first result, and to their end."""
    with tempfile.TemporaryDirectory() as cache:
        runs = [
            run_python(["-c", FIRST_RESULT], TDSL_CACHE=cache)
            for _ in range(repeats + 1)
        ]
    printed = [[float(word) for word in run.printed.split()] for run in runs]
    cold, *warm = (at - run.start for run, (at, _) in zip(runs, printed, strict=True))
    processor = median(seconds for _, seconds in printed[1:])
    ended = median(run.end - run.start for run in runs[1:])
    what = "first result of a process"
    return [
        Cost(f"{what}, compiling", cold, "s", None),
        Cost(f"{what}, from the disk cache", median(warm), "s", 1.5),
        Cost(f"{what}, from the disk cache, on the processor", processor, "s", None),
        Cost("end of that process", ended, "s", None),
    ]


KERNEL = "examples/01_matmul.py:matmul"
CALLS = 100  # timed as one: too few for other programs to get in between often
ROUNDS = 300


def call_cost(repeats: int) -> list[Cost]:
    """Time calls of a small kernel, and of the Numba function in it, alternately."""
    kernel = load_kernel(KERNEL)
    a = b = np.ones((8, 8), np.float32)
    out = kernel(a, b)
    schedule = default_schedule(kernel.function, host(), kernel.numerics)
    layouts = ("C",) * len(kernel.function.params)
    names = {"kernel": kernel, "a": a, "b": b, "out": out, "size": 8}
    names["entry"] = kernel.compile(schedule).entry_for(layouts)
    statements = (
        "entry(a, b, out, size, size, size)",
        "kernel(a, b, out=out)",
        "kernel(a, b)",
    )
    timers = [Timer(each, globals=names) for each in statements]
    samples: list[list[float]] = [[] for _ in timers]
    for _ in range(ROUNDS * repeats):
        for timer, times in zip(timers, samples, strict=True):
            times.append(timer.timeit(CALLS) / CALLS * 1e6)
    bare, given, fresh = map(median, samples)
    return [
        Cost("call of the bare Numba function", bare, "us", None),
        Cost("call with out=, besides it", given - bare, "us", 2),
        Cost("call that allocates its result, besides it", fresh - bare, "us", 2),
    ]


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

# These run in a process of their own, with this environment; the others start many.
OWN_PROCESS: Mapping[str, Mapping[str, str]] = {
    "call": {"NUMBA_NUM_THREADS": "1"},  # starting threads would hide the overhead
    "candidate": {},
}


def measure_here(name: str, repeats: int) -> list[Cost]:
    """Return the costs of that name, measured by this process."""
    return COSTS[name](repeats)


def measure(name: str, repeats: int) -> list[Cost]:
    """Return the costs of that name, measured where nothing else was loaded."""
    if name not in OWN_PROCESS:
        return measure_here(name, repeats)
    module = ["-m", "benchmarks.overhead", "--inside", "--json"]
    options = ["--only", name, "--repeats", str(repeats)]
    finished = run_python([*module, *options], **OWN_PROCESS[name])
    return [Cost(**row) for row in json.loads(finished.printed)]


def table(costs: Sequence[Cost]) -> str:
    """Return *costs* as text for people."""
    lines = []
    for cost in costs:
        limit = f"(limit {cost.limit:g} {cost.unit})" if cost.limit else ""
        lines.append(f"{cost.what:<66} {cost.value:>9.3f} {cost.unit:<3} {limit}")
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
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.inside:
        note(machine())
    run = measure_here if options.inside else measure
    costs = [cost for name in options.only for cost in run(name, options.repeats)]
    if options.json:
        print(json.dumps([asdict(cost) for cost in costs], indent=1))
    else:
        print(table(costs))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
