"""Random schedules made with tdsl's own primitives, refusals skipped."""

from __future__ import annotations

import random
from collections.abc import Callable

from tdsl.errors import ScheduleError
from tdsl.ir.nodes import For, Function, Gather, Load, Reduce, Scatter, Store
from tdsl.ir.walk import allocations, loops, walk
from tdsl.schedules.enclosing import enclose
from tdsl.schedules.index_sets import cut, tighten
from tdsl.schedules.loops import fission, fuse, reorder
from tdsl.schedules.memory import cache_read, cache_write
from tdsl.schedules.merging import merge
from tdsl.schedules.parallel import parallelize, unroll, vectorize
from tdsl.schedules.reduction import rfactor
from tdsl.schedules.shifts import shift, skew
from tdsl.schedules.stages import compute_at, inline
from tdsl.schedules.tiles import split, tile

Step = Callable[[Function, random.Random], Function]


def _axis(function: Function, rng: random.Random) -> str:
    return rng.choice([*loops(function)])


def _tensor(function: Function, rng: random.Random) -> str:
    touched = {
        n.tensor
        for n in walk(function)
        if isinstance(n, Load | Gather | Store | Reduce | Scatter)
    }
    if not touched:
        raise ScheduleError("no access is left")
    return rng.choice(sorted(touched))


def _label(function: Function, rng: random.Random) -> str:
    found = sorted(
        {
            node.instance.label
            for node in walk(function)
            if isinstance(node, Store | Reduce | Scatter) and node.instance
        }
    )
    if not found:
        raise ScheduleError("no statement is left")
    return rng.choice(found)


def _split(function: Function, rng: random.Random) -> Function:
    tail = rng.choice(["guard", "guard", "cut", "perfect"])
    origin = rng.choice([None, None, 0, 1]) if tail == "guard" else None
    factor = rng.choice([2, 3, 4])
    return split(function, _axis(function, rng), factor, tail=tail, origin=origin)


def _tile(function: Function, rng: random.Random) -> Function:
    axes = [*loops(function)]
    first = rng.randrange(len(axes))
    return tile(function, axes[first : first + 2], [2, 3][: len(axes) - first])


def _reorder(function: Function, rng: random.Random) -> Function:
    axes = [*loops(function)]
    first = rng.randrange(len(axes))
    chosen = axes[first : first + rng.choice([2, 2, 3])]
    rng.shuffle(chosen)
    return reorder(function, *chosen)


def _fuse(function: Function, rng: random.Random) -> Function:
    axes = [*loops(function)]
    first = rng.randrange(len(axes))
    return fuse(function, axes[first], axes[min(first + 1, len(axes) - 1)])


def _fission(function: Function, rng: random.Random) -> Function:
    return fission(function, _axis(function, rng), after=_label(function, rng))


def _form(function: Function, rng: random.Random) -> str | int:
    names = [dim.name for dim in function.dims] + [*loops(function)]
    each = rng.choice(names or ["0"])
    return rng.choice([1, 2, 4, f"{each} - 1", f"4*({each}//4)", f"2*{each} - 3"])


def _skew(function: Function, rng: random.Random) -> Function:
    axes = [*loops(function)]
    first = rng.randrange(len(axes))
    inner = rng.choice(axes[first:])
    return skew(function, axes[first], inner, rng.choice([-1, 1, 1, 2]))


def _shift(function: Function, rng: random.Random) -> Function:
    return shift(function, _axis(function, rng), _form(function, rng))


def _merge(function: Function, rng: random.Random) -> Function:
    axes = [*loops(function)]
    first = rng.randrange(len(axes))
    return merge(function, axes[first], rng.choice(axes[first:]))


def _shifted_merge(function: Function, rng: random.Random) -> Function:
    axes = [*loops(function)]
    first = rng.randrange(len(axes))
    second = rng.choice(axes[first:])
    moved = shift(function, second, rng.choice([1, 2]))
    return merge(moved, axes[first], second)


def _time_tiles(function: Function, rng: random.Random) -> Function:
    """Tile a loop in time and one inside it, skewed enough or not."""
    axes = [*loops(function)]
    time = rng.choice(axes)
    inside = [n.axis for n in walk(loops(function)[time]) if isinstance(n, For)][1:]
    if not inside:
        raise ScheduleError("a loop in time has loops inside")
    space, *others = inside
    for other in others[:1]:
        if rng.random() < 0.7:
            moved = shift(function, other, rng.choice([0, 1, 1, 2]))
            try:
                function = merge(moved, space, other)
            except ScheduleError:
                continue
    factor = rng.choice([0, 1, 1, 2, 2, 3])
    if factor:
        function = skew(function, time, space, factor)
    sizes = [rng.choice([2, 3, 4]), rng.choice([2, 3, 4])]
    return tile(function, (time, space), sizes, origin=rng.choice([None, 0, 0]))


def _enclose(function: Function, rng: random.Random) -> Function:
    inside = rng.choice([_axis(function, rng), _label(function, rng)])
    axis = f"one_{len(loops(function))}"
    return enclose(function, inside, axis, at=_form(function, rng))


def _cut(function: Function, rng: random.Random) -> Function:
    return cut(function, _axis(function, rng), _form(function, rng))


def _tighten(function: Function, rng: random.Random) -> Function:
    return tighten(function, _axis(function, rng))


def _cache_read(function: Function, rng: random.Random) -> Function:
    where = rng.choice([_axis(function, rng), None])
    memory = rng.choice(["array", "register"])
    return cache_read(function, _tensor(function, rng), where, memory=memory)


def _cache_write(function: Function, rng: random.Random) -> Function:
    where = rng.choice([_axis(function, rng), None])
    memory = rng.choice(["array", "register"])
    return cache_write(function, _tensor(function, rng), where, memory=memory)


def _compute_at(function: Function, rng: random.Random) -> Function:
    producer = rng.choice([_axis(function, rng), _label(function, rng)])
    return compute_at(function, producer, _axis(function, rng))


def _local(function: Function, rng: random.Random) -> str:
    return rng.choice([*allocations(function)] or ["A"])


def _inline(function: Function, rng: random.Random) -> Function:
    return inline(function, _local(function, rng))


def _rfactor(function: Function, rng: random.Random) -> Function:
    return rfactor(function, _axis(function, rng))


def _run(function: Function, rng: random.Random) -> Function:
    run = rng.choice([parallelize, vectorize, unroll])
    return run(function, _axis(function, rng))


STEPS: tuple[Step, ...] = (
    _split,
    _split,
    _tile,
    _reorder,
    _reorder,
    _fuse,
    _fission,
    _skew,
    _skew,
    _shift,
    _merge,
    _merge,
    _shifted_merge,
    _time_tiles,
    _time_tiles,
    _enclose,
    _cut,
    _tighten,
    _cache_read,
    _cache_write,
    _compute_at,
    _compute_at,
    _inline,
    _rfactor,
    _rfactor,
    _run,
    _run,
)


def random_schedule(function: Function, rng: random.Random) -> Function:
    """Apply up to four primitives that do not refuse."""
    wanted = rng.choice([1, 2, 3, 4])
    for _ in range(20):
        if not wanted or not loops(function):  # `tighten` may find that nothing runs
            break
        try:
            scheduled = rng.choice(STEPS)(function, rng)
        except ScheduleError:
            continue
        if scheduled != function and len([*walk(scheduled)]) < 400:
            function = scheduled
            wanted -= 1
    return function
