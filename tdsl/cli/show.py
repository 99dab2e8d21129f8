"""`tdsl show`: a kernel at any stage on its way to machine code."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass

from ..analysis.validate import validate
from ..backends.cpu import compile_function
from ..backends.registers import unroll_register_loops
from ..backends.source import emit_source
from ..entries import fingerprint, lookup, program_hash, situation
from ..errors import ArgumentError, ScheduleError
from ..ir.nodes import Function
from ..ir.numerics import Numerics
from ..ir.printer import print_function
from ..kernel import Kernel
from ..schedules.library import default_schedule
from ..schedules.schedule import Schedule
from ..target import Target, target_named
from ..tuner.requests import check_dims
from .failures import UsageError
from .loading import load_kernel, read_dims


@dataclass(frozen=True, slots=True)
class View:
    """A kernel with its choices made."""

    function: Function
    schedule: Schedule
    origin: str
    numerics: Numerics
    target: Target
    threads: int


def run(options: Namespace) -> int:
    """Print the stage that *options* name; return the exit code."""
    kernel, _, _ = load_kernel(options.kernel)
    dims = read_dims(options.dims)
    if dims:
        try:
            dims = check_dims(kernel.name, kernel.function, dims)
        except ArgumentError as error:
            raise UsageError(str(error)) from error
    if options.stage == "parsed":
        print(print_function(kernel.function), end="")
        return 0
    view = _view(kernel, dims, options)
    print(_STAGES[options.stage](view).rstrip())
    return 0


def _view(kernel: Kernel, dims: dict[str, int], options: Namespace) -> View:
    target = target_named(options.target)
    threads = options.threads or target.cores
    numerics: Numerics = options.numerics or kernel.numerics
    schedule, origin = _schedule(kernel, dims, threads, numerics, target)
    return View(kernel.function, schedule, origin, numerics, target, threads)


def _schedule(
    kernel: Kernel,
    dims: dict[str, int],
    threads: int,
    numerics: Numerics,
    target: Target,
) -> tuple[Schedule, str]:
    """Return the tuned schedule where there is one, else the default."""
    function = kernel.function
    if dims or not function.dims:
        program = program_hash(function)
        where = situation(program, dims, threads, numerics, fingerprint(target))
        tuned = lookup(where)
        if tuned is not None:
            sizes = " ".join(f"{name}={size}" for name, size in dims.items())
            try:
                return Schedule.from_json(function, tuned), f"tuned for {sizes}"
            except ScheduleError as error:
                print(f"tdsl: the tuned schedule is void: {error}", file=sys.stderr)
    return default_schedule(function, target, numerics), "default"


def schedule_text(schedule: Schedule) -> str:
    """Return *schedule* as Python, one step a line."""
    return "\n    .".join(["schedule", *map(str, schedule.steps)])


def _scheduled(view: View) -> str:
    certificate = validate(view.function, view.schedule.function, view.numerics)
    proof = "\n".join(f"# {line}" for line in str(certificate).splitlines())
    text = schedule_text(view.schedule)
    loops = print_function(view.schedule.function)
    return f"# {view.origin}\n{text}\n\n{loops}\n{proof}"


def _lowered(view: View) -> str:
    return print_function(unroll_register_loops(view.schedule.function))


def _source(view: View) -> str:
    return emit_source(
        view.schedule.function, numerics=view.numerics, parallel=view.threads > 1
    ).text


def _asm(view: View) -> str:
    return compile_function(
        view.schedule.function,
        view.target,
        numerics=view.numerics,
        parallel=view.threads > 1,
    ).assembly()


_STAGES: dict[str, Callable[[View], str]] = {
    "scheduled": _scheduled,
    "lowered": _lowered,
    "source": _source,
    "asm": _asm,
}
