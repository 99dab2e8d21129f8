"""Ready schedules."""

from __future__ import annotations

from collections.abc import Iterator

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


def _ever_plainer(config: dict[str, Choice]) -> Iterator[dict[str, Choice]]:
    """Yield *config*, then without threads, without vectors, without both."""
    without = {".parallel": False, ".vectors": 0, ".block": 0}
    order = (".vectors", ".block")
    for taken_back in ((), (".parallel",), order, (".parallel", *order)):
        plainer = dict(config)
        for name in config:
            for ending in taken_back:
                if name.endswith(ending):
                    plainer[name] = without[ending]
        if plainer != config or not taken_back:
            yield plainer
