"""Random steps on the current state of a schedule, most of them acceptable."""

from __future__ import annotations

import random

from tdsl.errors import ScheduleError
from tdsl.ir.nodes import Reduce, Store
from tdsl.ir.walk import loops, walk
from tdsl.schedules.checks import tensors
from tdsl.schedules.schedule import Schedule
from tdsl.schedules.trace import PRIMITIVES, Step, step


def random_schedule(start: Schedule, choose: random.Random, length: int) -> Schedule:
    """Return *start* with up to *length* random steps that were accepted."""
    schedule = start
    for _ in range(4 * length):
        if len(schedule.steps) == length:
            break
        try:
            schedule = schedule.apply(random_step(schedule, choose))
        except ScheduleError:
            continue
    return schedule


def random_step(schedule: Schedule, choose: random.Random) -> Step:
    """Return a step over names that exist."""
    function = schedule.function
    axes = list(loops(function))
    axis = choose.choice(axes)
    tensor = choose.choice(list(tensors(function)))
    labels = [
        node.instance.label
        for node in walk(function)
        if isinstance(node, Store | Reduce) and node.instance
    ]
    several = choose.sample(axes, min(len(axes), choose.randint(2, 4)))
    primitive = choose.choice([*PRIMITIVES, "split", "split", *["reorder"] * 3])
    tail = choose.choice(("guard", "guard", "cut"))
    where = choose.choice([*axes, None])
    origin = choose.choice((None, 0, 1)) if tail == "guard" else None
    dims = [dim.name for dim in function.dims]
    form = choose.choice([1, 3, *(f"{each} - 1" for each in dims), "4*(i//4)"])
    arguments: dict[str, dict[str, object]] = {
        "split": {
            "axis": axis,
            "factor": choose.randint(1, 5),
            "tail": tail,
            "origin": origin,
        },
        "tile": {"axes": several[:2], "factors": [2, 3], "origin": origin},
        "reorder": {"axes": several},
        "fuse": {"outer": several[0], "inner": several[-1]},
        "fission": {"axis": axis, "after": choose.choice([*labels, 1])},
        "skew": {
            "outer": several[0],
            "inner": several[-1],
            "factor": choose.choice((-1, 1, 2)),
        },
        "shift": {"axis": axis, "offset": form},
        "merge": {"first": several[0], "second": several[-1]},
        "enclose": {
            "inside": choose.choice([*labels, axis]),
            "axis": f"{axis}_{len(axes)}",
            "at": form,
        },
        "cut": {"axis": axis, "at": form},
        "tighten": {"axis": axis},
        "unroll": {"axis": axis},
        "vectorize": {"axis": axis},
        "parallelize": {"axis": axis},
        "cache_read": {
            "tensor": tensor,
            "axis": where,
            "layout": choose.choice([None, several]),
        },
        "cache_write": {
            "tensor": tensor,
            "axis": where,
            "memory": choose.choice(("array", "register")),
        },
        "compute_at": {"producer": choose.choice([*labels, tensor]), "axis": axis},
        "inline": {"tensor": tensor},
        "expand": {"tensor": tensor, "axis": axis},
        "rearrange": {"axis": axis, "order": choose.choice(((1, 0), (0, 2, 1)))},
        "rfactor": {"axis": axis},
    }
    return step(primitive, arguments[primitive])
