"""`tdsl reduce`."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from ..errors import ArgumentError
from ..kernel import Kernel
from ..schedules.schedule import Schedule
from ..testing.case import Case, draw_case
from ..testing.marking import Marks, marks_of
from ..testing.moves import tile_sizes
from ..testing.reduction import Reduction, reduce_schedule
from ..testing.scripts import loading_script_of, read_schedule, script_of
from ..tuner.requests import check_dims
from ..tuner.scripts import load_script
from .failures import UsageError
from .loading import load_kernel, read_dims


def run(options: Namespace) -> int:
    """Reduce the schedule that *options* name and write the script; 1 if none fails."""
    kernel, _, file = load_kernel(options.kernel)
    marks = marks_of(kernel) or Marks()
    if options.numerics is not None:
        kernel = kernel.with_numerics(options.numerics)
    path = Path(options.schedule)
    if not path.is_file():
        raise UsageError(
            f"no such file: {path}; the schedule is a .json or .py file, such as "
            "`tdsl show` prints"
        )
    schedule = read_schedule(kernel, path)
    cases = _cases(kernel, schedule, options)
    found = reduce_schedule(kernel, schedule, cases, marks.prepare, apart=True)
    if found is None:
        print(
            "tdsl: the schedule does not fail: it is proved, and right in "
            f"{len(cases)} examples; try another --seed, more --examples, or the sizes "
            "for which it failed",
            file=sys.stderr,
        )
        return 1
    output = options.output or Path(f"{kernel.name}_failure.py")
    _write(found, file, output)
    print(found.symptom.text)
    steps = len(found.schedule.steps), len(schedule.steps)
    print(f"\nreduced from {steps[1]} to {steps[0]} steps: {found.schedule}")
    # With -P a folder beside the script cannot hide the installed package.
    print(f"run it: python -P {output}")
    return 0


def _cases(kernel: Kernel, schedule: Schedule, options: Namespace) -> list[Case]:
    dims = read_dims(options.dims)
    if dims:
        try:
            dims = check_dims(kernel.name, kernel.function, dims)
        except ArgumentError as error:
            raise UsageError(str(error)) from error
    near = tile_sizes(schedule)
    cases = []
    for seed in range(options.seed, options.seed + options.examples):
        case = draw_case(
            kernel.function, seed, kernel.numerics, layout="contiguous", near=near
        )
        cases.append(Case(dims, seed, case.data) if dims else case)
    return cases


def _write(found: Reduction, file: Path, output: Path) -> None:
    """Write the script, with the kernel's own text if that makes the same kernel."""
    if found.prepare is not None:
        _save(output, loading_script_of(found, file, "its arguments are prepared"))
        return
    _save(output, script_of(found, file))
    try:
        copy = vars(load_script(output)).get(found.kernel.name)
        same = isinstance(copy, Kernel) and copy.function == found.kernel.function
        why = "it would mean something else"
    except Exception as error:
        same, why = False, f"{type(error).__name__}: {error}"
    if not same:
        _save(output, loading_script_of(found, file, why))


def _save(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror or error}") from error
