"""Ready schedules."""

from __future__ import annotations

from ..analysis.validate import validate
from ..errors import ScheduleError
from ..ir.nodes import Function
from ..ir.numerics import Numerics
from ..target import Target
from .schedule import Schedule
from .sketches import sketch


def default_schedule(
    function: Function, target: Target, numerics: Numerics = "reassoc"
) -> Schedule:
    """Return a proved schedule of *function* that is good without a search.

    It is the default point of the function's sketch. Where the proof refuses a part,
    that part is tried without threads, then without vectors, then left alone.
    """
    schedule = Schedule(function)
    for part in sketch(function, target, numerics).parts:
        for config in _ever_plainer({p.name: p.default for p in part.params}):
            try:
                candidate = part.apply(schedule, config)
            except ScheduleError:
                continue
            if validate(function, candidate.function, numerics).verdict == "proved":
                schedule = candidate
                break
    return schedule


def _ever_plainer(config):
    yield config
    parallel = {n: False if n.endswith(".parallel") else v for n, v in config.items()}
    yield parallel
    yield {n: 0 if n.endswith(".vectors") else v for n, v in config.items()}
    yield {n: 0 if n.endswith(".vectors") else v for n, v in parallel.items()}
