"""Programs at the edge of memory: `python -m tests.backends.guarded_programs CPU HALF`.

CPU is a target that the environment names, or `cpu`; HALF, 0 or 1, says which half of
the scheduled programs runs beside those written by hand. Before each run the program,
its sizes and its place are printed: where the process ends, the last line tells which
one left its tensors.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdsl.analysis.validate import validate
from tdsl.backends.cpu import CompiledFunction, compile_function
from tdsl.backends.index_inputs import draw_subscripts, have_subscripts
from tdsl.backends.reference import interpret
from tdsl.errors import ScheduleError
from tdsl.ir.nodes import Function
from tdsl.ir.walk import loops
from tdsl.schedules.library import default_schedule
from tdsl.schedules.schedule import Schedule
from tdsl.target import Target, target_named

from ..ir_text import read_function
from ..schedules.kernels import TEXTS, kernel
from ..schedules.random_chains import random_schedule
from .edge_programs import EDGE_PROGRAMS
from .guard_pages import EDGES, Guarded, guard_locals
from .scheduled import KERNELS
from .test_cpu import call

Arrays = dict[str, NDArray[Any]]
SIZES = ((1, 1, 1), (1, 16, 2), (3, 2, 4), (13, 16, 5), (16, 7, 33))
"""What the dims of a program are in turn: below, at and above the usual tiles."""

SEEDS = range(8)


@dataclass(frozen=True)
class Program:
    """A scheduled function, what it is a schedule of, and sizes."""

    name: str
    function: Function
    original: Function
    sizes: tuple[Mapping[str, int], ...]


def programs(target: Target, half: int) -> Iterator[Program]:
    """Yield programs written by hand, and *half* of default and of random schedules."""
    written = {**KERNELS, **{name: (text, ()) for name, text in EDGE_PROGRAMS.items()}}
    for name, (text, sizes) in written.items():
        function = read_function(text)
        yield Program(name, function, function, (*sizes, *tails(function)))
    for name in list(TEXTS)[half::2]:
        original = kernel(name)
        function = default_schedule(original, target).function
        yield Program(f"default {name}", function, original, tails(original))
    for seed in SEEDS[half::2]:
        name, schedule = tiled_at_random(seed)
        original = schedule.original
        if validate(original, schedule.function, "reassoc").verdict == "proved":
            title = f"random {seed} of {name}"
            yield Program(title, schedule.function, original, tails(original))


def tails(function: Function) -> tuple[dict[str, int], ...]:
    """Return sizes that tiles do not divide, and some that they do."""
    return tuple(
        {
            dim.name: max(dim.min, size - size % dim.multiple)
            for dim, size in zip(function.dims, sizes * 2, strict=False)
        }
        for sizes in SIZES
    )


def tiled_at_random(seed: int) -> tuple[str, Schedule]:
    """Return a random schedule that ends with unrolled and vectorized loops."""
    choose = random.Random(seed)
    name = choose.choice(list(TEXTS))
    schedule = random_schedule(Schedule(kernel(name)), choose, choose.randint(0, 2))
    for _ in range(3):
        axis = choose.choice(list(loops(schedule.function)))
        inner = f"{axis}_v"
        try:
            tiled = schedule.split(axis, choose.choice((4, 5, 8)), names=(axis, inner))
            schedule = choose.choice((tiled.vectorize, tiled.unroll))(inner)
        except ScheduleError:
            continue
    return name, schedule


def random_arrays(original: Function, dims: Mapping[str, int]) -> Arrays:
    """Return small integers, whose float sums are exact, and subscripts that fit."""
    generator = np.random.default_rng(7)
    arrays = {}
    for param in original.params:
        shape = tuple(form.evaluate(dims) for form in param.tensor.shape)
        chosen = draw_subscripts(original, param, dims, generator)
        whole = generator.integers(-4, 5, shape) if chosen is None else chosen
        arrays[param.tensor.name] = np.asarray(whole, param.tensor.dtype.numpy)
    return arrays


def run(program: Program, compiled: CompiledFunction, guarded: Guarded) -> None:
    """Run *program* with each edge of its arrays guarded, and compare the results."""
    for dims in program.sizes:
        if not have_subscripts(program.original, dims):
            continue
        arrays = random_arrays(program.original, dims)
        expected = {name: array.copy() for name, array in arrays.items()}
        interpret(program.original, expected, dict(dims))
        for guarded.edge in EDGES:
            print(f"{program.name} {dict(dims)}, {guarded.edge} byte", flush=True)
            placed = {name: guarded.copy(array) for name, array in arrays.items()}
            call(compiled, placed, dims)
            for name, array in expected.items():
                np.testing.assert_allclose(placed[name], array, 1e-4, 1e-4, name)
            del placed
            guarded.clear()


def main(name: str, half: int) -> None:
    """Run the programs for the target *name*."""
    target, guarded = target_named(name), Guarded()
    held = guard_locals(guarded)
    for program in programs(target, half):
        run(
            program, compile_function(program.function, target, parallel=False), guarded
        )
    del held


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
