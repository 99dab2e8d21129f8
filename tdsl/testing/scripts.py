"""Schedules from files, and failing schedules as scripts that stand alone."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from ..errors import ScheduleError, TdslError
from ..kernel import Kernel
from ..schedules.schedule import Schedule
from .kernel_text import NoTextError, kernel_text
from .reduction import Reduction

_CONTINUED = re.compile(r"\n[ \t]*(?=\.)")


def read_schedule(kernel: Kernel, path: Path) -> Schedule:
    """Return the schedule in a JSON or Python file.

    JSON is what `Schedule.to_json` writes, or an object that holds it as "schedule".
    Python is what `tdsl show` and a failed check print, `schedule.split(...)...` or
    `KERNEL.schedule().split(...)...`, or a program that sets the variable `schedule`.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return Schedule.from_json(kernel.function, _steps_text(text))
    return _evaluated(kernel, path, _CONTINUED.sub("", text))


def _steps_text(text: str) -> str:
    """Return the part of *text* that is a schedule, if it is inside a larger record."""
    try:
        data: Any = json.loads(text)
    except ValueError:
        return text
    if isinstance(data, dict) and isinstance(data.get("schedule"), dict):
        return json.dumps(data["schedule"])
    return text


def _evaluated(kernel: Kernel, path: Path, text: str) -> Schedule:
    start = kernel.schedule()
    names: dict[str, Any] = {"schedule": start, kernel.name: kernel}
    try:
        tree = ast.parse(text, str(path))
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            target = ast.Name("schedule", ast.Store())
            tree.body[-1] = ast.Assign([target], last.value)
            ast.fix_missing_locations(tree)
        exec(compile(tree, str(path), "exec"), names)
    except TdslError:
        raise
    except Exception as error:
        raise ScheduleError(
            f"{path} cannot be run: {type(error).__name__}: {error}"
        ) from error
    found = names["schedule"]
    if found is start and not isinstance(last, ast.Expr):
        raise ScheduleError(
            f"{path} makes no schedule: its last line is none, and nothing sets the "
            f"variable `schedule`; write {kernel.name}.schedule().split(...)"
        )
    if not isinstance(found, Schedule):
        raise ScheduleError(
            f"{path} makes no schedule: its last line, or its variable `schedule`, is "
            f"{found!r}; write {kernel.name}.schedule().split(...)"
        )
    return found.replay(kernel.function)


# --- writing ----------------------------------------------------------------------


def script_of(reduction: Reduction, origin: Path) -> str:
    """Return a program that shows the failure.

    It holds the kernel's text; where that cannot be, it loads the kernel from *origin*.
    """
    try:
        kernel = kernel_text(reduction.kernel).rstrip()
    except NoTextError as error:
        kernel = _loading_text(reduction.kernel, origin, str(error))
    return _assembled(reduction, kernel)


def loading_script_of(reduction: Reduction, origin: Path, why: str) -> str:
    """Return a program that shows the failure of a kernel that it loads."""
    return _assembled(reduction, _loading_text(reduction.kernel, origin, why))


def _loading_text(kernel: Kernel, origin: Path, why: str) -> str:
    return (
        "from pathlib import Path\nfrom tdsl.tuner.scripts import load_script\n\n"
        f"# The kernel's text cannot stand here: {why}.\n"
        f"{kernel.name} = load_script(Path({str(origin.resolve())!r})).{kernel.name}"
    )


def _assembled(reduction: Reduction, kernel_lines: str) -> str:
    name, symptom = reduction.kernel.name, reduction.symptom
    steps = "".join(f"\n    .{each}" for each in reduction.schedule.steps)
    options = "schedule=schedule"
    if reduction.engine != "compiled":
        options += f', engine="{reduction.engine}"'
    if reduction.prepare is not None:
        options += f", prepare=marks_of({name}).prepare"
    imports, _, definitions = kernel_lines.partition("\n\n")
    if reduction.prepare is not None:
        definitions = f"from tdsl.testing.marking import marks_of\n\n{definitions}"
    shown = "\n".join(f"# {line}".rstrip() for line in symptom.text.splitlines())
    return f'''"""A schedule of {name} that fails ({symptom.kind}); run it to see that.

Reduced from {_count(reduction.original)} to {_count(reduction.schedule)}.
"""

{imports}
from tdsl.testing import Case, run_case
{definitions}


schedule = (
    {name}.schedule(){steps}
)
case = {symptom.case!r}

if __name__ == "__main__":
    print(schedule.text())
    run_case({name}, case, {options})
    print("no failure any more")

{shown}
'''


def _count(schedule: Schedule) -> str:
    return f"{len(schedule.steps)} step" + "s" * (len(schedule.steps) != 1)
