"""Fuzz the proof: `python -m tests.fuzz --pairs 10000 --faults 1000 --seed 0`."""

from __future__ import annotations

import argparse
import sys
import time

from .campaign import Report, run_campaigns

_shown = [0]


def main() -> int:
    """Run a campaign and print what it found; exit with 1 on a disagreement."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs to compare")
    parser.add_argument("--faults", type=int, default=1_000, help="faults to plant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--compiled", type=int, default=0, help="pairs to compile")
    options = parser.parse_args()
    started = time.perf_counter()
    report = run_campaigns(
        options.pairs,
        options.faults,
        options.seed,
        options.processes,
        options.compiled,
        _progress,
    )
    print(report)
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if report.failures else 0


def _progress(report: Report) -> None:
    for failure in report.failures[_shown[0] :]:
        print(f"\n{failure}", file=sys.stderr)
    _shown[0] = len(report.failures)
    counts = f"{report.pairs} pairs, {report.faults} faults"
    print(f"\r{counts}, {len(report.failures)} findings", end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
