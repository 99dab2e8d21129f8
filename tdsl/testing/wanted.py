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
    wrong = [
        f"{name} is {shown(given[name])}" if name in given else f"{name} is missing"
        for name in names
        if type(given.get(name)) is not int or given[name] < 0
    ]
    if not isinstance(dims, dict) or wrong:
        example = ", ".join(f'"{name}": 16' for name in names)
        what = wrong[0] if isinstance(dims, dict) else f"dims is {shown(dims)}"
        raise ArgumentError(
            f"{use}: {what}, but dims has a size for each dim: {{{example}}}"
        )
