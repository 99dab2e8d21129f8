"""What a tuning job ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..analysis.cost import BALANCE, Cost
from .records import Record
from .statistics import Interval

Outcome = Literal["improved", "default", "nothing"]

_BEYOND = {
    "GB/s": "faster than the measured memory, so the arrays stay in a cache",
    "GFLOP/s": "faster than the measured peak, so the machine was busy meanwhile",
}
"""Why a share of more than 100 % is not shown."""

_UNMEASURED = "no peak is measured but those of f32 and of f64 arithmetic"

FORMAT = 1
"""Counts changes of the JSON that `tdsl tune --json` prints."""


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Candidates that failed, or were refused, for one cause; with one example."""

    status: Literal["refused", "failed"]
    cause: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class Peak:
    """The machine's measured limits, for the threads in use.

    *gflops* is None for arithmetic on other numbers than f32 or f64 alone. Limits are
    not *reliable* where several threads came out slower than one.
    """

    gflops: float | None
    gigabytes: float
    reliable: bool = True


@dataclass(frozen=True, slots=True)
class Contender:
    """A library's time for the same work, in a process of its own."""

    name: str
    seconds: float | None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Speed:
    """A time as the rate that limits it, and that rate's share of the peak.

    *omitted* says why there is a peak but no share.
    """

    value: float
    unit: Literal["GFLOP/s", "GB/s"]
    share: float | None
    omitted: str = ""


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The outcome of a job: times, the best schedule, what was tried, where it is.

    *structure_rate* and *size_rate* are the candidates tried in a second, by phase;
    *unconfirmed* is the speedup that the search believed in and the re-check did not.
    *criterion* says what the largest error is a part of.
    """

    kernel: str
    dims: dict[str, int]
    dtype: str
    threads: int
    numerics: str
    target: str
    outcome: Outcome
    stop: str
    schedule: Any
    schedule_text: str
    proof: str
    default_seconds: float | None
    best_seconds: float | None
    speedup: Interval | None
    max_error_over_bound: float | None
    trials: int
    proved: int
    refused: int
    failed: int
    resumed: int
    failures: tuple[FailureGroup, ...]
    cost: Cost
    peak: Peak | None
    contender: Contender | None
    ledger: Path
    entry: Path | None
    trouble: tuple[str, ...]
    warnings: tuple[str, ...]
    elapsed: float
    budget: float
    seed: int
    structure_rate: float | None = None
    size_rate: float | None = None
    unconfirmed: float | None = None
    criterion: str = "derived bound"

    @property
    def exit_code(self) -> int:
        """0 finished, 1 something went wrong, 4 nothing measured, 130 interrupted."""
        if self.stop == "interrupted":
            return 130
        if self.outcome == "nothing":
            return 4
        return 1 if self.trouble else 0

    @property
    def memory_bound(self) -> bool:
        """Whether moving the arrays once takes longer than the arithmetic at peak."""
        peak = self.peak
        if peak is None or not (peak.reliable and peak.gflops and peak.gigabytes):
            return self.cost.intensity < BALANCE
        return self.cost.intensity < peak.gflops / peak.gigabytes

    def speed(self, seconds: float) -> Speed:
        """Return *seconds* as GFLOP/s, or as GB/s for a memory-bound kernel."""
        if self.memory_bound:
            value, limit = self.cost.traffic / seconds * 1e-9, "gigabytes"
        else:
            value, limit = self.cost.flops / seconds * 1e-9, "gflops"
        unit: Literal["GFLOP/s", "GB/s"] = "GB/s" if self.memory_bound else "GFLOP/s"
        top = None if self.peak is None else getattr(self.peak, limit)
        if self.peak is None:
            return Speed(value, unit, None)
        if top is None:
            return Speed(value, unit, None, _UNMEASURED)
        if not self.peak.reliable:
            return Speed(value, unit, None, "busy machine: peak unreliable")
        if value > top:
            return Speed(value, unit, None, _BEYOND[unit])
        return Speed(value, unit, value / top)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `tdsl tune --json`."""
        best = None if self.best_seconds is None else self.speed(self.best_seconds)
        return {
            "format": FORMAT,
            "kernel": self.kernel,
            "dims": self.dims,
            "dtype": self.dtype,
            "threads": self.threads,
            "numerics": self.numerics,
            "target": self.target,
            "outcome": self.outcome,
            "stop": self.stop,
            "trials": self.trials,
            "proved": self.proved,
            "refused": self.refused,
            "failed": self.failed,
            "resumed": self.resumed,
            "structure_rate": self.structure_rate,
            "size_rate": self.size_rate,
            "default_seconds": self.default_seconds,
            "best_seconds": self.best_seconds,
            "speedup": None if self.speedup is None else self.speedup.median,
            "speedup_interval": None
            if self.speedup is None
            else [self.speedup.low, self.speedup.high],
            "best_schedule": self.schedule,
            "best_schedule_text": self.schedule_text,
            "proof": self.proof,
            "max_error_over_bound": self.max_error_over_bound,
            "error_criterion": self.criterion,
            "speed": None if best is None else best.value,
            "speed_unit": None if best is None else best.unit,
            "share_of_peak": None if best is None else best.share,
            "share_omitted": "" if best is None else best.omitted,
            "unconfirmed_speedup": self.unconfirmed,
            "peak_gflops": self.peak and self.peak.gflops,
            "peak_gigabytes_per_second": self.peak and self.peak.gigabytes,
            "flops": self.cost.flops,
            "bytes": self.cost.traffic,
            "contender": self.contender and self.contender.name,
            "contender_seconds": self.contender and self.contender.seconds,
            "failures": [
                {"status": g.status, "cause": g.cause, "count": g.count}
                for g in self.failures
            ],
            "ledger": str(self.ledger),
            "entry": None if self.entry is None else str(self.entry),
            "trouble": list(self.trouble),
            "warnings": list(self.warnings),
            "seconds": round(self.elapsed, 3),
            "budget": self.budget,
            "seed": self.seed,
            "exit_code": self.exit_code,
        }


def group_failures(records: Iterable[Record]) -> tuple[FailureGroup, ...]:
    """Return failures and refusals by cause, the most frequent first."""
    counts: Counter[tuple[Literal["refused", "failed"], str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for record in records:
        if record.status == "measured":
            continue
        counts[record.status, record.cause] += 1
        examples.setdefault((record.status, record.cause), record.detail)
    return tuple(
        FailureGroup(status, cause, count, examples[status, cause])
        for (status, cause), count in counts.most_common()
    )
