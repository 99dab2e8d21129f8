"""Random schedules that are legal by construction: accepted and proved at each move.

A move is one primitive with random arguments, or a split with its inner or outer loop
marked at once, which alone would rarely meet. The arguments are chosen by the name of
the parameter, from the names that exist in the loops as they are by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from math import prod
from types import MappingProxyType

from ..analysis.validate import validate
from ..errors import ScheduleError
from ..ir.extents import fixed_extent
from ..ir.nodes import Block, For, Function, If, LoopKind, Reduce, Store
from ..ir.numerics import Numerics
from ..ir.walk import allocations, loops, walk, walk_nest
from ..schedules.checks import fresh, taken_names, tensors
from ..schedules.schedule import Schedule
from ..schedules.trace import PRIMITIVES, Step, Value, parameters_of, step
from .choices import Choices

FACTORS = (2, 3, 4, 5, 7, 8, 16)
MARKED_SPLITS = ("vectorize", "unroll", "parallelize")
OFTEN_REFUSED = (
    "cache_read",
    "cache_write",
    "compute_at",
    "fission",
    "merge",
    "reorder",
    "rfactor",
    "tighten",
)
LARGEST_PROGRAM = 200
"""How many nodes a schedule may make of a kernel; larger ones compile slowly."""

LARGEST_UNROLLED = 64
"""How many copies of a statement unrolling may make."""

LANES = 16
"""How many lanes of a vectorized loop count as one copy."""

MOST_LAUNCHES = 1000
"""How often threads may be started, as far as sizes are fixed."""


class NoArgumentError(ScheduleError):
    """Give a move up: the loops offer nothing that one of its arguments could be."""


def random_schedule(
    start: Schedule, moves: Iterable[Choices], numerics: Numerics, steps: int
) -> Schedule:
    """Return *start* with moves appended, as long as it has at most *steps* steps.

    A move that is refused, makes the program large, or is not proved is left out.
    """
    schedule = start
    for choices in moves:
        candidate = extended(schedule, choices)
        if (
            candidate is not schedule
            and len(candidate.steps) <= steps
            and is_small(candidate.function)
            and is_proved(candidate, numerics)
        ):
            schedule = candidate
    return schedule


def is_proved(schedule: Schedule, numerics: Numerics) -> bool:
    """Whether *schedule* is proved to compute what its kernel means."""
    verdict = validate(schedule.original, schedule.function, numerics).verdict
    return verdict == "proved"


def is_small(function: Function) -> bool:
    """Whether *function* compiles, and starts its threads, in reasonable time."""
    size = sum(1 for _ in walk(function))
    return (
        size <= LARGEST_PROGRAM
        and _copies(function) <= LARGEST_UNROLLED
        and _launches(function) <= MOST_LAUNCHES
    )


def tile_sizes(schedule: Schedule | None) -> list[int]:
    """Return the numbers in the steps of *schedule*."""
    steps = () if schedule is None else schedule.steps
    values = [value for each in steps for _, value in each.arguments]
    return [value for value in values if isinstance(value, int)]


def extended(schedule: Schedule, choices: Choices) -> Schedule:
    """Return *schedule* with a random move, or itself where that is refused."""
    move, marked = choices.pick(_moves())
    try:
        if not marked:
            return _applied(schedule, _random_step(schedule.function, move, choices))
        divided = _applied(schedule, _random_step(schedule.function, "split", choices))
        new = [a for a in loops(divided.function) if a not in loops(schedule.function)]
        axis = new[0] if move == "parallelize" else new[-1]
        return _applied(divided, step(move, {"axis": axis}))
    except ScheduleError:
        return schedule


def _moves() -> list[tuple[str, bool]]:
    """Return the primitives, and those that follow a split at once.

    Those that move data or statements are refused more often, and so are there twice.
    """
    alone = [*PRIMITIVES, *(name for name in PRIMITIVES if name in OFTEN_REFUSED)]
    pairs = [*MARKED_SPLITS, *MARKED_SPLITS]
    return [(name, False) for name in alone] + [(name, True) for name in pairs]


def _applied(schedule: Schedule, each: Step) -> Schedule:
    try:
        return schedule.apply(each)
    except ScheduleError:
        raise
    except Exception as error:
        error.add_note(f"tdsl failed at {each} after {schedule}")
        raise


def _random_step(function: Function, primitive: str, choices: Choices) -> Step:
    arguments: dict[str, Value] = {}
    for name, parameter in parameters_of(primitive).items():
        chooser = ARGUMENTS.get(f"{primitive}.{name}", ARGUMENTS.get(name))
        if chooser is not None:
            arguments[name] = chooser(function, choices)
        elif parameter.default is parameter.empty:
            raise NoArgumentError(f"{primitive} has an argument {name} with no chooser")
    return step(primitive, arguments)


# --- arguments, by the name of the parameter --------------------------------------


def _axis(function: Function, choices: Choices) -> str:
    return choices.pick(_some(list(loops(function))))


def _axis_or_none(function: Function, choices: Choices) -> str | None:
    return choices.pick((*loops(function), None))


def _axes(function: Function, choices: Choices) -> tuple[str, ...]:
    """Choose neighbours: loops that are far apart can rarely be moved together."""
    axes = _some(list(loops(function)))
    first = choices.pick(range(len(axes)))
    near = axes[first : first + choices.pick((2, 3, 4))]
    return choices.several(near, len(near))


def _pair(function: Function, choices: Choices) -> tuple[str, ...]:
    axes = _some(list(loops(function))[:-1])
    first = choices.pick(range(len(axes)))
    return tuple(list(loops(function))[first : first + 2])


def _inner(function: Function, choices: Choices) -> str:
    children = [
        child.axis
        for loop in loops(function).values()
        for child in loop.body.statements
        if isinstance(child, For)
    ]
    return choices.pick(_some(children))


def _tensor(function: Function, choices: Choices) -> str:
    return choices.pick(list(tensors(function)))


def _local(function: Function, choices: Choices) -> str:
    return choices.pick(_some(list(allocations(function))))


def _divisible(function: Function, choices: Choices) -> str:
    return choices.pick(
        _some([a for a, f in loops(function).items() if len(f.body.statements) > 1])
    )


def _neighbours_swapped(function: Function, choices: Choices) -> tuple[int, ...]:
    axis = _divisible(function, choices)
    count = len(loops(function)[axis].body.statements)
    at = choices.pick(range(count - 1))
    return (*range(at), at + 1, at, *range(at + 2, count))


def _place(function: Function, choices: Choices) -> str | int:
    places: tuple[str | int, ...] = (1, *_labels(function))
    return choices.pick(places)


def _producer(function: Function, choices: Choices) -> str:
    return choices.pick([*_labels(function), *tensors(function), *loops(function)])


def _labels(function: Function) -> list[str]:
    found = [
        node.instance.label
        for node in walk(function)
        if isinstance(node, Store | Reduce) and node.instance
    ]
    return _some(list(dict.fromkeys(found)))


def _some(options: list[str]) -> list[str]:
    if not options:
        raise NoArgumentError("nothing to choose from")
    return options


def _factor(function: Function, choices: Choices) -> int:
    return choices.pick(FACTORS)


def _distance(function: Function, choices: Choices) -> int:
    return choices.pick((1, 2, -1))


def _origin(function: Function, choices: Choices) -> int | None:
    return choices.pick((None, None, 0, 1))


def _form(function: Function, choices: Choices) -> str | int:
    """Choose a number, or the text of a form over a dim."""
    options: list[str | int] = [1, 2, 4]
    options += [f"{dim.name} - 1" for dim in function.dims]
    return choices.pick(options)


def _neighbour(function: Function, choices: Choices) -> str:
    """Choose a loop that another one follows in the same body."""
    return choices.pick(_some([first for first, _ in _neighbours(function)]))


def _neighbour_after(function: Function, choices: Choices) -> str:
    return choices.pick(_some([second for _, second in _neighbours(function)]))


def _neighbours(function: Function) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for node in walk(function):
        if isinstance(node, Block):
            inside = [s.axis for s in node.statements if isinstance(s, For)]
            found += pairwise(inside)
    return found


def _around_guard(function: Function, choices: Choices) -> str:
    """Choose a loop whose body is one guard."""
    guarded = [
        axis
        for axis, loop in loops(function).items()
        if [type(each) for each in loop.body.statements] == [If]
    ]
    return choices.pick(_some(guarded))


def _part(function: Function, choices: Choices) -> str:
    return choices.pick([*loops(function), *_labels(function)])


def _fresh_axis(function: Function, choices: Choices) -> str:
    return fresh("one", taken_names(function))


def _factors(function: Function, choices: Choices) -> tuple[int, ...]:
    return (choices.pick(FACTORS), choices.pick(FACTORS))


def _tail(function: Function, choices: Choices) -> str:
    return choices.pick(("guard", "guard", "cut", "perfect"))


def _memory(function: Function, choices: Choices) -> str:
    return choices.pick(("array", "register"))


def _few(function: Function, choices: Choices) -> int:
    return choices.pick((0, 0, 1))


def _layout(function: Function, choices: Choices) -> tuple[str, ...] | None:
    return choices.pick((None, None, _axes(function, choices)))


ARGUMENTS: Mapping[str, Callable[[Function, Choices], Value]] = MappingProxyType(
    {
        "axis": _axis,
        "cache_read.axis": _axis_or_none,
        "cache_write.axis": _axis_or_none,
        "axes": _axes,
        "tile.axes": _pair,
        "outer": _axis,
        "inner": _inner,
        "factor": _factor,
        "skew.factor": _distance,
        "origin": _origin,
        "offset": _form,
        "first": _neighbour,
        "second": _neighbour_after,
        "inside": _part,
        "enclose.axis": _fresh_axis,
        "at": _form,
        "tighten.axis": _around_guard,
        "factors": _factors,
        "tail": _tail,
        "tensor": _tensor,
        "inline.tensor": _local,
        "expand.tensor": _local,
        "expand.at": _few,
        "expand.memory": _memory,
        "producer": _producer,
        "fission.axis": _divisible,
        "rearrange.axis": _divisible,
        "order": _neighbours_swapped,
        "after": _place,
        "layout": _layout,
        "cache_read.memory": _memory,
        "cache_write.memory": _memory,
    }
)


def _copies(function: Function) -> int:
    """Return how often unrolling and vectors write a statement out, at most."""
    return max(
        prod(_turns([loop]) for loop in nest if loop.kind is LoopKind.UNROLLED)
        * prod(
            -(-_turns([loop]) // LANES)
            for loop in nest
            if loop.kind is LoopKind.VECTORIZED
        )
        for nest in _nests(function)
    )


def _launches(function: Function) -> int:
    """Return how often a parallel loop starts, at most."""
    return max(
        (
            _turns(nest[:depth])
            for nest in _nests(function)
            for depth, loop in enumerate(nest)
            if loop.kind is LoopKind.PARALLEL
        ),
        default=0,
    )


def _nests(function: Function) -> Iterator[list[For]]:
    """Yield the loops around each statement."""
    for _, outer in walk_nest(function.body):
        yield [each for each in outer if isinstance(each, For)]


def _turns(nest: Iterable[For]) -> int:
    """Return how often the body of *nest* runs, as far as extents are fixed."""
    return prod(-(-(fixed_extent(loop) or 1) // loop.step) for loop in nest)
