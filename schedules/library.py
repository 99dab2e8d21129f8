"""Ready schedules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ..analysis.validate import validate
from ..errors import ScheduleError
from ..ir.nodes import Function
from ..ir.numerics import Numerics
from ..target import Target
from .params import Choice
from .schedule import Schedule
from .sketches import sketch


def default_schedule(
    function: Function, target: Target, numerics: Numerics = "reassoc"
) -> Schedule:
    """Return a proved schedule of *function* that is good without a search.

    It is the default point of the function's sketch. Where the proof refuses that, one
    part is added after the other: without threads, without vectors, or not at all.
    """
    found = sketch(function, target, numerics)

    def is_proved(schedule: Schedule) -> bool:
        return validate(function, schedule.function, numerics).verdict == "proved"

    with suppress(ScheduleError):
        schedule = found.build(found.default())
        if is_proved(schedule):
            return schedule
    schedule = found.start
    if not is_proved(schedule):
        return Schedule(function)
    for part in found.parts:
        for config in _ever_plainer({p.name: p.default for p in part.params}):
            try:
                candidate = part.apply(schedule, config)
            except ScheduleError:
                continue
            if is_proved(candidate):
                schedule = candidate
                break
    return schedule


def _ever_plainer(config: dict[str, Choice]) -> Iterator[dict[str, Choice]]:
    """Yield *config*, then without threads, without vectors, without both."""
    without = {
        ".parallel": False,
        ".vectors": 0,
        ".block": 0,
        ".steps": 0,
        ".lanes": 0,
        ".rows": 1,
    }
    order = (".vectors", ".block", ".lanes")
    for taken_back in (
        (),
        (".steps",),
        (".rows",),
        (".parallel",),
        order,
        tuple(without),
    ):
        plainer = dict(config)
        for name in config:
            for ending in taken_back:
                if name.endswith(ending):
                    plainer[name] = without[ending]
        if plainer != config or not taken_back:
            yield plainer
