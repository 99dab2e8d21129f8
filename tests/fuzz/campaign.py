"""Compare the verdicts of the proof with what running the programs shows."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdsl.analysis.validate import validate
from tdsl.backends.reference import Order as ReferenceOrder
from tdsl.backends.reference import interpret
from tdsl.errors import CheckError
from tdsl.ir.dtypes import DType, f32, i64
from tdsl.ir.nodes import Dim, Function
from tdsl.ir.numerics import Numerics
from tdsl.ir.printer import print_function
from tdsl.ir.walk import chosen_accesses

from .execute import (
    ORDERS,
    Buffer,
    FaultError,
    Program,
    compile_function,
    initial,
    ordering,
)
from .faults import FAULTS, MALFORMATIONS
from .primitives import random_schedule
from .programs import random_program
from .rewrites import random_rewrites

Change = Callable[[Function, random.Random], Function]
REFERENCE_ORDERS: tuple[ReferenceOrder, ...] = ("forward", "reverse", "interleaved")
CLASSES: tuple[tuple[Numerics, DType], ...] = (
    ("reassoc", i64),
    ("reassoc", i64),
    ("bitwise", f32),
)
SIZES = (0, 1, 2, 3, 4, 6, 7)


@dataclass(slots=True)
class Report:
    """What a campaign has seen so far."""

    pairs: int = 0
    faults: int = 0
    interpreted: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        times = sorted(self.milliseconds) or [0.0]
        lines = [f"{self.pairs} pairs, {self.faults} planted faults refuted"]
        lines += [
            f"  {count:6d}  {text}" for text, count in sorted(self.verdicts.items())
        ]
        lines += [
            f"  {count:6d}  fault {kind}" for kind, count in sorted(self.kinds.items())
        ]
        lines += [
            f"  {count:6d}  unknown: {reason}" for reason, count in self.reasons.items()
        ]
        lines.append(
            f"proof: median {times[len(times) // 2]:.1f} ms, "
            f"99% {times[len(times) * 99 // 100]:.1f} ms, worst {times[-1]:.0f} ms"
        )
        lines.append(f"{self.interpreted} pairs also run by the reference interpreter")
        lines.append(f"{len(self.failures)} findings")
        return "\n".join([*lines, *self.failures])


@dataclass(frozen=True, slots=True)
class Expected:
    """A kernel with its results at a few sizes."""

    function: Function
    numerics: Numerics
    results: tuple[tuple[dict[str, int], dict[str, Buffer]], ...]


def run_campaign(
    pairs: int,
    faults: int,
    seed: int,
    progress: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Try *pairs* random schedules and plant *faults* mistakes."""
    rng = random.Random(seed)
    report = Report()
    while report.pairs < pairs or report.faults < faults:
        numerics, dtype = rng.choice(CLASSES)
        kernel = random_program(rng, dtype)
        if validate(kernel, kernel, numerics).verdict != "proved":
            continue
        expected = run_kernel(kernel, numerics)
        for _ in range(4):
            if report.pairs < pairs:
                change = rng.choice([random_rewrites, random_schedule])
                scheduled = _changed(report, change, kernel, rng)
                proved = judge(report, expected, scheduled, "")
                report.pairs += 1
            else:
                proved, scheduled = True, kernel
            if proved and report.faults < faults:
                fault = rng.choice(FAULTS)
                broken = fault(scheduled, rng)
                if broken is not None and broken != scheduled:
                    judge(report, expected, broken, fault.__name__)
        progress(report)
    return report


def _changed(
    report: Report, change: Change, kernel: Function, rng: random.Random
) -> Function:
    """Return a schedule of *kernel*; a primitive that crashes is a finding too."""
    try:
        return change(kernel, rng)
    except Exception as error:
        text = f"--- a primitive crashed: {type(error).__name__}: {error}"
        if text not in report.failures:
            report.failures.append(text)
        return kernel


def run_kernel(function: Function, numerics: Numerics = "reassoc") -> Expected:
    """Run *function* at a few small sizes."""
    program = compile_function(function, numerics == "bitwise")
    results = []
    for dims in sizes(function.dims):
        buffers = initial(function, dims, 1)
        program(buffers, dims, iter)
        results.append((dims, buffers))
    return Expected(function, numerics, tuple(results))


