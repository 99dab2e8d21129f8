"""What the commands of this folder have in common: options in, rows out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from tdsl.cli.arguments import duration, whole

from .report import Row, as_json, machine, note, table


def add_options(
    parser: argparse.ArgumentParser, contenders: Sequence[str]
) -> argparse.ArgumentParser:
    """Add the options that every race takes; *contenders* lists those it knows."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--threads", type=whole(1), default=1, metavar="N")
    parser.add_argument(
        "--contenders",
        type=names_among(contenders),
        default=list(contenders),
        metavar="A,B",
        help=f"which to run, among {', '.join(contenders)} (default: all)",
    )
    add_budget(parser, "problem", 120)
    parser.add_argument("--rounds", type=whole(1), default=15, metavar="N")
    parser.add_argument(
        "--seconds",
        type=duration,
        default=0.1,
        metavar="TIME",
        help="how long a contender runs in a round (default: 0.1s)",
    )
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    return parser


def add_budget(parser: argparse.ArgumentParser, what: str, default: int) -> None:
    """Add `--budget`, which reads times as `tdsl tune` does, and 0 besides."""
    parser.add_argument(
        "--budget",
        type=duration,
        default=float(default),
        metavar="TIME",
        help=f"time to tune one {what} before it is measured, as in 45s or 2m; "
        f"0: do not (default: {default}s)",
    )


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
