"""Search spaces derived from the structure of a function.

First, loops are distributed where that gives an accumulation a perfect nest of its own.
Then a `Sketch` covers each nest with a part that knows how to schedule it: a
register-tiled `Contraction` (or `Triangle`) where a nest accumulates over an axis with
reuse, a plain `LoopNest` elsewhere. Where an outer loop has to run in order, as time
steps do, the nests are those inside it. A point of the space is a config, and a config
builds a `Schedule` from public primitives only, so what a search finds can be printed,
edited, replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

from ..analysis.access import Nest, perfect_nest, subscript_names
from ..analysis.legality import Legality
from ..errors import ScheduleError
from ..ir.nodes import Alloc, Block, For, Function, Reduce, Store
from ..ir.numerics import Numerics
from ..ir.printer import print_block
from ..ir.walk import loops, reads, walk_nest
from ..target import Target
from .column_sums import ColumnSums, sums_long_columns
from .contraction import Contraction
from .nests import LoopNest
from .params import Choice, Config, Param, Part, Place
from .roles import find_roles
from .row_blocks import SharedBlocks
from .schedule import Schedule
from .shared_sums import SharedSum
from .starts import Start, Starts
from .time_tiles import TimeTiles, suits_tiles
from .triangles import Triangle

__all__ = ["Choice", "Config", "Param", "Sketch", "sketch"]


@dataclass(frozen=True)
class Sketch:
    """The decisions about a function, and the way from decisions to a schedule.

    The parts are of *start*, the function with some loops distributed or in blocks.
    *choices* are the decisions that made it; others lead to other parts, which *remade*
    finds. Params of parts that another start lacks say nothing there.
    """

    start: Schedule
    parts: tuple[Part, ...]
    choices: tuple[Param, ...]
    remade: Callable[[Config], Sketch]

    @property
    def function(self) -> Function:
        """The function that is scheduled."""
        return self.start.original

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions of every part, in program order."""
        inside = (param for part in self.parts for param in part.params)
        return (*self.choices, *inside)

    def default(self) -> dict[str, Choice]:
        """Return the config that needs no search."""
        return {param.name: param.default for param in self.params}

    def build(self, config: Config) -> Schedule:
        """Return the schedule of *config*; raise `ScheduleError` if infeasible."""
        made = {param.name: param.default for param in self.choices}
        wanted = {name: config.get(name, value) for name, value in made.items()}
        if wanted != made:
            other = self.remade(wanted)
            given = {p.name: config.get(p.name, p.default) for p in other.params}
            known = {
                p.name: given[p.name] if given[p.name] in p.choices else p.default
                for p in other.params
            }
            return other.build({**known, **wanted})
        schedule = self.start
        for part in self.parts:
            schedule = part.apply(schedule, config)
        return schedule


def sketch(function: Function, target: Target, numerics: Numerics) -> Sketch:
    """Return the sketch of *function* for *target*.

    Contractions keep the order of each element's updates, so they serve every numerics
    class; sums along vector lanes need `reassoc`. Raises `ScheduleError` where a
    statement of *function* does not say which one of a kernel it is.
    """
    _check_labels(function)
    return _sketch(Starts(function), target, numerics, {})


def _check_labels(function: Function) -> None:
    """Refuse statements that no kernel has: proofs, and parts of a space, name them."""
    for leaf, _ in walk_nest(function.body):
        if not isinstance(leaf, Alloc) and leaf.instance is None:
            text = print_block(Block((leaf,))).strip()
            raise ScheduleError(
                f"{function.name}: the statement `{text}` has no label, so no schedule "
                "can be proved: pass the function of a kernel, `kernel.function`, or "
                "give each statement an Instance"
            )


def _sketch(
    starts: Starts, target: Target, numerics: Numerics, wanted: Config
) -> Sketch:
    """Return the sketch whose start is what *wanted* says, or else the usual one."""
    start = starts.find(wanted)
    planner = _Planner(start, target, numerics)
    planner.cover(start.schedule.function.body, Place())

    @cache
    def remade(items: tuple[tuple[str, Choice], ...]) -> Sketch:
        return _sketch(starts, target, numerics, dict(items))

    return Sketch(
        start.schedule,
        tuple(planner.parts.values()),
        start.choices,
        lambda config: remade(tuple(config.items())),
    )


