"""Run random programs on random data, and look for an element outside its bound.

One trial is one set of arguments of one compiled program: all elements of all its
outputs are compared with their bounds. A trial counts if at least one of them has a
bound, that is, unless the results are empty or nothing can be claimed of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdsl.analysis.validate import validate
from tdsl.backends.comparison import error_over_bound
from tdsl.backends.cpu import compile_function
from tdsl.backends.error_bound import Result, evaluate_with_bound
from tdsl.errors import BackendError
from tdsl.ir.nodes import Function, Role
from tdsl.ir.printer import print_function
from tdsl.target import host
from tdsl.testing.case import DATA, Case, Data
from tdsl.testing.values import make_arrays

from ..fuzz.primitives import random_schedule
from .batch import TRIALS, batched, stacked
from .programs import Subject, random_subject

Arrays = dict[str, NDArray[Any]]

BATCH = 150
"""How many sets of data a program runs on at once."""


@dataclass(slots=True)
class Report:
    """What a campaign has seen so far."""

    trials: int = 0
    programs: int = 0
    elements: int = 0
    void: int = 0
    inexact: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    ratios: list[float] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        share = 100 * self.void / max(1, self.elements)
        worst = max(self.ratios, default=0.0)
        lines = [
            f"{self.trials} trials of {self.programs} programs, "
            f"{self.elements} elements",
            f"  {share:.1f}% of the elements without a bound, {self.inexact} inexact",
            f"  largest error in units of its bound: {worst:.3f}",
        ]
        lines += [f"  {n:8d}  {kind}" for kind, n in sorted(self.kinds.items())]
        return "\n".join(
            [*lines, f"{len(self.violations)} violations", *self.violations]
        )


def run_campaign(
    trials: int, seed: int, progress: Callable[[Report], None] = lambda _: None
) -> Report:
    """Run random programs until *trials* trials are done."""
    rng = random.Random(seed)
    report = Report()
    while report.trials < trials:
        subject = random_subject(rng)
        scheduled = random_schedule(subject.function, rng)
        proof = validate(subject.function, scheduled, subject.numerics)
        if proof.verdict != "proved":
            scheduled = subject.function
        try:
            _examine(report, subject, scheduled, rng)
        except BackendError:  # a schedule that needs what the backend has not
            report.kinds["refused by the backend"] += 1
        progress(report)
    return report


def _examine(
    report: Report, subject: Subject, scheduled: Function, rng: random.Random
) -> None:
    run = Runner(scheduled, subject.numerics, parallel=rng.random() < 0.3)
    kernel = batched(subject.function)
    report.programs += 1
    for dims in subject.sizes:
        cases = [
            Case(dims, rng.randrange(1 << 30), data=_kind(number))
            for number in range(BATCH)
        ]
        sets = [make_arrays(subject.function, case) for case in cases]
        arrays = stacked(sets)
        whole = {TRIALS: BATCH, **dims}
        expected = evaluate_with_bound(kernel, arrays, whole, subject.numerics)
        actual = run(arrays, whole)
        judged = judge(actual, expected, whole[TRIALS])
        report.trials += int(judged.counted.sum())
        report.elements += sum(value.size for value, _ in expected.values())
        report.void += sum(int(np.isinf(b).sum()) for _, b in expected.values())
        report.inexact += sum(
            int((np.isfinite(b) & (b > 0)).sum()) for _, b in expected.values()
        )
        report.ratios.append(float(judged.worst.max(initial=0.0)))
        for case, counted in zip(cases, judged.counted, strict=True):
            report.kinds[f"{case.data} data"] += int(counted)
        report.kinds[f"{subject.numerics}"] += int(judged.counted.sum())
        for number in np.flatnonzero(judged.worst > 1)[:1]:
            report.violations.append(
                f"--- {judged.worst[number]:.3g} bounds off at {cases[number]}, "
                f"{subject.numerics}, data of seed {cases[number].seed}\n"
                f"{print_function(subject.function)}{print_function(scheduled)}"
            )


def _kind(number: int) -> Data:
    return (*DATA, "normal", "magnitudes")[number % (len(DATA) + 2)]  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Judgement:
    """By trial: the largest error in units of its bound, and whether it counts."""

    worst: NDArray[np.float64]
    counted: NDArray[np.bool_]


def judge(actual: Arrays, expected: dict[str, Result], trials: int) -> Judgement:
    """Compare the outputs of a batched program with their bounds."""
    worst = np.zeros(trials)
    counted = np.zeros(trials, np.bool_)
    for name, (value, bound) in expected.items():
        ratios = error_over_bound(actual[name], value, bound).reshape(trials, -1)
        worst = np.maximum(worst, ratios.max(axis=1, initial=0.0))
        counted |= np.isfinite(bound).reshape(trials, -1).any(axis=1)
    return Judgement(worst, counted)


class Runner:
    """A batched program as machine code."""

    def __init__(self, function: Function, numerics: str, parallel: bool) -> None:
        self.function = batched(function)
        self.compiled = compile_function(
            self.function, host(), numerics=numerics, parallel=parallel
        )
        self.compiled.compile()

    def __call__(self, arrays: Arrays, dims: dict[str, int]) -> Arrays:
        """Return the outputs; *arrays* stay as they are."""
        values: list[Any] = []
        results: Arrays = {}
        for param in self.function.params:
            name = param.tensor.name
            shape = tuple(extent.evaluate(dims) for extent in param.tensor.shape)
            if param.role is Role.OUTPUT:
                array = np.zeros(shape, param.tensor.dtype.numpy)
            else:
                array = arrays[name].copy()
            if param.role is not Role.INPUT:
                results[name] = array
            values.append(array)
        sizes = [dims[dim.name] for dim in self.function.dims]
        self.compiled.entry(*values, *sizes, *self.compiled.sizes)
        return results
