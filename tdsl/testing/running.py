"""One run of a kernel on one case, compared with its own text within the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..backends.comparison import Comparison, compare
from ..backends.error_bound import Result, evaluate_with_bound
from ..backends.poison import guarded_call, poisoned_call
from ..backends.reference import Order, interpret
from ..errors import ArgumentError, CheckError, SubscriptError
from ..ir.given import check_option, shown
from ..ir.nodes import Function, Role
from ..kernel import Kernel
from ..schedules.schedule import Schedule
from .case import Case
from .failures import Engine, FailedCheck, Failure, OutOfBoundError
from .isolation import Child, child
from .layouts import Placed, placed
from .quick import is_quick
from .values import make_arrays
from .wanted import check_kernel, check_run, check_sizes

Arrays = dict[str, NDArray[Any]]
Prepare = Callable[[Arrays, Mapping[str, int]], None]
"""Changes random arguments in place, so that they make sense to the kernel."""


@dataclass(frozen=True)
class Trial:
    """A kernel with the schedule and the engine that are on trial.

    *schedule* None is the kernel's own: explicit, tuned or default. Machine code runs
    in *child*, made by `trials_apart`, if there is one.
    """

    kernel: Kernel
    schedule: Schedule | None = None
    engine: Engine = "compiled"
    prepare: Prepare | None = None
    child: Child | None = None

    @cached_property
    def compiled(self) -> Kernel:
        """The kernel to call; its code is kept from run to run."""
        if self.schedule is None:
            return self.kernel
        return self.kernel.with_schedule(self.schedule)

    def run(self, case: Case) -> Comparison:
        """Run on *case* and compare; raise `FailedCheck` where something is wrong.

        The run is private and poisoned: what is not written, or written outside, shows.
        Where a subscript is out of range, the call has to say so.
        """
        if self.child is not None and self.engine == "compiled":
            found: Comparison = self.child.call(self.schedule, case)
            return found
        function = self.kernel.function
        arrays = make_arrays(function, case)
        if self.prepare is not None:
            _prepare(self.prepare, arrays, case.dims)
        expected = evaluate_with_bound(
            function, arrays, case.dims, self.kernel.numerics
        )
        if is_quick(function, case.dims) or case.data == "outside":
            try:
                self._check_meaning(case, arrays, expected)
            except SubscriptError as error:
                return self._check_refusal(case, arrays, error)
        damage: list[str] = []
        call = self._engine_call
        try:
            outcome = poisoned_call(
                lambda *arguments: damage.extend(call(case, arguments)),
                function,
                arrays,
                case.dims,
            )
        except CheckError as error:  # of the interpreter, which checks each access
            raise self.failed(case, str(error)) from error
        except SubscriptError as error:
            return self._check_refused(case, arrays, expected, error)
        faults = [*outcome.faults, *dict.fromkeys(damage)]
        if faults:
            raise self.failed(case, "; ".join(faults))
        comparison = compare(outcome.outputs, expected)
        if not comparison.passed:
            raise self.failed(case, str(comparison))
        return comparison

    def failed(self, case: Case, reason: str) -> FailedCheck:
        """Return the error that reports *reason*."""
        prepared = self.prepare is not None
        function = self.kernel.function
        return FailedCheck(
            Failure(function, case, self.schedule, self.engine, reason, prepared)
        )

    def _check_meaning(
        self, case: Case, arrays: Arrays, expected: Mapping[str, Result]
    ) -> None:
        """Compare the interpreter, which defines the meaning, with the evaluation."""
        function = self.kernel.function
        outcome = poisoned_call(
            lambda *arguments: _interpreted(function, case, arguments, "forward"),
            function,
            arrays,
            case.dims,
        )
        comparison = compare(outcome.outputs, expected)
        if not outcome.is_clean or not comparison.passed:
            reason = "; ".join(outcome.faults) or str(comparison)
            raise self.failed(case, f"the reference interpreter disagrees: {reason}")

    def _check_refused(
        self,
        case: Case,
        arrays: Arrays,
        expected: Mapping[str, Result],
        error: SubscriptError,
    ) -> Comparison:
        """Take the refusal of a call only where the kernel means it."""
        try:
            self._check_meaning(case, arrays, expected)
        except SubscriptError as meant:
            return self._check_refusal(case, arrays, meant)
        raise self.failed(case, f"all subscripts are in range, but: {error}") from error

    def _check_refusal(
        self, case: Case, arrays: Arrays, meant: SubscriptError
    ) -> Comparison:
        """Call where a subscript is out of range, which has to be reported."""
        reported: list[SubscriptError] = []
        damage: list[str] = []

        def run(*arguments: Any) -> None:
            try:
                damage.extend(self._engine_call(case, arguments))
            except SubscriptError as error:
                reported.append(error)

        faults = [*guarded_call(run, self.kernel.function, arrays, case.dims), *damage]
        if not reported:
            faults.append(f"no error was raised, but the call ought to say: {meant}")
        if faults:
            raise self.failed(case, "; ".join(dict.fromkeys(faults)))
        return replace(compare({}, {}), refused=str(reported[0]))

    def _engine_call(self, case: Case, arguments: Sequence[Any]) -> Sequence[str]:
        if self.engine == "interpreted":
            return self._interpret(case, arguments)
        return self._call(case, arguments)

    def _interpret(self, case: Case, arguments: Sequence[Any]) -> Sequence[str]:
        assert self.schedule is not None, "the kernel's own schedule is compiled"
        orders = get_args(Order)
        order = orders[case.seed % len(orders)]
        _interpreted(self.schedule.function, case, arguments, order)
        return ()

    def _call(self, case: Case, arguments: Sequence[Any]) -> Sequence[str]:
        """Call as a user does, on copies in the layout of *case*."""
        params = self.kernel.function.params
        used = [placed(v, case.layout, n) for n, v in enumerate(arguments)]
        pairs = list(zip(params, used, strict=True))
        given = [each.value for param, each in pairs if not param.returned]
        returned = tuple(each.value for param, each in pairs if param.returned)
        if returned:
            self.compiled(*given, out=returned, **case.dims)
        else:
            self.compiled(*given, **case.dims)
        return _copied_back([p.tensor.name for p in params], arguments, used)


@contextmanager
def trials_apart(kernel: Kernel, prepare: Prepare | None) -> Iterator[Child | None]:
    """Lend a process for compiled trials of *kernel*; None where there is none."""
    known: dict[Schedule | None, Trial] = {}

    def run(schedule: Schedule | None, case: Case) -> Comparison:
        trial = Trial(kernel, schedule, "compiled", prepare)
        return known.setdefault(schedule, trial).run(case)

    with child(run) as made:
        yield made


def _copied_back(
    names: Sequence[str], arguments: Sequence[Any], used: Sequence[Placed]
) -> list[str]:
    """Put what a call did into *arguments*; return what it did to the gaps."""
    damage = []
    for name, original, each in zip(names, arguments, used, strict=True):
        if each.value is not original:
            original[...] = each.value
        if not each.is_intact():
            damage.append(f"memory between the elements of {name} was written")
    return damage


def _interpreted(
    function: Function, case: Case, arguments: Sequence[Any], order: Order
) -> None:
    names = [param.tensor.name for param in function.params]
    arrays = dict(zip(names, arguments, strict=True))
    interpret(function, arrays, case.dims, order=order)


def run_case(
    kernel: Kernel,
    case: Case,
    *,
    schedule: Schedule | None = None,
    engine: Engine = "compiled",
    prepare: Prepare | None = None,
) -> Comparison:
    """Run *kernel* once on *case* and compare; raise `FailedCheck` where it is wrong.

    A failure's message gives these arguments, to repeat it.
    """
    check_run(
        "run_case",
        kernel,
        schedule=schedule,
        engine=engine,
        prepare=prepare,
    )
    check_option("run_case", "case", case, Case, "a Case, such as draw_case makes")
    check_sizes("run_case", kernel.function, case.dims)
    if engine == "interpreted" and schedule is None:
        schedule = kernel.schedule()
    return Trial(kernel, schedule, engine, prepare).run(case)


def assert_within_bound(
    actual: Any, kernel: Kernel, inputs: Mapping[str, Any] | Sequence[Any]
) -> Comparison:
    """Compare results that came from anywhere with what *kernel* means.

    *actual* is the result, a tuple of the results in order, or a mapping by name;
    arrays that a kernel updates in place count as results, after the returned ones.
    *inputs* are the arguments of the call as they were before it, by position or by
    name. Raise `CheckError`, an AssertionError too, where an element leaves its bound.
    """
    check_kernel("assert_within_bound", kernel)
    if isinstance(inputs, Mapping):
        bound = kernel.bind((), inputs)
    else:
        bound = kernel.bind(inputs, {})
    function = kernel.function
    arrays = {
        param.tensor.name: value
        for param, value in zip(function.params, bound.values, strict=True)
        if param.role is not Role.OUTPUT
    }
    expected = evaluate_with_bound(function, arrays, bound.dims, kernel.numerics)
    comparison = compare(_results(actual, function), expected)
    if not comparison.passed:
        raise OutOfBoundError(f"{kernel.name}: {comparison}")
    return comparison


def _results(actual: Any, function: Function) -> Arrays:
    written = [p for p in function.params if p.role is not Role.INPUT]
    written.sort(key=lambda param: not param.returned)
    wanted = [param.tensor.name for param in written]
    if isinstance(actual, Mapping):
        given = dict(actual)
    else:
        several = actual if isinstance(actual, tuple) else (actual,)
        given = dict(zip(wanted, several, strict=False))
        if len(several) != len(wanted):
            given = {}
    if set(given) != set(wanted):
        raise ArgumentError(
            f"{function.name}: the results are {', '.join(wanted)}: pass an array for "
            "each, as a tuple in this order or as a mapping by name"
        )
    return {name: _numbers(function, name, given[name]) for name in wanted}


def _numbers(function: Function, name: str, value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise ArgumentError(
            f"{function.name}: the result {name} is {shown(value)} of dtype "
            f"{array.dtype}: pass an array of numbers"
        )
    return array


def _prepare(prepare: Prepare, arrays: Arrays, dims: Mapping[str, int]) -> None:
    """Let *prepare* change *arrays*; refuse what it puts there instead of arrays."""
    before = {name: (array.shape, array.dtype) for name, array in arrays.items()}
    prepare(arrays, dims)
    for name, (shape, dtype) in before.items():
        given: Any = arrays.get(name)
        if np.shape(given) != shape or (shape and np.asarray(given).dtype != dtype):
            raise ArgumentError(
                f"prepare left {shown(given)} as {name}: change its elements, as in "
                f"`arrays[{name!r}][...] = 1`, or put an array of its shape, "
                f"{list(shape)}, and dtype, {dtype}, there"
            )
