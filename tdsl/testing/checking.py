"""`check`: a kernel on random sizes, values, layouts and schedules.

Compiling is what costs time, so the examples come in batches that share code: one
schedule and one layout, many sizes and values. Schedules are also run in the reference
interpreter, where they need no compilation, on small sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ..backends.comparison import Comparison, no_bound
from ..errors import ArgumentError, BackendError, ScheduleError
from ..ir.given import check_option, shown
from ..kernel import Kernel
from ..kernel_faults import reject_faults
from ..schedules.schedule import Schedule
from ..schedules.sketches import sketch
from ..target import host
from .case import LAYOUTS, Layout, draw_case
from .choices import Choices, random_choices
from .effort import EXAMPLES, affordable
from .failures import FailedCheck
from .moves import is_proved, is_small, random_schedule, tile_sizes
from .quick import draw_quick_case
from .running import Prepare, Trial
from .shrinking import shrunk
from .wanted import check_run

EXAMPLES_PER_SCHEDULE = 18
"""How many examples share a random schedule, which takes about a second to compile."""

SLOW_PER_SCHEDULE = 6
"""How many do where an example takes as long as that."""

EXAMPLES_PER_INTERPRETED = 4
"""For how many examples one more schedule runs in the interpreter."""

MOVES, STEPS, ATTEMPTS = 24, 8, 3
"""How many moves a random schedule tries, its most steps, and a second and third go.

As often a case is drawn, where a subscript that the kernel computes is out of range.
"""

FEW_REGISTERS = 8
"""What the tiles of sketches are made for."""

_LIKELY: tuple[Layout, ...] = ("contiguous", "contiguous", "contiguous", *LAYOUTS)


@dataclass(frozen=True, slots=True)
class Report:
    """What a passed check has seen; *void* elements had no finite bound.

    *compiled* and *interpreted* count schedules; *refused* those that the backend did
    not compile, with the *refusal* of the first. *outside* counts the examples with a
    subscript out of range, all reported. *fewer* says why there are so few examples.
    """

    kernel: str
    examples: int
    elements: int
    void: int
    worst: Comparison
    compiled: int
    interpreted: int
    refused: int = 0
    refusal: str = ""
    outside: int = 0
    fewer: str = ""

    def __str__(self) -> str:
        """Return a few lines to read."""
        lines = [
            f"{self.kernel}: {self.examples} examples, {self.elements} elements, "
            f"largest error {self.worst.max_error_over_bound:.3g} of the bound"
            + no_bound(self.void),
            f"  schedules: {self.compiled} compiled, {self.interpreted} interpreted, "
            "all proved",
        ]
        if self.outside:
            lines.append(
                f"  {self.outside} examples had a subscript out of range, all reported"
            )
        if self.fewer:
            lines.append(f"  {self.fewer}")
        if self.refused:
            lines.append(f"  {self.refused} more did not compile: {self.refusal}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Examples that share their code."""

    trial: Trial
    layout: Layout | None
    seeds: range


def check(
    kernel: Kernel,
    *,
    examples: int | None = None,
    seed: int = 0,
    prepare: Prepare | None = None,
) -> Report:
    """Run *kernel* on random arguments and schedules; raise at the first wrong result.

    The kernel's own schedule (explicit, tuned or default) gets a share of the
    examples, random ones the others. *prepare* may change random arrays in place
    before each run: `prepare(arrays, dims)`. The `FailedCheck` that is raised shows
    the shortest schedule and the smallest case that fail, and how to repeat them.

    There are 100 *examples*, or fewer where sizes that are fixed make each one slow.
    """
    check_run("check", kernel, seed=seed, prepare=prepare)
    reject_faults(kernel.function)
    fewer = ""
    if examples is None:
        examples, fewer = affordable(kernel, seed)
    _check_count(examples)
    each = SLOW_PER_SCHEDULE if fewer else EXAMPLES_PER_SCHEDULE
    batches = _batches(kernel, examples, seed, prepare, each)
    return replace(_checked(kernel, batches), fewer=fewer)


