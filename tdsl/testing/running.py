"""One run of a kernel on one case, compared with its own text within the bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..backends.comparison import Comparison, compare
from ..backends.error_bound import Result, evaluate_with_bound
from ..backends.poison import poisoned_call
from ..backends.reference import Order, interpret
from ..errors import ArgumentError, CheckError
from ..ir.nodes import Function, Role
from ..kernel import Kernel
from ..schedules.schedule import Schedule
from .case import Case
from .failures import Engine, FailedCheck, Failure, OutOfBoundError
from .layouts import Placed, placed
from .quick import is_quick
from .values import make_arrays

Arrays = dict[str, NDArray[Any]]
Prepare = Callable[[Arrays, Mapping[str, int]], None]
"""Changes random arguments in place, so that they make sense to the kernel."""


@dataclass(frozen=True)
class Trial:
    """A kernel with the schedule and the engine that are on trial.

    *schedule* None is the kernel's own: explicit, tuned or default.
    """

    kernel: Kernel
    schedule: Schedule | None = None
    engine: Engine = "compiled"
    prepare: Prepare | None = None

    @cached_property
    def compiled(self) -> Kernel:
        """The kernel to call; its code is kept from run to run."""
        if self.schedule is None:
            return self.kernel
        return self.kernel.with_schedule(self.schedule)

    def run(self, case: Case) -> Comparison:
        """Run on *case* and compare; raise `FailedCheck` where something is wrong.

        The run is private and poisoned: what is not written, or written outside, shows.
        """
        function = self.kernel.function
        arrays = make_arrays(function, case)
        if self.prepare is not None:
            self.prepare(arrays, case.dims)
        expected = evaluate_with_bound(
            function, arrays, case.dims, self.kernel.numerics
        )
        if is_quick(function, case.dims):
            self._check_meaning(case, arrays, expected)
        call = self._interpret if self.engine == "interpreted" else self._call
        damage: list[str] = []
        try:
            outcome = poisoned_call(
                lambda *arguments: damage.extend(call(case, arguments)),
                function,
                arrays,
                case.dims,
            )
        except CheckError as error:  # of the interpreter, which checks each access
            raise self.failed(case, str(error)) from error
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
    return {name: np.asarray(given[name]) for name in wanted}
