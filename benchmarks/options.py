"""What the commands of this folder have in common: options in, rows out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from .report import Row, as_json, machine, note, table


def add_options(
    parser: argparse.ArgumentParser, contenders: Sequence[str]
) -> argparse.ArgumentParser:
    """Add the options that every race takes; *contenders* lists those it knows."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--threads", type=positive, default=1, metavar="N")
    parser.add_argument(
        "--contenders",
        type=names_among(contenders),
        default=list(contenders),
        metavar="A,B",
        help=f"which to run, among {', '.join(contenders)} (default: all)",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="time to tune one problem before it is measured; 0: do not (default: 120)",
    )
    parser.add_argument("--rounds", type=positive, default=15, metavar="N")
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.1,
        help="how long a contender runs in a round (default: 0.1)",
    )
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    return parser


def positive(text: str) -> int:
    """Read a positive whole number."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def names_among(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a reader of comma-separated names among *known*."""

    def read(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"{name!r} is not one of {', '.join(known)}"
                )
        return names

    return read


def finish(rows: Sequence[Row], options: argparse.Namespace, error_unit: str) -> int:
    """Print *rows* as the options say; return the exit code."""
    note(f"{machine()}; {options.rounds} rounds of {options.seconds:g} s")
    print(as_json(rows) if options.json else table(rows, error_unit))
    return 0 if rows else 1
