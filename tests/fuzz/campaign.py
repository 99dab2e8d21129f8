"""Compare the verdicts of the proof with what running the programs shows."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from unittest import mock

import numpy as np

from tdsl.analysis import validate as proof
from tdsl.analysis.validate import validate
from tdsl.backends.reference import Order as ReferenceOrder
from tdsl.backends.reference import interpret
from tdsl.errors import CheckError
from tdsl.ir.dtypes import DType, f32, i64
from tdsl.ir.nodes import Dim, Function, LoopKind, Reduce, Scatter, Store
from tdsl.ir.numerics import Numerics
from tdsl.ir.printer import print_function
from tdsl.ir.walk import allocations, chosen_accesses, loops, walk

from .compiled import Arrays, find_compiled_difference, is_exact, random_arrays
from .execute import (
    ORDERS,
    Buffer,
    FaultError,
    Program,
    compile_function,
    initial,
    ordering,
)
from .faults import FAULTS, UNSEEN
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
WRITES = (Store, Reduce, Scatter)
CHUNK = 250
"""How many pairs a process tries before it ends and another begins."""


@dataclass(slots=True)
class Report:
    """What a campaign has seen so far."""

    pairs: int = 0
    faults: int = 0
    interpreted: int = 0
    traced: int = 0
    compiled: int = 0
    wanted: int = 0
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
            f"  {count:6d}  unknown: {reason}"
            for reason, count in self.reasons.most_common()
        ]
        lines.append(
            f"proof: median {times[len(times) // 2]:.1f} ms, "
            f"99% {times[len(times) * 99 // 100]:.1f} ms, worst {times[-1]:.0f} ms"
        )
        lines.append(f"{self.interpreted} pairs also run by the reference interpreter")
        lines.append(f"{self.compiled} pairs also compiled")
        lines.append(f"{self.traced} pairs also proved without the order of accesses")
        lines.append(f"{len(self.failures)} findings")
        return "\n".join([*lines, *self.failures])

    def add(self, other: Report) -> None:
        """Add what another part of the campaign has seen."""
        self.pairs += other.pairs
        self.faults += other.faults
        self.interpreted += other.interpreted
        self.traced += other.traced
        self.compiled += other.compiled
        self.verdicts += other.verdicts
        self.kinds += other.kinds
        self.reasons += other.reasons
        self.milliseconds += other.milliseconds
        self.failures += [f for f in other.failures if f not in self.failures]


@dataclass(frozen=True, slots=True)
class Expected:
    """A kernel with its results at a few sizes."""

    function: Function
    numerics: Numerics
    results: tuple[tuple[dict[str, int], dict[str, Buffer]], ...]
    starts: tuple[dict[str, Buffer], ...]


def run_campaigns(
    pairs: int,
    faults: int,
    seed: int,
    processes: int,
    compiled: int = 0,
    progress: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Run a campaign in parts, *processes* of them at a time."""
    report = Report()
    parts = -(-max(pairs, faults) // CHUNK)
    jobs = [
        (
            _share(pairs, parts, number),
            _share(faults, parts, number),
            _share(compiled, parts, number),
            f"{seed}/{number}",
        )
        for number in range(parts)
    ]
    # isl keeps what it has seen: a fresh process now and then keeps memory small.
    # (Not an executor: in Python 3.11 those can wait forever for such a process.)
    with get_context("spawn").Pool(processes, maxtasksperchild=8) as pool:
        for done in pool.imap_unordered(_run_part, jobs):
            report.add(done)
            progress(report)
    return report


def _run_part(job: tuple[int, int, int, str]) -> Report:
    pairs, faults, compiled, seed = job
    return run_campaign(pairs, faults, seed, compiled=compiled)


def _share(total: int, parts: int, number: int) -> int:
    return total * (number + 1) // parts - total * number // parts


def run_campaign(
    pairs: int,
    faults: int,
    seed: int | str,
    progress: Callable[[Report], None] = lambda _: None,
    *,
    compiled: int = 0,
) -> Report:
    """Try *pairs* random schedules and plant *faults* mistakes.

    Of the pairs that are proved, *compiled* run as machine code too.
    """
    rng = random.Random(seed)
    report = Report(wanted=compiled)
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
    results: list[tuple[dict[str, int], dict[str, Buffer]]] = []
    starts: list[dict[str, Buffer]] = []
    for dims in sizes(function.dims):
        if any(f.evaluate(dims) < 0 for f in function.assumptions.conditions):
            continue
        buffers = initial(function, dims, 1)
        starts.append(copied(buffers))
        program(buffers, dims, iter)
        results.append((dims, buffers))
    return Expected(function, numerics, tuple(results), tuple(starts))


def copied(buffers: dict[str, Buffer]) -> dict[str, Buffer]:
    """Return other tensors with the same elements."""
    return {
        label: Buffer(buffer.shape, dict(buffer.elements))
        for label, buffer in buffers.items()
    }


def sizes(dims: tuple[Dim, ...]) -> Iterator[dict[str, int]]:
    """Yield small sizes that the dims allow, equal and unequal."""
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
    try:
        certificate = validate(expected.function, scheduled, expected.numerics)
    except Exception as error:
        report.failures.append(
            f"--- the proof crashed: {type(error).__name__}: {error}\n"
            f"{print_function(expected.function)}{print_function(scheduled)}"
        )
        return False
    report.milliseconds.append((time.perf_counter() - started) * 1e3)
    if fault in (unseen.__name__ for unseen in UNSEEN):
        difference = "it is malformed or trusts too much"
    else:
        difference = find_difference(expected, scheduled)
    verdict = certificate.verdict
    what = "planted" if fault else "pair"
    if verdict == "unknown":
        report.reasons[kind(certificate.reason, expected.function, scheduled)] += 1
    outcome = "differs" if difference else "agrees"
    report.verdicts[f"{what} {verdict}, execution {outcome}"] += 1
    number = sum(report.verdicts.values())
    if verdict == "proved" and not difference and number % 8 == 0:
        report.interpreted += 1
        difference = find_reference_difference(expected, scheduled)
    if verdict == "proved" and not difference and number % 5 == 0:
        report.traced += 1
        difference = find_other_verdict(expected, scheduled)
    if verdict == "proved" and not difference and report.compiled < report.wanted:
        difference = _compiled_difference(report, expected, scheduled)
    if difference and fault and verdict == "refuted":
        report.faults += 1
        report.kinds[fault] += 1
    # Whether a fault shows may depend on the data that choose elements.
    chosen = any(chosen_accesses(expected.function))
    tired = "undecided after" in certificate.reason
    caught = verdict == "refuted" or (verdict == "unknown" and (chosen or tired))
    if difference and (verdict == "proved" or (fault and not caught)):
        report.failures.append(
            f"--- {fault or 'rewrites'}: {certificate}\n{difference}\n"
            f"{print_function(expected.function)}{print_function(scheduled)}"
        )
    return verdict == "proved"


def kind(reason: str, *functions: Function) -> str:
    """Return *reason* without the names that it has from *functions*."""
    names = {dim.name for function in functions for dim in function.dims}
    for function in functions:
        names |= {param.tensor.name for param in function.params}
        names |= {*loops(function), *allocations(function)}
        writes = (each for each in walk(function) if isinstance(each, WRITES))
        names |= {each.instance.label for each in writes if each.instance}
    nameless = re.sub(r"\w+", lambda word: "_" if word[0] in names else word[0], reason)
    return re.sub(r"\w+\[[^]]*\]", "_[...]", nameless)


def find_difference(expected: Expected, scheduled: Function) -> str:
    """Return how the results differ at some size and order, or nothing."""
    program = compile_function(scheduled, expected.numerics == "bitwise")
    kinds = {loop.kind for loop in loops(scheduled).values()}
    free = LoopKind.PARALLEL in kinds or LoopKind.VECTORIZED in kinds
    for (dims, results), start in zip(expected.results, expected.starts, strict=True):
        for number, order in enumerate(ORDERS if free else ORDERS[:1]):
            text = _difference(program, start, dims, results, ordering(order, number))
            if text:
                return f"{text} at {dims}, {order}"
    return ""


def _compiled_difference(
    report: Report, expected: Expected, scheduled: Function
) -> str:
    kernel, numerics = expected.function, expected.numerics
    if kernel == scheduled or not is_exact(kernel):
        return ""
    report.compiled += 1
    choices = [dims for dims, _ in expected.results]
    return find_compiled_difference(kernel, scheduled, numerics, choices)


def find_other_verdict(expected: Expected, scheduled: Function) -> str:
    """Return how the proof by last writers alone contradicts, or nothing."""
    with mock.patch.object(proof, "tensors_in_order", lambda *_: frozenset()):
        certificate = validate(expected.function, scheduled, expected.numerics)
    if certificate.verdict == "refuted":
        return f"without the order of accesses: {certificate}"
    return ""


def find_reference_difference(expected: Expected, scheduled: Function) -> str:
    """Return how the reference interpreter tells the functions apart, or nothing."""
    if not expected.results:
        return ""
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
) -> Arrays:
    arrays = random_arrays(function, dims)
    interpret(function, arrays, dims, order=order)
    return arrays


def _difference(
    program: Program,
    start: dict[str, Buffer],
    dims: dict[str, int],
    results: dict[str, Buffer],
    order: Callable[[range], Iterator[int]],
) -> str:
    buffers = copied(start)
    try:
        program(buffers, dims, order)
    except (FaultError, NameError) as fault:
        return str(fault)
    for label, buffer in results.items():
        if buffer.elements != buffers[label].elements:
            return f"{label} differs"
    return ""
