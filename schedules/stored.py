"""Steps as JSON text, with a stamp of the program that they were made for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import cast

from ..errors import ScheduleError
from ..ir.nodes import Function
from ..ir.printer import print_function
from .trace import Step, step


def steps_to_json(function: Function, steps: Iterable[Step]) -> str:
    """Return *steps* over *function* as JSON text."""
    return json.dumps(
        {
            "function": function.name,
            "program": _stamp(function),
            "steps": [
                {"primitive": each.primitive, "arguments": dict(each.arguments)}
                for each in steps
            ],
        }
    )


def steps_from_json(
    function: Function, text: str, same_program: bool
) -> Iterator[Step]:
    """Yield the steps that `steps_to_json` wrote, with *same_program* over *function*.

    Raise ScheduleError for any other text, and for a step that no primitive takes.
    """
    data = _read(text)
    if same_program:
        _check_program(function, data)
    yield from _read_steps(data)


def _read(text: str) -> dict[str, object]:
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScheduleError(
            f"this is not the JSON of a schedule: {error}; pass what to_json returned"
        ) from error
    if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
        raise ScheduleError(
            'this is not the JSON of a schedule: it needs an object with "steps"'
        )
    return data


def _stamp(function: Function) -> str:
    """Return a hash of the loops as printed, which outlives changes inside tdsl."""
    return hashlib.sha256(print_function(function).encode()).hexdigest()[:16]


def _check_program(function: Function, data: dict[str, object]) -> None:
    """Refuse a schedule that was written for another program, where it says so."""
    name, program = data.get("function"), data.get("program")
    instead = (
        "pass that kernel, or from_json(..., same_program=False) to apply the steps "
        "all the same"
    )
    if name is not None and name != function.name:
        raise ScheduleError(
            f"this schedule is for the kernel {name}, and {function.name} is given: "
            f"{instead}"
        )
    if program is not None and program != _stamp(function):
        raise ScheduleError(
            f"this schedule is for another version of the kernel {function.name}, "
            f"whose program or dims differ: {instead}"
        )


def _read_steps(data: dict[str, object]) -> Iterable[Step]:
    for number, each in enumerate(cast(list[object], data["steps"]), 1):
        match each:
            case {"primitive": str(primitive), "arguments": dict(arguments)}:
                yield step(primitive, arguments)
            case _:
                raise ScheduleError(
                    f'step {number} is {each!r}; a step is an object with "primitive" '
                    'and "arguments"'
                )
