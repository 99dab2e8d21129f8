"""List the kernels, or check them against NumPy.

python -m examples.polybench --list
python -m examples.polybench --check [NAMES]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import CATEGORIES, NAMES, load
from .check import HEAD, PRESETS, check


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the options say; return the exit code."""
    parser = argparse.ArgumentParser(
        "python -m examples.polybench", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="print names and summaries")
    what.add_argument("--check", action="store_true", help="compare with NumPy")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="kernels (default: all)"
    )
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=PRESETS,
        metavar="PRESET",
        help=f"presets to check (default: {' '.join(PRESETS)})",
    )
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in NAMES:
            parser.error(f"{name!r} is not one of {', '.join(NAMES)}")
    chosen = options.names or NAMES
    if options.list:
        return print_list(chosen)
    return print_check(chosen, options.sizes)


def print_list(names: Sequence[str]) -> int:
    """Print each kernel's name, group and summary."""
    for category, members in CATEGORIES.items():
        for name in (each for each in members if each in names):
            summary = load(name).summary
            print(f"{category:<11} {summary}")
    return 0


def print_check(names: Sequence[str], presets: Sequence[str]) -> int:
    """Print a row for each kernel and size; return 1 if any is wrong."""
    print(HEAD)
    wrong = 0
    total = 0
    for finding in check(names, presets):
        print(finding, flush=True)
        total += 1
        wrong += not finding.passed
    print(f"{total - wrong} of {total} agree with NumPy")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
