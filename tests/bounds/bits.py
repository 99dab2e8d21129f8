"""Bits of results: `python -m tests.bounds.bits TARGET THREADS PROGRAMS SEED`.

Prints, as JSON, for each random program in class `bitwise` a digest of its results
under each of several schedules. The process compiles for the target that its
environment names, so another process shows another width of vectors.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys

import numpy as np

from tdsl.analysis.validate import validate
from tdsl.errors import BackendError
from tdsl.ir.dtypes import f32, f64
from tdsl.ir.nodes import Function
from tdsl.schedules.library import default_schedule
from tdsl.target import target_named
from tdsl.testing.case import Case
from tdsl.testing.values import make_arrays

from ..backends.programs import PROGRAMS, in_double
from ..fuzz.campaign import sizes
from ..fuzz.primitives import random_schedule
from ..fuzz.programs import random_program
from .batch import TRIALS, stacked
from .campaign import Arrays, Runner
from .programs import enriched

SETS = 8


def programs(count: int, rng: random.Random) -> list[tuple[Function, dict[str, int]]]:
    """Return random programs and kernels with sizes; kernels are every third."""
    found: list[tuple[Function, dict[str, int]]] = []
    while len(found) < count:
        if len(found) % 3 == 2:
            program = PROGRAMS[rng.choice(sorted(PROGRAMS))]
            function = rng.choice([in_double, lambda f: f])(program.function)
            dims = dict(program.dims)
        else:
            function = enriched(random_program(rng, rng.choice([f32, f64])), rng)
            dims = list(sizes(function.dims))[-1]
        if validate(function, function, "bitwise").verdict == "proved":
            found.append((function, dims))
    return found


def digests(target: str, threads: int, count: int, seed: int) -> list[list[str]]:
    """Return the digests of each program: as written, scheduled at random, default."""
    rng = random.Random(seed)
    found = []
    for function, dims in programs(count, rng):
        schedules = [function]
        for _ in range(2):
            candidate = random_schedule(function, rng)
            if validate(function, candidate, "bitwise").verdict == "proved":
                schedules.append(candidate)
        width = target_named(target)
        schedules.append(default_schedule(function, width, "bitwise").function)
        cases = [Case(dims, rng.randrange(1 << 30), data="normal") for _ in range(SETS)]
        arrays = stacked([make_arrays(function, case) for case in cases])
        found.append([digest(each, arrays, dims, threads) for each in schedules])
    return found


def digest(
    function: Function, arrays: Arrays, dims: dict[str, int], threads: int
) -> str:
    """Return a digest of the results' bits; any NaN counts as the same."""
    try:
        run = Runner(function, "bitwise", parallel=threads > 1)
    except BackendError:
        return ""
    digest = hashlib.sha256()
    for name, array in sorted(run(arrays, {**dims, TRIALS: SETS}).items()):
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest()[:12]


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    json.dump(digests(name, *map(int, numbers)), sys.stdout)