def sizes(dims: tuple[Dim, ...]) -> Iterator[dict[str, int]]:
    """Yield small sizes that satisfy the assumptions, equal and unequal."""
    allowed = [
        [s for s in SIZES if d.min <= s <= (d.max or 99) and s % d.multiple == 0]
        for d in dims
    ]
    for number in range(max(map(len, allowed))):
        yield {d.name: a[number % len(a)] for d, a in zip(dims, allowed, strict=True)}
    if len(dims) > 1:
        yield {
            d.name: a[-1 - k]
            for k, (d, a) in enumerate(zip(dims, allowed, strict=True))
        }
        yield {
            d.name: a[k - 2] for k, (d, a) in enumerate(zip(dims, allowed, strict=True))
        }


def judge(report: Report, expected: Expected, scheduled: Function, fault: str) -> bool:
    """Prove and run *scheduled*; record what does not fit together."""
    started = time.perf_counter()
    certificate = validate(expected.function, scheduled, expected.numerics)
    report.milliseconds.append((time.perf_counter() - started) * 1e3)
    if fault in (malformed.__name__ for malformed in MALFORMATIONS):
        difference = "it is malformed"
    else:
        difference = find_difference(expected, scheduled)
    verdict = certificate.verdict
    what = "planted" if fault else "pair"
    if verdict == "unknown":
        report.reasons[certificate.reason] += 1
    outcome = "differs" if difference else "agrees"
    report.verdicts[f"{what} {verdict}, execution {outcome}"] += 1
    if (
        verdict == "proved"
        and not difference
        and sum(report.verdicts.values()) % 8 == 0
    ):
        report.interpreted += 1
        difference = find_reference_difference(expected, scheduled)
    if difference and fault and verdict == "refuted":
        report.faults += 1
        report.kinds[fault] += 1
    # Whether a fault shows may depend on the data that choose elements.
    open_ = verdict == "unknown" and any(chosen_accesses(expected.function))
    caught = verdict == "refuted" or open_
    if difference and (verdict == "proved" or (fault and not caught)):
        report.failures.append(
            f"--- {fault or 'rewrites'}: {certificate}\n{difference}\n"
            f"{print_function(expected.function)}{print_function(scheduled)}"
        )
    return verdict == "proved"


def find_difference(expected: Expected, scheduled: Function) -> str:
    """Return how the results differ at some size and order, or nothing."""
    program = compile_function(scheduled, expected.numerics == "bitwise")
    for dims, results in expected.results:
        for number, order in enumerate(ORDERS):
            text = _difference(
                program, scheduled, dims, results, ordering(order, number)
            )
            if text:
                return f"{text} at {dims}, {order}"
    return ""


def find_reference_difference(expected: Expected, scheduled: Function) -> str:
    """Return how the reference interpreter tells the functions apart, or nothing."""
    dims = expected.results[min(3, len(expected.results) - 1)][0]
    wanted = _interpreted(expected.function, dims, "forward")
    for order in REFERENCE_ORDERS:
        try:
            found = _interpreted(scheduled, dims, order)
        except CheckError as error:
            return f"{error} in the reference interpreter"
        for label, array in wanted.items():
            if not np.array_equal(
                array, found[label], equal_nan=array.dtype.kind == "f"
            ):
                return (
                    f"{label} differs at {dims}, {order} in the reference interpreter"
                )
    return ""


def _interpreted(
    function: Function, dims: dict[str, int], order: ReferenceOrder
) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(2)
    arrays: dict[str, NDArray[Any]] = {}
    for param in function.params:
        shape = [size.evaluate(dims) for size in param.tensor.shape]
        values = rng.integers(-9, 10, shape)
        arrays[param.tensor.name] = np.array(values, param.tensor.dtype.numpy)
    interpret(function, arrays, dims, order=order)
    return arrays


def _difference(
    program: Program,
    function: Function,
    dims: dict[str, int],
    results: dict[str, Buffer],
    order: Callable[[range], Iterator[int]],
) -> str:
    buffers = initial(function, dims, 1)
    try:
        program(buffers, dims, order)
    except (FaultError, NameError) as fault:
        return str(fault)
    for label, buffer in results.items():
        if buffer.elements != buffers[label].elements:
            return f"{label} differs"
    return ""
