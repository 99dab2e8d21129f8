"""Fuzz the proof: `python -m tests.fuzz --pairs 10000 --faults 1000 --seed 0`."""

from __future__ import annotations

import argparse
import sys
import time

from .campaign import Report, run_campaign


def main() -> int:
    """Run a campaign and print what it found; exit with 1 on a disagreement."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs to compare")
    parser.add_argument("--faults", type=int, default=1_000, help="faults to plant")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.perf_counter()
    report = run_campaign(options.pairs, options.faults, options.seed, _progress)
    print(report)
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if report.failures else 0


def _progress(report: Report) -> None:
    print(f"\r{report.pairs} pairs, {report.faults} faults", end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
