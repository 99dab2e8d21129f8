"""The shortest schedule and the smallest case that still fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import BackendError, CheckError, ScheduleError
from ..ir.nodes import Function
from ..ir.walk import loops
from ..schedules.schedule import Schedule
from ..schedules.trace import Step, Value, parameters_of
from .case import Case, smaller
from .failures import FailedCheck
from .isolation import CrashError
from .moves import is_proved, tile_sizes
from .quick import draw_quick_case, is_quick
from .running import Trial

CASE_RUNS = 60
SCHEDULE_RUNS = 60
"""How often a failing run is repeated, at most, to make it smaller."""

MORE_CASES = 4
"""On how many random cases a shorter schedule is tried, besides those that failed."""


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
    made = _made_by(schedule)
    size = len(steps)
    while size:
        for end in range(len(steps), 0, -size):
            kept = (*steps[: max(0, end - size)], *steps[end:])
            yield replayed(function, kept)
        size //= 2
    before = Schedule(function)
    for number, each in enumerate(steps):
        axis = dict(each.arguments).get("axis")
        names = dict.fromkeys(made[number], axis) if isinstance(axis, str) else {}
        rest, made_later = steps[number + 1 :], made[number + 1 :]
        yield _followed(before, names, rest, made_later)
        for plainer in _plainer(each):
            try:
                after = before.apply(plainer)
            except ScheduleError:
                continue
            names = dict(zip(made[number], _new_loops(before, after), strict=False))
            candidate = _followed(after, names, rest, made_later)
            if len(candidate.steps) == len(steps):
                yield candidate
        before = before.apply(each)


def _made_by(schedule: Schedule) -> list[list[str]]:
    """Return the loops that each step makes."""
    made = []
    before = Schedule(schedule.original)
    for each in schedule.steps:
        after = before.apply(each)
        made.append(_new_loops(before, after))
        before = after
    return made


def _new_loops(before: Schedule, after: Schedule) -> list[str]:
    old = loops(before.function)
    return [axis for axis in loops(after.function) if axis not in old]


def _followed(
    schedule: Schedule,
    names: Mapping[str, str],
    steps: Sequence[Step],
    made: Sequence[Sequence[str]],
) -> Schedule:
    """Return *schedule* with *steps*, without those that are refused.

    *names* are those that loops have by now, by the names in *steps*. What a step made
    when it was recorded, *made*, is matched with what it makes here.
    """
    known = dict(names)
    for each, recorded in zip(steps, made, strict=True):
        try:
            after = schedule.apply(_renamed_step(each, known))
        except ScheduleError:
            continue
        known |= zip(recorded, _new_loops(schedule, after), strict=False)
        schedule = after
    return schedule


def _renamed_step(each: Step, names: Mapping[str, str]) -> Step:
    changed = tuple((name, _renamed(value, names)) for name, value in each.arguments)
    return replace(each, arguments=changed)


def _renamed(value: Value, names: Mapping[str, str]) -> Value:
    if isinstance(value, tuple):
        return tuple(_renamed(each, names) for each in value)
    return names.get(value, value) if isinstance(value, str) else value


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
        found = _shortest_schedule(_plainest_engine(found), case)
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
        less = _failing(found.trial, [candidate])
        if less is not None:
            found = less
            candidates = smaller(found.trial.kernel.function, candidate)
    return found


def _plainest_engine(found: _Found) -> _Found:
    """Take the interpreter where it fails too: it needs no compilation."""
    plain = replace(found.trial, engine="interpreted")
    if not is_quick(plain.kernel.function, found.case.dims):
        return found
    return _failing(plain, [found.case]) or found


def _shortest_schedule(found: _Found, original: Case) -> _Found:
    """Return a failure of the shortest schedule that fails on any of a few cases.

    The smallest case alone would not do: of two splits it may need both.
    """
    schedule, kernel = found.trial.schedule, found.trial.kernel
    assert schedule is not None
    cases = [found.case]
    if found.trial.engine == "compiled" or is_quick(kernel.function, original.dims):
        cases.append(original)
    for seed in range(original.seed, original.seed + MORE_CASES):
        more = draw_quick_case(
            kernel.function,
            seed,
            kernel.numerics,
            layout=found.case.layout,
            near=tile_sizes(schedule),
        )
        cases += [] if more is None else [more]
    best = found

    def fails(candidate: Schedule) -> bool:
        nonlocal best
        if not is_proved(candidate, kernel.numerics):
            return False  # another failure than the one that was found
        failing = _failing(replace(found.trial, schedule=candidate), cases)
        best = failing or best
        return failing is not None

    shortest(schedule, fails)
    return best


def _failing(trial: Trial, cases: Sequence[Case]) -> _Found | None:
    """Return the first failure of *trial* on *cases*."""
    for case in cases:
        try:
            trial.run(case)
        except FailedCheck as error:
            return _Found(trial, case, error)
        except CheckError as error:
            return _Found(trial, case, trial.failed(case, str(error)))
        except (BackendError, CrashError):
            return None  # another failure
    return None
