"""Schedules: chainable, immutable records of steps over a function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, ParamSpec

from ..errors import ScheduleError
from ..ir.given import check_option, shown
from ..ir.nodes import Function
from ..ir.printer import print_function
from ..ir.programs import Program, function_of
from .stored import steps_from_json, steps_to_json
from .trace import Step, check_call, step, unknown_primitive


class UnknownPrimitiveError(ScheduleError, AttributeError):
    """Refuse a method that a schedule does not have."""


_P = ParamSpec("_P")


def _primitive(method: Callable[_P, Schedule]) -> Callable[_P, Schedule]:
    """Let *method* refuse a call that does not fit its signature as a ScheduleError."""

    @functools.wraps(method)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> Schedule:
        try:
            return method(*args, **kwargs)
        except TypeError:
            check_call(method.__name__, args[1:], kwargs)
            raise

    return checked


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Schedule:
    """The *original* function and the *steps* that rewrite it.

    Each method appends one primitive and returns a new schedule; `function` is the
    rewritten function, and `print(schedule.text())` shows its loops. Two schedules are
    equal if original and steps are. Where a function is wanted, a kernel will do.
    """

    original: Function
    steps: tuple[Step, ...] = ()
    function: Function = field(init=False, compare=False, repr=False)

    def __init__(
        self, original: Function | Program, steps: Iterable[Step] = ()
    ) -> None:
        """Run the steps."""
        function = function_of(original, "Schedule")
        check_option("Schedule", "steps", steps, Iterable, "a sequence of steps")
        object.__setattr__(self, "original", function)
        object.__setattr__(self, "steps", tuple(steps))
        for number, each in enumerate(self.steps, 1):
            _check_step(each)
            function = _applied(each, function, number, len(self.steps))
        object.__setattr__(self, "function", function)

    def apply(self, next_step: Step) -> Schedule:
        """Return this schedule with one more step."""
        _check_step(next_step)
        number = len(self.steps) + 1
        result = Schedule(self.original)
        function = _applied(next_step, self.function, number, number)
        object.__setattr__(result, "steps", (*self.steps, next_step))
        object.__setattr__(result, "function", function)
        return result

    def replay(self, function: Function | Program) -> Schedule:
        """Return the same steps over another *function*, or that of a kernel."""
        return Schedule(function_of(function, "replay"), self.steps)

    def __str__(self) -> str:
        return "schedule" + "".join(f".{each}" for each in self.steps)

    def __repr__(self) -> str:
        return str(self)

    if not TYPE_CHECKING:  # which would take every attribute for one that exists

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse, as only unknown attributes get here."""
            raise UnknownPrimitiveError(unknown_primitive(name), name=name, obj=self)

    def text(self) -> str:
        """Return the loops that the schedule makes, as text to print."""
        return print_function(self.function).removesuffix("\n")

    def to_json(self) -> str:
        """Return the steps as JSON text, which `from_json` reads back."""
        return steps_to_json(self.original, self.steps)

    @staticmethod
    def from_json(
        function: Function | Program, text: str, *, same_program: bool = True
    ) -> Schedule:
        """Return the schedule that `to_json` wrote, over *function* or its kernel.

        With *same_program* it must have been written for that very program; without,
        its steps are applied to whatever program is given.
        """
        program = function_of(function, "from_json")
        return Schedule(program, steps_from_json(program, text, same_program))

    # --- primitives, as described in their modules ------------------------------------

    @_primitive
    def split(
        self,
        axis: str,
        factor: int,
        *,
        names: tuple[str, str] | None = None,
        tail: str = "guard",
        origin: int | None = None,
    ) -> Schedule:
        """Run *axis* in tiles of *factor* iterations.

        See `tdsl.schedules.tiles.split`, which shows it before and after.
        """
        return self._then(
            "split", axis=axis, factor=factor, names=names, tail=tail, origin=origin
        )

    @_primitive
    def tile(
        self,
        axes: Sequence[str],
        factors: Sequence[int],
        *,
        names: tuple[str, ...] | None = None,
        tail: str = "guard",
        origin: int | None = None,
    ) -> Schedule:
        """Split each of *axes* and run all tile loops outside all inner loops.

        See `tdsl.schedules.tiles.tile`, which shows it before and after.
        """
        return self._then(
            "tile", axes=axes, factors=factors, names=names, tail=tail, origin=origin
        )

    @_primitive
    def reorder(self, *axes: str) -> Schedule:
        """Nest the loops of *axes* in the given order, outermost first.

        See `tdsl.schedules.loops.reorder`, which shows it before and after.
        """
        return self._then("reorder", axes=axes)

    @_primitive
    def fuse(self, outer: str, inner: str) -> Schedule:
        """Run the loops *outer* and *inner* with one counter.

        See `tdsl.schedules.loops.fuse`, which shows it before and after.
        """
        return self._then("fuse", outer=outer, inner=inner)

    @_primitive
    def fission(self, axis: str, *, after: str | int) -> Schedule:
        """Distribute the loop of *axis* over its body, in two loops.

        See `tdsl.schedules.loops.fission`, which shows it before and after.
        """
        return self._then("fission", axis=axis, after=after)

    @_primitive
    def skew(self, outer: str, inner: str, factor: int) -> Schedule:
        """Add *factor* times the coordinate of *outer* to those of *inner*.

        See `tdsl.schedules.shifts.skew`, which shows it before and after.
        """
        return self._then("skew", outer=outer, inner=inner, factor=factor)

    @_primitive
    def shift(self, axis: str, offset: int | str) -> Schedule:
        """Add *offset* to the coordinates of *axis*.

        See `tdsl.schedules.shifts.shift`, which shows it before and after.
        """
        return self._then("shift", axis=axis, offset=offset)

    @_primitive
    def merge(self, first: str, second: str) -> Schedule:
        """Make one loop of the neighbours *first* and *second*.

        See `tdsl.schedules.merging.merge`, which shows it before and after.
        """
        return self._then("merge", first=first, second=second)

    @_primitive
    def enclose(self, inside: str, axis: str, *, at: int | str = 0) -> Schedule:
        """Put a loop of one iteration around *inside*, an axis or a label.

        See `tdsl.schedules.enclosing.enclose`, which shows it before and after.
        """
        return self._then("enclose", inside=inside, axis=axis, at=at)

    @_primitive
    def cut(self, axis: str, at: int | str) -> Schedule:
        """Run *axis* in two loops: below *at*, and from it on.

        See `tdsl.schedules.index_sets.cut`, which shows it before and after.
        """
        return self._then("cut", axis=axis, at=at)

    @_primitive
    def tighten(self, axis: str) -> Schedule:
        """Let the guards around the whole body of *axis* be bounds of the loop.

        See `tdsl.schedules.index_sets.tighten`, which shows it before and after.
        """
        return self._then("tighten", axis=axis)

    @_primitive
    def expand(
        self, tensor: str, axis: str, *, at: int = 0, memory: str | None = None
    ) -> Schedule:
        """Give each iteration of *axis* its own copy of a local tensor.

        See `tdsl.schedules.expansion.expand`, which shows it before and after.
        """
        return self._then("expand", tensor=tensor, axis=axis, at=at, memory=memory)

    @_primitive
    def rearrange(self, axis: str, *order: int) -> Schedule:
        """Put the statements of the body of *axis* in another order.

        See `tdsl.schedules.rearrangement.rearrange`, which shows it before and after.
        """
        return self._then("rearrange", axis=axis, order=order)

    @_primitive
    def unroll(self, axis: str) -> Schedule:
        """Write out the iterations of *axis* one by one.

        See `tdsl.schedules.parallel.unroll`, which shows it before and after.
        """
        return self._then("unroll", axis=axis)

    @_primitive
    def vectorize(self, axis: str) -> Schedule:
        """Run the iterations of *axis* as the lanes of vectors.

        See `tdsl.schedules.parallel.vectorize`, which shows it before and after.
        """
        return self._then("vectorize", axis=axis)

    @_primitive
    def parallelize(self, axis: str) -> Schedule:
        """Share out the iterations of *axis* among the cores.

        See `tdsl.schedules.parallel.parallelize`, which shows it before and after.
        """
        return self._then("parallelize", axis=axis)

    @_primitive
    def cache_read(
        self,
        tensor: str,
        axis: str | None,
        *,
        layout: Sequence[str] | None = None,
        name: str | None = None,
        memory: str = "array",
    ) -> Schedule:
        """Copy what the body of *axis* reads of *tensor* into a buffer.

        See `tdsl.schedules.memory.cache_read`, which shows it before and after.
        """
        return self._then(
            "cache_read",
            tensor=tensor,
            axis=axis,
            layout=layout,
            name=name,
            memory=memory,
        )

    @_primitive
    def cache_write(
        self,
        tensor: str,
        axis: str | None,
        *,
        memory: str = "register",
        layout: Sequence[str] | None = None,
        name: str | None = None,
    ) -> Schedule:
        """Let the body of *axis* work on a buffer in place of *tensor*.

        See `tdsl.schedules.memory.cache_write`, which shows it before and after.
        """
        return self._then(
            "cache_write",
            tensor=tensor,
            axis=axis,
            memory=memory,
            layout=layout,
            name=name,
        )

    @_primitive
    def compute_at(self, producer: str, axis: str) -> Schedule:
        """Compute what the body of *axis* needs of *producer* there.

        See `tdsl.schedules.stages.compute_at`, which shows it before and after.
        """
        return self._then("compute_at", producer=producer, axis=axis)

    @_primitive
    def inline(self, tensor: str) -> Schedule:
        """Put the value of a local tensor where it is read, and drop the tensor.

        See `tdsl.schedules.stages.inline`, which shows it before and after.
        """
        return self._then("inline", tensor=tensor)

    @_primitive
    def rfactor(
        self,
        axis: str,
        *,
        tensor: str | None = None,
        name: str | None = None,
        memory: str | None = None,
    ) -> Schedule:
        """Give each iteration of *axis* a partial result, combined afterwards.

        See `tdsl.schedules.reduction.rfactor`, which shows it before and after.
        """
        return self._then("rfactor", axis=axis, tensor=tensor, name=name, memory=memory)

    def _then(self, primitive: str, **arguments: object) -> Schedule:
        return self.apply(step(primitive, arguments))


def _check_step(given: object) -> None:
    if not isinstance(given, Step):
        raise ScheduleError(
            f"{shown(given)} is no step: call a primitive, as in "
            'schedule.split("i", 32), or pass a step of another schedule'
        )


def _applied(each: Step, function: Function, number: int, total: int) -> Function:
    try:
        return each.apply(function)
    except ScheduleError as error:
        where = f"step {number} of {total}" if total > 1 else "step 1"
        raise ScheduleError(f"{error}\n  in {where}: {each}") from None
