"""Try the error bounds: `python -m tests.bounds --trials 100000 --seed 0`.

`python -m tests.bounds --tightness` prints how much larger bounds are than errors, and
`--polybench small` does so for the kernels of PolyBench at that size.
"""

from __future__ import annotations

import argparse
import sys
import time

from .campaign import Report, run_campaign
from .polybench import tightness_of_polybench
from .tightness import tightness


def main() -> int:
    """Run a campaign and print what it found; exit with 1 on a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.bounds", description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tightness", action="store_true")
    parser.add_argument("--polybench", metavar="SIZE")
    options = parser.parse_args()
    if options.tightness or options.polybench:
        size = options.polybench
        for line in tightness_of_polybench(size) if size else tightness():
            print(line, flush=True)
        return 0
    started = time.perf_counter()
    report = run_campaign(options.trials, options.seed, _progress)
    print(f"\n{report}\n{time.perf_counter() - started:.0f} s")
    return 1 if report.violations else 0


def _progress(report: Report) -> None:
    text = f"\r{report.trials} trials, {len(report.violations)} violations "
    print(text, end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
