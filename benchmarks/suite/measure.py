"""Race the contenders of a case and make rows of what comes out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import geometric_mean
from typing import Any

import numpy as np

from ..contenders import tune
from ..harness import ContenderError, Measurement, Outcome, Pace, race
from ..report import note
from . import inputs
from .case import Case
from .contenders import OURS, ROOF, contenders

WRONG = 0.02
"""What only a wrong result is off by, as a share of the largest element."""


@dataclass(frozen=True, slots=True)
class Row:
    """One contender on one case.

    *error* is the largest one against double precision, as a share of the largest
    element. *roof* is the share of the machine's limits that it reaches, and *ratio*
    the time of the fastest library over its own. Seconds are medians, with quartiles.
    """

    family: str
    case: str
    threads: int
    contender: str
    seconds: float
    seconds_low: float
    seconds_high: float
    error: float
    roof: float | None
    ratio: float | None


@dataclass(frozen=True, slots=True)
class Settings:
    """What applies to all cases of a run."""

    contenders: Sequence[str]
    pace: Pace
    budget: float


def measure(case: Case, threads: int, settings: Settings) -> list[Row]:
    """Tune, race, and say who is absent and why."""
    label = f"{case.name}, {threads_text(threads)}"
    if "tdsl" in settings.contenders and settings.budget > 0:
        kernel = f"{case.file}:{case.kernel}"
        tune(label, kernel, case.dims, threads, settings.budget)
    wanted = {ROOF, *settings.contenders}
    chosen = [each for each in contenders(case, threads) if each.name in wanted]
    outcome = race(chosen, threads, settings.pace, Exact(case))
    for name, reason in outcome.absent.items():
        note(f"{label}: {name}: {reason}")
    return rows_of(case, threads, outcome)


class Exact:
    """Measures how far results are from the statement in double precision."""

    def __init__(self, case: Case) -> None:
        module, kernel = case.peers(), case.kernel
        stated = getattr(module, kernel, None) or getattr(module, f"numpy_{kernel}")
        values = [_widened(value) for value in inputs.make(case.specs())]
        self._exact = stated(np, *values, *case.free_dims().values())

    def __call__(self, result: np.ndarray) -> float:
        """Return the largest error of *result*, as a share of the largest element."""
        if not result.size:
            return 0.0
        error = np.abs(result.astype(np.float64) - self._exact)
        share = float(np.max(error) / np.max(np.abs(self._exact)))
        if not share < WRONG:
            raise ContenderError(f"wrong: its result is off by {share:.1e}")
        return share


def _widened(value: Any) -> Any:
    """Return *value* in double precision, unless it holds whole numbers."""
    if np.ndim(value) and not np.issubdtype(value.dtype, np.integer):
        return value.astype(np.float64)
    return value


def rows_of(case: Case, threads: int, outcome: Outcome) -> list[Row]:
    """Turn the measurements of one case into rows."""
    measured = dict(outcome.measured)
    roof = measured.pop(ROOF, None)
    peers = [found for name, found in measured.items() if name not in OURS]
    best = min(peers, key=lambda found: found.seconds, default=None)
    return [
        _row(case, threads, name, found, roof, best) for name, found in measured.items()
    ]


def _row(
    case: Case,
    threads: int,
    name: str,
    found: Measurement,
    roof: Measurement | None,
    best: Measurement | None,
) -> Row:
    low, high = found.spread
    return Row(
        family=case.family,
        case=case.name,
        threads=threads,
        contender=name,
        seconds=found.seconds,
        seconds_low=low,
        seconds_high=high,
        error=found.error or 0.0,
        roof=found.speedup_over(roof) if roof else None,
        ratio=found.speedup_over(best) if best else None,
    )


def means(rows: Sequence[Row], contender: str) -> dict[str, tuple[float, Row]]:
    """Return *contender*'s geometric mean and its worst row, by family."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.contender == contender and row.ratio:
            found.setdefault(row.family, []).append(row)
    return {
        family: (
            geometric_mean(row.ratio or 0.0 for row in members),
            min(members, key=lambda row: row.ratio or 0.0),
        )
        for family, members in found.items()
    }


def threads_text(count: int) -> str:
    """Return *count* threads in words."""
    return f"{count} thread" if count == 1 else f"{count} threads"


def as_json(rows: Sequence[Row]) -> str:
    """Return *rows* as a JSON list, one row a line."""
    return "[\n" + ",\n".join(json.dumps(asdict(row)) for row in rows) + "\n]"


def table(rows: Sequence[Row]) -> str:
    """Return *rows* as text for people."""
    head = (
        f"{'case':<28} {'thr':>3}  {'contender':<14} {'ms':>9} {'quartiles':>19} "
        f"{'of roof':>7} {'ratio':>6}  error"
    )
    lines, previous = [head, "-" * len(head)], None
    for row in rows:
        if previous not in (None, (row.case, row.threads)):
            lines.append("")
        previous = (row.case, row.threads)
        spread = f"{row.seconds_low * 1e3:.3f}..{row.seconds_high * 1e3:.3f}"
        roof = "-" if row.roof is None else f"{row.roof:.0%}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append(
            f"{row.case:<28} {row.threads:>3}  {row.contender:<14} "
            f"{row.seconds * 1e3:>9.3f} {spread:>19} {roof:>7} {ratio:>6}  "
            f"{row.error:.1e}"
        )
    return "\n".join([*lines, "", *_summary(rows)])


def _summary(rows: Sequence[Row]) -> list[str]:
    """Return a line for each of our contenders and each family."""
    return [
        f"{contender:<14} {family:<12} geometric mean {mean:.2f}x the best library, "
        f"worst {worst.ratio:.2f}x ({worst.case}, {threads_text(worst.threads)})"
        for contender in OURS
        for family, (mean, worst) in means(rows, contender).items()
    ]
