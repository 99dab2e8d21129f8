"""Kernels: parse once, prove and compile at the first call, then just call."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload
from weakref import WeakSet

from .analysis.certificate import Certificate
from .analysis.validate import validate
from .binding import Bound, bind
from .dispatch import Key, entry_key, make_dispatcher, stride_classes
from .entries import EntryWarning, entries, program_hash
from .errors import (
    ArgumentError,
    BackendError,
    KernelFaultError,
    ProofError,
    ScheduleError,
    TdslError,
)
from .executable import Backend, CpuBackend, Entry, Executable
from .frontend.parser import parse
from .ir.given import shown
from .ir.nodes import Function
from .ir.numerics import NUMERICS, Numerics
from .ir.printer import print_tensor
from .ir.programs import no_program
from .kernel_faults import fault_error
from .memory_order import (
    Orders,
    axis_orders,
    has_neighbouring_lanes,
    in_orders,
    reordered,
    reordering,
)
from .notices import warn_user
from .plans import prove
from .schedules.schedule import Schedule

Sizes = tuple[tuple[str, int], ...]
MOST_ENTRIES = 4096
"""How many combinations of sizes are remembered, which costs little to find again."""
_KERNELS: WeakSet[Kernel] = WeakSet()


def _forget_entries() -> None:
    """Let every kernel look its code up again: a fork may not be able to run it."""
    for each in _KERNELS:
        each._entries.clear()


os.register_at_fork(after_in_child=_forget_entries)


class Kernel:
    """A function over tensors: call it with arrays.

    The first call proves and compiles: the explicit *schedule* if there is one, else
    the schedule tuned for the sizes, else a default. Later calls run straight-line
    checks and the compiled code (`dispatch`).
    """

    def __init__(
        self,
        function: Function,
        *,
        numerics: Numerics = "reassoc",
        schedule: Schedule | None = None,
        backend: Backend | None = None,
    ) -> None:
        """Make a kernel of the parsed *function*; *backend* None means this CPU."""
        if not isinstance(function, Function):
            raise ArgumentError(_no_function(function))
        if not (isinstance(numerics, str) and numerics in NUMERICS):
            raise ArgumentError(
                f"{function.name}: numerics is {shown(numerics)}, but it is one of "
                f"{', '.join(NUMERICS)}"
            )
        if not (backend is None or hasattr(backend, "default_schedule")):
            raise ArgumentError(
                f"{function.name}: backend is {shown(backend)}, but it is None or an "
                "object that compiles"
            )
        self.name = self.__name__ = self.__qualname__ = function.name
        self.function = function
        self.numerics: Numerics = numerics
        if schedule is not None:
            self._check_schedule(schedule)
        self._backend: Backend = CpuBackend() if backend is None else backend
        self._schedule = schedule
        self._lock = threading.RLock()
        self.reload()
        _KERNELS.add(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel; return its results."""
        return self._dispatch(args, kwargs)

    def __repr__(self) -> str:
        """Return the signature as the IR has it."""
        return f"<tdsl kernel {_signature(self.function)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was parsed and chosen; the copy compiles, or loads, its code."""
        return _unpickled, (self.function, self.numerics, self._schedule)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bound:
        """Return the arrays, numbers and dims of a call, or say what is wrong."""
        return bind(self.function, args, kwargs)

    # --- schedules ----------------------------------------------------------------

    def schedule(self) -> Schedule:
        """Return the schedule without steps, to chain primitives on."""
        return Schedule(self.function)

    def with_schedule(self, schedule: Schedule) -> Kernel:
        """Return this kernel with an explicit schedule for all sizes."""
        return self._variant(schedule, self.numerics)

    @property
    def explicit_schedule(self) -> Schedule | None:
        """The schedule that `with_schedule` gave, which every call runs."""
        return self._schedule

    def default_schedule(self) -> Schedule:
        """Return the schedule of calls with neither an explicit nor a tuned one."""
        return self._backend.default_schedule(self.function, self.numerics)

    def _check_schedule(self, schedule: object) -> None:
        if not isinstance(schedule, Schedule):
            raise ArgumentError(
                f"{self.name}: {shown(schedule)} is no schedule: pass a Schedule, "
                f"which {self.name}.schedule() starts"
            )
        if schedule.original != self.function:
            raise ScheduleError(
                f"{self.name}: the schedule is for {schedule.original.name}, not for "
                f"this kernel: start from {self.name}.schedule()"
            )

    def with_numerics(self, numerics: Numerics) -> Kernel:
        """Return this kernel in another numerics class."""
        return self._variant(self._schedule, numerics)

    def renamed(self, name: str) -> Kernel:
        """Return this kernel as *name* in messages; tuned entries are by name too."""
        if not (isinstance(name, str) and name.isidentifier()):
            raise ArgumentError(
                f"{self.name}: {shown(name)} is no name: write one such as "
                f'"{self.name}_2"'
            )
        function = replace(self.function, name=name)
        schedule = self._schedule and self._schedule.replay(function)
        return Kernel(
            function, numerics=self.numerics, schedule=schedule, backend=self._backend
        )

    def _variant(self, schedule: Schedule | None, numerics: Numerics) -> Kernel:
        variant = Kernel(
            self.function, numerics=numerics, schedule=schedule, backend=self._backend
        )
        wrapped = getattr(self, "__wrapped__", None)
        if wrapped is not None:
            functools.update_wrapper(variant, wrapped)
        return variant

    # --- compilation --------------------------------------------------------------

    def prove(self, schedule: Schedule | None = None) -> Certificate:
        """Return the proof of *schedule*; raise ProofError where there is none.

        None is what a call would run: the explicit schedule, else the default. (Tuned
        schedules, which differ by sizes, are proved when they are read.)
        A fault of the kernel itself is a KernelFaultError, at the line at fault.
        """
        if schedule is None:
            schedule = self._schedule or self.default_schedule()
        self._check_schedule(schedule)
        certificate = prove(self.function, schedule, self.numerics)
        fault = certificate.kernel_fault
        if fault is not None:
            raise fault_error(self.function, fault)
        if certificate.verdict != "proved":
            since = self._first_unproved(schedule)
            if certificate.verdict == "unknown" and not schedule.steps:
                raise ProofError(f"{self.name}: as it is written, it is {certificate}")
            raise ProofError(f"{self.name}: the schedule is {certificate}{since}")
        return certificate

    def _first_unproved(self, schedule: Schedule) -> str:
        """Return the step since which *schedule* has no proof, on a line of its own.

        Steps before it may have been unproved for a while, and mended by others.
        """
        steps = schedule.steps
        for number in range(len(steps) - 1, -1, -1):
            before = Schedule(self.function, steps[:number]).function
            if validate(self.function, before, self.numerics).verdict == "proved":
                of_all = f" of {len(steps)}" if len(steps) > 1 else ""
                return f"\n  since step {number + 1}{of_all}: {steps[number]}"
        return ""

    def compile(self, schedule: Schedule) -> Executable:
        """Return proved and compiled code for *schedule*."""
        self._check_schedule(schedule)
        self.prove(schedule)
        return self._backend.compile(schedule.function, self.numerics)

    def reload(self) -> None:
        """Forget compiled code and read the tuned entries again at the next call."""
        self._tuned: dict[Sizes, str] | None = None
        self._executables: dict[str | None, Executable] = {}
        self._entries: dict[Key, Entry] = {}
        self._reordered: dict[Orders, Kernel] = {}
        self._dispatch = make_dispatcher(
            self.function, self._entries, self._call_slowly, by_size=False
        )

    def _call_slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Check and convert everything, compile if need be, and call."""
        bound = bind(self.function, args, kwargs)
        with self._lock:
            entry = self._entry(bound)
        entry(*bound.values, *bound.dims.values())
        return bound.result

    def _entry(self, bound: Bound) -> Entry:
        tuned = self._tuned_schedules()
        sizes = tuple(bound.dims.values()) if tuned else ()
        key = entry_key(self.function, bound.values, sizes)
        if key not in self._entries:
            if len(self._entries) >= MOST_ENTRIES:
                self._entries.clear()
            chosen = tuned.get(tuple(sorted(bound.dims.items())))
            self._entries[key] = self._new_entry(chosen, bound.values)
        return self._entries[key]

    def _new_entry(self, chosen: str | None, values: Sequence[Any]) -> Entry:
        """Return code for the strides of *values*.

        Without an explicit schedule it is made for the order of their axes in memory.
        What goes wrong there goes wrong again below, in the words of the kernel.
        """
        orders = axis_orders(self.function, values)
        if any(orders) and self._schedule is None:
            kernel, passed = self._reordered_kernel(orders), in_orders(values, orders)
            suited = chosen if chosen and kernel._suits(chosen) else None
            with contextlib.suppress(ProofError, KernelFaultError, BackendError):
                layouts = stride_classes(kernel.function, passed)
                entry = kernel._executable(suited).entry_for(layouts)
                return reordering(entry, orders)
        layouts = stride_classes(self.function, values)
        return self._executable(chosen).entry_for(layouts)

    def _reordered_kernel(self, orders: Orders) -> Kernel:
        """Return this kernel for arrays that are passed with their axes in *orders*."""
        if orders not in self._reordered:
            function = reordered(self.function, orders)
            self._reordered[orders] = Kernel(
                function, numerics=self.numerics, backend=self._backend
            )
        return self._reordered[orders]

    def _suits(self, chosen: str) -> bool:
        """Whether a schedule that was tuned for row-major arrays is good here too."""
        try:
            schedule = _stored_schedule(self.function, chosen)
        except ScheduleError:
            return False
        return has_neighbouring_lanes(schedule.function)

    def _executable(self, chosen: str | None) -> Executable:
        if chosen not in self._executables:
            schedule = self._chosen_schedule(chosen)
            try:
                made = self.compile(schedule)
            except BackendError as error:
                if chosen is None:
                    raise
                warn_user(self._unused(error), EntryWarning)
                made = self.compile(self._chosen_schedule(None))
            self._executables[chosen] = made
        return self._executables[chosen]

    def _chosen_schedule(self, chosen: str | None) -> Schedule:
        """Return the explicit schedule, the *chosen* tuned one, or the default."""
        if self._schedule is not None:
            return self._schedule
        if chosen is not None:
            try:
                schedule = _stored_schedule(self.function, chosen)
                self.prove(schedule)
                return schedule
            except ScheduleError as error:
                warn_user(self._unused(error), EntryWarning)
        return self.default_schedule()

    def _unused(self, error: Exception) -> str:
        return (
            f"{self.name}: a tuned schedule is not used: {error}; tune the kernel again"
        )

    def _tuned_schedules(self) -> dict[Sizes, str]:
        """Return the tuned schedules by sizes, read once."""
        if self._tuned is None:
            self._tuned = {} if self._schedule else self._read_entries()
            if self._tuned:
                self._dispatch = make_dispatcher(
                    self.function, self._entries, self._call_slowly, by_size=True
                )
        return self._tuned

    def _read_entries(self) -> dict[Sizes, str]:
        wanted = (self._backend.threads, self.numerics, self._backend.machine)
        found = (
            (entry.situation, entry.schedule)
            for entry in entries(program_hash(self.function))
        )
        return {
            where.dims: schedule
            for where, schedule in found
            if (where.threads, where.numerics, where.target) == wanted
        }


def _signature(function: Function) -> str:
    given = ", ".join(
        f"{param.tensor.name}: {print_tensor(param.tensor)}"
        for param in function.params
        if not param.returned
    )
    results = [print_tensor(p.tensor) for p in function.params if p.returned]
    return f"{function.name}({given})" + (
        f" -> {', '.join(results)}" if results else ""
    )


def _no_function(given: object) -> str:
    if isinstance(given, Kernel):
        return f"Kernel({given.name}): {_no_pyfunc(given)}"
    return f"Kernel: {no_program(given)}"


def _no_pyfunc(given: Kernel | Function) -> str:
    name = given.name
    if isinstance(given, Function):
        return f"{name} is parsed already: write tdsl.Kernel(...)"
    return (
        f"{name} is a kernel already: call it, or derive another with "
        f"{name}.with_schedule(...) or {name}.with_numerics(...)"
    )


def _stored_schedule(function: Function, text: str) -> Schedule:
    """Read a tuned schedule, whose entry was looked up by the program.

    It may be tried on the same program with the axes of its arrays in another order.
    """
    return Schedule.from_json(function, text, same_program=False)


def _unpickled(
    function: Function, numerics: Numerics, schedule: Schedule | None
) -> Kernel:
    return Kernel(function, numerics=numerics, schedule=schedule)


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(*, numerics: Numerics = ...) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Callable[..., Any] | None = None, *, numerics: Numerics = "reassoc"
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a Python function: `@tdsl.kernel`, or with *numerics*."""
    # Annotations kept as text may name variables of the place of definition that the
    # function's body does not use and its closure therefore lacks.
    namespace = sys._getframe(1).f_locals

    def make(function: Callable[..., Any]) -> Kernel:
        if isinstance(function, Kernel | Function):
            raise ArgumentError(f"tdsl.kernel({function.name}): {_no_pyfunc(function)}")
        if isinstance(function, str) and function in NUMERICS:
            raise ArgumentError(
                f'tdsl.kernel("{function}"): write tdsl.kernel(numerics="{function}")'
            )
        try:
            made = Kernel(parse(function, namespace), numerics=numerics)
        except TdslError as error:
            # The parser's own frames would hide the user's line.
            raise error.with_traceback(None) from None
        functools.update_wrapper(made, function)
        return made

    return make if function is None else make(function)