def check_schedule(
    kernel: Kernel,
    schedule: Schedule,
    *,
    examples: int = EXAMPLES // 2,
    seed: int = 0,
    prepare: Prepare | None = None,
) -> Report:
    """Prove *schedule*, then run it on random arguments, compiled and interpreted.

    Raise `ProofError` where it is not proved, and `FailedCheck` where a result is
    wrong, with the shortest part of the schedule that is.
    """
    check_run("check_schedule", kernel, seed=seed, prepare=prepare)
    check_option("check_schedule", "schedule", schedule, Schedule, "a schedule")
    _check_count(examples)
    kernel.prove(schedule)
    compiled = Trial(kernel, schedule, "compiled", prepare)
    interpreted = Trial(kernel, schedule, "interpreted", prepare)
    half = examples // 2
    batches = [
        _Batch(interpreted, "contiguous", range(seed, seed + examples // 5)),
        _Batch(compiled, "contiguous", range(seed, seed + half)),
        _Batch(compiled, _own_layout(seed), range(seed + half, seed + examples)),
    ]
    return _checked(kernel, batches)


def _check_count(examples: object) -> None:
    if not isinstance(examples, int) or isinstance(examples, bool) or examples < 1:
        raise ArgumentError(
            f"examples is {shown(examples)}: write how many to run, a whole number "
            "from 1 up"
        )


def _batches(
    kernel: Kernel,
    examples: int,
    seed: int,
    prepare: Prepare | None,
    per_schedule: int,
) -> Iterator[_Batch]:
    """Yield batches, those that need no compilation first."""
    interpreted = examples // EXAMPLES_PER_INTERPRETED
    if draw_quick_case(kernel.function, seed, kernel.numerics) is None:
        interpreted = 0
    for number in range(interpreted):
        schedule = _drawn(kernel, seed, number, sketched=number % 2 == 1)
        trial = Trial(kernel, schedule, "interpreted", prepare)
        yield _Batch(trial, "contiguous", range(seed + number, seed + number + 1))
    random = examples // per_schedule
    edges = [
        seed + interpreted + (examples - interpreted) * part // (random + 2)
        for part in range(random + 3)
    ]
    own = Trial(kernel, None, "compiled", prepare)
    yield _Batch(own, "contiguous", range(edges[0], edges[1]))
    yield _Batch(own, _own_layout(seed), range(edges[1], edges[2]))
    for first, last in pairwise(edges[2:]):
        schedule = _drawn(kernel, seed, first, sketched=False)
        trial = Trial(kernel, schedule, "compiled", prepare)
        layout = random_choices(first, 2).pick(_LIKELY)
        yield _Batch(trial, layout, range(first, last))


def _checked(kernel: Kernel, batches: Iterable[_Batch]) -> Report:
    comparisons: list[Comparison] = []
    counts = Counter[str]()
    refusal = ""
    for batch in batches:
        try:
            comparisons += _run(batch)
        except BackendError as error:
            if batch.trial.schedule is None:
                raise
            counts["refused"] += 1
            refusal = refusal or str(error)
        else:
            counts[batch.trial.engine] += 1
    outside = sum(bool(each.refused) for each in comparisons)
    if comparisons and outside == len(comparisons):
        raise ArgumentError(
            f"{kernel.name}: all examples had a subscript out of range: "
            f"{comparisons[0].refused}; state what holds with tdsl.assume, or pass "
            "prepare=, which may change the random arguments"
        )
    return Report(
        kernel.name,
        len(comparisons),
        sum(each.elements for each in comparisons),
        sum(each.void for each in comparisons),
        max(comparisons, key=lambda each: each.max_error_over_bound),
        counts["compiled"],
        counts["interpreted"],
        counts["refused"],
        refusal,
        outside,
    )


def _run(batch: _Batch) -> list[Comparison]:
    trial = batch.trial
    draw = draw_quick_case if trial.engine == "interpreted" else draw_case
    comparisons = []
    for seed in batch.seeds:
        for attempt in range(ATTEMPTS):
            case = draw(
                trial.kernel.function,
                seed + 1_000_003 * attempt,
                trial.kernel.numerics,
                layout=batch.layout,
                near=tile_sizes(trial.schedule),
            )
            if case is None:
                break
            try:
                comparison = trial.run(case)
            except FailedCheck as error:
                raise shrunk(trial, case, error) from None
            if not comparison.refused or case.data == "outside":
                break
        if case is not None:
            comparisons.append(comparison)
    return comparisons


def _own_layout(seed: int) -> Layout:
    return LAYOUTS[1:][seed % len(LAYOUTS[1:])]


def _drawn(kernel: Kernel, seed: int, number: int, *, sketched: bool) -> Schedule:
    """Return random schedule *number*, which may start as the tuner's do.

    It has a step, unless a few attempts find none.
    """
    choices = random_choices(seed * 1009 + number, 1)
    start = _sketched(kernel, choices) if sketched else kernel.schedule()
    steps = len(start.steps) + STEPS
    for _ in range(ATTEMPTS):
        moves = [choices] * choices.pick(range(4, MOVES))
        schedule = random_schedule(start, moves, kernel.numerics, steps)
        if schedule.steps:
            break
    return schedule


def _sketched(kernel: Kernel, choices: Choices) -> Schedule:
    """Return a random point of the search space, with tiles that compile quickly."""
    few = replace(host(), vector_registers=FEW_REGISTERS)
    space = sketch(kernel.function, few, kernel.numerics)
    config = {param.name: choices.pick(param.choices) for param in space.params}
    try:
        schedule = space.build(config)
    except ScheduleError:
        return kernel.schedule()
    if is_small(schedule.function) and is_proved(schedule, kernel.numerics):
        return schedule
    return kernel.schedule()
