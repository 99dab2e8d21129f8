"""The shortest schedule and the smallest case that still fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..errors import CheckError, ScheduleError
from ..ir.nodes import Function
from ..ir.numerics import Numerics
from ..schedules.schedule import Schedule
from ..schedules.trace import Step, parameters_of
from .case import Case, smaller
from .failures import FailedCheck
from .moves import is_proved
from .running import Trial

CASE_RUNS = 60
SCHEDULE_RUNS = 60
"""How often a failing run is repeated, at most, to make it smaller."""


def shortest(
    schedule: Schedule, fails: Callable[[Schedule], bool], runs: int = SCHEDULE_RUNS
) -> Schedule:
    """Return a schedule with fewer and plainer steps that `fails` still accepts.

    Steps are left out in ever smaller groups, the last ones first, together with the
    later steps that are refused without them; then arguments are made plainer. When
    nothing more can go, each remaining step is needed, unless *runs* ended it early.
    """
    candidates = _simpler(schedule)
    seen = {schedule.steps}
    while runs > 0:
        candidate = next(candidates, None)
        if candidate is None:
            break
        if candidate.steps in seen:
            continue
        seen.add(candidate.steps)
        runs -= 1
        if fails(candidate):
            schedule = candidate
            candidates = _simpler(schedule)
    return schedule


def replayed(function: Function, steps: Sequence[Step]) -> Schedule:
    """Return the schedule of *steps*, without those that are refused."""
    schedule = Schedule(function)
    for each in steps:
        try:
            schedule = schedule.apply(each)
        except ScheduleError:
            continue
    return schedule


def _simpler(schedule: Schedule) -> Iterator[Schedule]:
    steps, function = schedule.steps, schedule.original
    size = len(steps)
    while size:
        for end in range(len(steps), 0, -size):
            kept = (*steps[: max(0, end - size)], *steps[end:])
            yield replayed(function, kept)
        size //= 2
    for number, each in enumerate(steps):
        for plainer in _plainer(each):
            changed = (*steps[:number], plainer, *steps[number + 1 :])
            candidate = replayed(function, changed)
            if len(candidate.steps) == len(steps):
                yield candidate


def _plainer(each: Step) -> Iterator[Step]:
    """Yield the step without one optional argument, and with smaller numbers."""
    parameters = parameters_of(each.primitive)
    for number, (name, value) in enumerate(each.arguments):
        before, after = each.arguments[:number], each.arguments[number + 1 :]
        parameter = parameters[name]
        if parameter.default is not parameter.empty:
            yield replace(each, arguments=(*before, *after))
        if isinstance(value, int):
            for less in (2, 3, value // 2):
                if 1 < less < value:
                    yield replace(each, arguments=(*before, (name, less), *after))


@dataclass(frozen=True, slots=True)
class _Found:
    trial: Trial
    case: Case
    error: FailedCheck


def shrunk(trial: Trial, case: Case, error: FailedCheck) -> FailedCheck:
    """Return the failure of a smaller case and a shorter schedule."""
    steps = len(trial.schedule.steps) if trial.schedule else 0
    found = _smallest_case(_Found(trial, case, error))
    if found.trial.schedule is not None:
        found = _shortest_schedule(_plainest_engine(found))
        found = _smallest_case(found)
    return FailedCheck(found.error.failure.found_with(steps))


def _smallest_case(found: _Found) -> _Found:
    runs = 0
    candidates = smaller(found.trial.kernel.function, found.case)
    while runs < CASE_RUNS:
        candidate = next(candidates, None)
        if candidate is None:
            break
        runs += 1
        error = _failure(found.trial, candidate)
        if error is not None:
            found = replace(found, case=candidate, error=error)
            candidates = smaller(found.trial.kernel.function, candidate)
    return found


def _plainest_engine(found: _Found) -> _Found:
    """Take the interpreter where it fails too: it needs no compilation."""
    plain = replace(found.trial, engine="interpreted")
    error = _failure(plain, found.case)
    return found if error is None else _Found(plain, found.case, error)


def _shortest_schedule(found: _Found) -> _Found:
    numerics: Numerics = found.trial.kernel.numerics
    best = found

    def fails(schedule: Schedule) -> bool:
        nonlocal best
        if not is_proved(schedule, numerics):
            return False  # another failure than the one that was found
        trial = replace(found.trial, schedule=schedule)
        error = _failure(trial, found.case)
        if error is None:
            return False
        best = _Found(trial, found.case, error)
        return True

    assert found.trial.schedule is not None
    shortest(found.trial.schedule, fails)
    return best


def _failure(trial: Trial, case: Case) -> FailedCheck | None:
    try:
        trial.run(case)
    except FailedCheck as error:
        return error
    except CheckError as error:
        return trial.failed(case, str(error))
    return None