class _Planner:
    """Finds the parts of a function."""

    def __init__(self, start: Start, target: Target, numerics: Numerics) -> None:
        self.parts: dict[str, Part] = {}  # by label, or by axis for imperfect nests
        self._inits: dict[str, str] = {}
        self._target = target
        self._reassociate = numerics != "bitwise"
        self._numerics: Numerics = numerics
        self._around = start.around
        self._start = start.schedule
        self._legality = Legality(self._start.function)

    def cover(self, block: Block, place: Place) -> None:
        """Find parts for the nests of *block*, which stand in *place*."""
        for loop in block.statements:
            if not isinstance(loop, For):
                continue
            if not place.shared and (around := self._around(loop.axis)):
                inner = loops(self._start.function)[around[-1]]
                self.cover(inner.body, Place(around[-1], around))
                self.parts[around[0]] = SharedBlocks(around)
                continue
            part = self._contraction(loop, place)
            if part is not None:
                self.parts[part.key] = part
                if part.roles.init is not None:  # it moves into the tiles of this part
                    del self.parts[self._inits.pop(part.roles.nest.statement.tensor)]
            elif (shared := self._shared_sum(loop)) is not None:
                self.parts[loop.axis] = SharedSum(
                    loop,
                    self._target,
                    self._reassociate,
                    self._legality,
                    place,
                    shared,
                )
            elif self._runs_in_order(loop):
                known = {*self.parts}
                self.cover(loop.body, replace(place, inside=loop.axis))
                if place.inside is None and suits_tiles(loop):
                    plain = [k for k in self.parts if k not in known]
                    parts = tuple(self.parts.pop(key) for key in plain)
                    self._tile_time(loop, parts)
            else:
                other = LoopNest(
                    loop,
                    self._target,
                    self._reassociate,
                    self._legality,
                    place,
                )
                label = _label(loop)
                unique = label is not None and label not in self.parts
                key = label if label and unique else loop.axis
                self.parts[key] = other
                self._inits |= _initialised(loop)
                if place.inside is None and _is_repeated(loop) and suits_tiles(loop):
                    del self.parts[key]
                    self._tile_time(loop, (other,))

    def _tile_time(self, loop: For, plain: tuple[Part, ...]) -> None:
        """Let the sweeps in *loop*, covered by *plain*, run in tiles where they can."""
        part = TimeTiles(
            loop, self._start, self._legality, self._target, self._numerics, plain
        )
        if part.leaning is not None:
            self.parts[loop.axis] = part
        else:
            self.parts |= {f"{loop.axis}.{n}": each for n, each in enumerate(plain)}

    def _runs_in_order(self, loop: For) -> bool:
        """Whether *loop* carries dependences between nests that it contains."""
        inner = [s for s in loop.body.statements if isinstance(s, For)]
        if not inner or perfect_nest(loop) is not None:
            return False
        return not self._legality.is_concurrent(loop.axis)

    def _shared_sum(self, loop: For) -> str | None:
        """Return the tensor that iterations of *loop* share only to add to it."""
        if perfect_nest(loop) is not None or not self._reassociate:
            return None
        sums = self._legality.sums_of(loop)
        return sums[0] if sums and len(sums) == 1 else None

    def _contraction(self, loop: For, place: Place) -> Contraction | None:
        nest = perfect_nest(loop)
        if nest is None or not isinstance(nest.statement, Reduce):
            return None
        roles = find_roles(nest, self._inits) if nest.reduction else None
        if roles is None:
            return None
        updated = nest.statement.tensor
        in_place = any(x.tensor == updated for x in reads(nest.statement.value))
        taken = roles.label in self.parts  # a cut has made more than one nest of it
        name = loop.axis if taken else roles.label
        if nest.is_rectangular and not in_place:
            kind = ColumnSums if sums_long_columns(roles) else Contraction
            return kind(roles, self._target, place, name)
        if roles.rows is None or not _has_unit_bounds(nest):
            return None
        bounded = roles.most(roles.columns) or roles.most(roles.rows)
        if bounded and not nest.is_rectangular and not place.shared:
            return None  # the border of a block, where little is done
        if in_place and self._legality.feeds_itself(roles.rows):
            return None
        return Triangle(roles, self._target, place, name)


def _is_repeated(loop: For) -> bool:
    """Whether *loop* is a perfect nest that stores to the same elements again."""
    nest = perfect_nest(loop)
    if nest is None or not isinstance(nest.statement, Store):
        return False
    return loop.axis not in subscript_names(nest.statement) and len(nest.loops) > 2


def _has_unit_bounds(nest: Nest) -> bool:
    """Whether the loops can be nested in any order."""
    axes = set(nest.axes)
    return all(
        loop.step == 1
        and all(
            form.coefficient(axis) in (-1, 1)
            for form in (*loop.starts, *loop.stops)
            for axis in form.names() & axes
        )
        for loop in nest.loops
    )


def _label(loop: For) -> str | None:
    nest = perfect_nest(loop)
    if nest is None or nest.statement.instance is None:
        return None
    return nest.statement.instance.label


def _initialised(loop: For) -> dict[str, str]:
    """Return the tensor that *loop* stores each element of once, and the label.

    A nest that updates what is there already is no initialisation.
    """
    nest = perfect_nest(loop)
    if nest is None or not isinstance(nest.statement, Store):
        return {}
    leaf = nest.statement
    read = {each.tensor for each in reads(leaf.value)}
    if leaf.instance is None or leaf.tensor in read:
        return {}
    if set(nest.axes) != subscript_names(leaf):
        return {}
    return {leaf.tensor: leaf.instance.label}
