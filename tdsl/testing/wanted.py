"""Refuse what the functions of this package cannot use, in their own words."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..ir.given import check_option, shown
from ..ir.programs import no_program
from ..kernel import Kernel
from ..schedules.schedule import Schedule


def check_kernel(use: str, kernel: object) -> None:
    """Refuse what is no kernel."""
    if not isinstance(kernel, Kernel):
        raise ArgumentError(f"{use}: {no_program(kernel)}")


def check_run(
    use: str,
    kernel: object,
    *,
    schedule: object = None,
    engine: object = "compiled",
    seed: object = 0,
    prepare: object = None,
) -> None:
    """Refuse arguments of another kind; None for *schedule* and *prepare* will do."""
    check_kernel(use, kernel)
    if schedule is not None:
        check_option(use, "schedule", schedule, Schedule, "a schedule of the kernel")
    if not (isinstance(engine, str) and engine in ("compiled", "interpreted")):
        raise ArgumentError(
            f'{use}: engine is {shown(engine)}, but it is "compiled" or "interpreted"'
        )
    check_option(use, "seed", seed, int, "a whole number from 0 up", least=0)
    if not (prepare is None or callable(prepare)):
        raise ArgumentError(
            f"{use}: prepare is {shown(prepare)}, but it is a function: "
            "prepare(arrays, dims) changes the arrays in place"
        )


def check_sizes(use: str, function: Any, dims: object) -> None:
    """Refuse *dims* that lack a dim of *function*, or give no whole number for one."""
    names = [dim.name for dim in function.dims]
    given = dims if isinstance(dims, dict) else {}
    sizes = [given.get(name) for name in names]
    whole = all(type(size) is int and size >= 0 for size in sizes)
    if not isinstance(dims, dict) or not whole:
        example = ", ".join(f'"{name}": 16' for name in names)
        raise ArgumentError(
            f"{use}: dims is {shown(dims)}, but it has a size for each dim: "
            f"{{{example}}}"
        )
