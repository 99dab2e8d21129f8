"""Rows and tables out of a race."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .harness import Measurement, Outcome

PEAK = "peak"  # the contender that measures the machine's FMA peak
PEAK_ROW = "fma-peak"
BASELINE = "numpy"


@dataclass(frozen=True, slots=True)
class Row:
    """A contender's figures on one problem; *error* is in units the suite states."""

    size: int | str
    threads: int
    contender: str
    seconds: float
    seconds_low: float
    seconds_high: float
    gflops: float
    share_of_peak: float | None
    ratio_to_numpy: float | None
    error: float | None


def rows_of(
    size: int | str,
    flops: float,
    threads: int,
    outcome: Outcome,
    *,
    with_peak: bool = False,
) -> list[Row]:
    """Turn the measurements of one problem of *flops* operations into rows.

    The contender called `peak` must report the seconds of one operation; *with_peak*
    it has a row too, the time that the problem would take at the FMA peak.
    """
    peak = outcome.measured.get(PEAK)
    baseline = outcome.measured.get(BASELINE)
    rows = [
        _row(size, flops, threads, name, measured, peak, baseline)
        for name, measured in outcome.measured.items()
        if name != PEAK
    ]
    if with_peak and peak is not None:
        ideal = Measurement(tuple(flops * each for each in peak.rounds), None)
        rows.append(_row(size, flops, threads, PEAK_ROW, ideal, peak, baseline))
    return rows


def _row(
    size: int | str,
    flops: float,
    threads: int,
    name: str,
    measured: Measurement,
    peak: Measurement | None,
    baseline: Measurement | None,
) -> Row:
    low, high = measured.spread
    return Row(
        size=size,
        threads=threads,
        contender=name,
        seconds=measured.seconds,
        seconds_low=low,
        seconds_high=high,
        gflops=flops / measured.seconds / 1e9,
        share_of_peak=flops * measured.speedup_over(peak) if peak else None,
        ratio_to_numpy=measured.speedup_over(baseline) if baseline else None,
        error=measured.error,
    )


def table(rows: Sequence[Row], error_unit: str) -> str:
    """Return *rows* as text for people."""
    head = (
        f"{'size':>14} {'thr':>3}  {'contender':<14} {'ms':>9} {'quartiles':>19} "
        f"{'GFLOP/s':>8} {'of peak':>7} {'x numpy':>7}  error ({error_unit})"
    )
    lines = [head, "-" * len(head)]
    previous: int | str | None = None
    for row in rows:
        if previous is not None and previous != row.size:
            lines.append("")
        previous = row.size
        spread = f"{row.seconds_low * 1e3:.3f}..{row.seconds_high * 1e3:.3f}"
        lines.append(
            f"{row.size:>14} {row.threads:>3}  {row.contender:<14} "
            f"{row.seconds * 1e3:>9.3f} {spread:>19} {row.gflops:>8.1f} "
            f"{_percent(row.share_of_peak):>7} {_ratio(row.ratio_to_numpy):>7}  "
            f"{_error(row.error)}"
        )
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"


def _error(error: float | None) -> str:
    return "-" if error is None else f"{error:.2f}"


def as_json(rows: Sequence[Row]) -> str:
    """Return *rows* as a JSON list, one row a line."""
    return "[\n" + ",\n".join(json.dumps(asdict(row)) for row in rows) + "\n]"


def note(message: str) -> None:
    """Tell the person at the terminal; stdout stays for the results."""
    print(message, file=sys.stderr, flush=True)


def machine() -> str:
    """Return the processor's name and the Python version."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name}, Python {platform.python_version()}"
