"""`tdsl show`: a kernel at any stage on its way to machine code."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass

from ..analysis.validate import validate
from ..backends.complex_parts import split_complex
from ..backends.cpu import compile_function
from ..backends.lower import lower
from ..backends.source import emit_source
from ..entries import fingerprint
from ..errors import ArgumentError
from ..executable import CpuBackend, Executable, ReferenceExecutable
from ..ir.nodes import Function
from ..ir.numerics import Numerics
from ..ir.printer import print_function
from ..kernel import Kernel
from ..kernel_faults import reject_faults
from ..plans import plan
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
    target = target_named(options.target)
    if options.stage == "asm" and not _compiles_for(target):
        return _run_in_child(options, target)
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
    reject_faults(kernel.function)
    view = _view(kernel, dims, target, options)
    print(_STAGES[options.stage](view).rstrip())
    return 0


def _compiles_for(target: Target) -> bool:
    """Whether code that this process compiles is for *target*."""
    return all(os.environ.get(k) == v for k, v in target.environment().items())


def _run_in_child(options: Namespace, target: Target) -> int:
    """Run the same command in a process that compiles for *target*."""
    command = [sys.executable, "-P", "-m", "tdsl.cli", "show", options.kernel]
    command += [*options.dims, "--stage", options.stage, "--target", options.target]
    for name in ("threads", "numerics"):
        value = getattr(options, name)
        command += [f"--{name}", str(value)] if value is not None else []
    done = subprocess.run(
        command,
        env={**os.environ, **target.environment()},
        stdout=subprocess.PIPE,
        text=True,
    )
    print(done.stdout, end="")
    return done.returncode


def _view(
    kernel: Kernel, dims: dict[str, int], target: Target, options: Namespace
) -> View:
    threads = options.threads or CpuBackend().threads
    numerics: Numerics = options.numerics or kernel.numerics
    explicit = kernel.explicit_schedule
    if explicit is not None:
        origin = "explicit: what with_schedule gave, for all sizes"
        return View(kernel.function, explicit, origin, numerics, target, threads)
    shown = _ShownKernel(
        kernel.function, numerics=numerics, backend=_ShownBackend(target, threads)
    )
    schedule, origin = shown.choice(dims)
    return View(kernel.function, schedule, origin, numerics, target, threads)


@dataclass(frozen=True, slots=True)
class _ShownBackend:
    """Chooses schedules for a target and threads that need not be this machine's."""

    target: Target
    threads: int

    @property
    def machine(self) -> str:
        return fingerprint(self.target)

    def default_schedule(self, function: Function, numerics: Numerics) -> Schedule:
        return plan(function, self.target, numerics)

    def compile(self, function: Function, numerics: Numerics) -> Executable:
        raise AssertionError("a kernel that is shown is not called")


class _ShownKernel(Kernel):
    """A kernel that tells which schedule a call would run."""

    shown: Schedule

    def compile(self, schedule: Schedule) -> Executable:
        """Note *schedule* instead of compiling it; a default is shown unproved too."""
        if self._tuned_schedules():
            self.prove(schedule)
        self.shown = schedule
        return ReferenceExecutable(schedule.function)

    def choice(self, dims: dict[str, int]) -> tuple[Schedule, str]:
        """Return the tuned and proved schedule for *dims*, else the default."""
        tuned = self._tuned_schedules().get(tuple(sorted(dims.items())))
        if tuned is None:
            return self._backend.default_schedule(self.function, self.numerics), (
                "default"
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._executable(tuned)
        for warning in caught:
            print(f"tdsl: {warning.message}", file=sys.stderr)
        sizes = " ".join(f"{name}={size}" for name, size in dims.items())
        return self.shown, "default" if caught else f"tuned for {sizes}"


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
    contract = view.numerics != "bitwise"
    split = split_complex(view.schedule.function, contract)
    return print_function(lower(split.function))


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
