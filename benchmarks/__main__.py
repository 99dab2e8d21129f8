"""Every family of kernels against the libraries that people use for it.

    python -m benchmarks --suite cpu --threads 1,2 --json
    python -m benchmarks --suite cpu --cases softmax,matvec --peers numpy,torch
    python -m benchmarks --suite cpu --budget 60s --record rows.jsonl --html report.html

Each contender has a process of its own and all take turns; figures are medians over
rounds. `tdsl` is tuned for each case and number of threads for `--budget` first, with
the ledger's help (0, the default: what was tuned before); `tdsl-default` is the
default schedule. A ratio is the time of the fastest library over that of the contender.
`of roof` is the time that the case's work would take at the speeds measured for
multiply-adds and for memory over that of the contender. Libraries that are not
installed are named and left out.

Rows go to stdout at the end, everything else to stderr. With `--record FILE` they are
also kept there as they come, and a case that the file has under the same settings is
not measured again.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tdsl.cli.arguments import duration, whole

from .harness import Pace
from .options import add_budget, names_among
from .record import Record
from .report import machine, note
from .suite.case import Case
from .suite.cases import cpu_cases
from .suite.contenders import OURS, PEERS
from .suite.document import document
from .suite.measure import Row, Settings, as_json, measure, table, threads_text
from .suite.page import page


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    made = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.add_argument("--suite", choices=("cpu",), required=True)
    made.add_argument(
        "--threads", type=counts, default=[1, 2], metavar="N,N", help="(default: 1,2)"
    )
    made.add_argument(
        "--peers",
        type=names_among(list(PEERS)),
        default=list(PEERS),
        metavar="A,B",
        help=f"libraries, among {', '.join(PEERS)} (default: all)",
    )
    made.add_argument(
        "--cases",
        default="",
        metavar="A,B",
        help="only cases whose family or name starts so (default: all)",
    )
    made.add_argument(
        "--small", action="store_true", help="tiny sizes, to see that all cases run"
    )
    made.add_argument("--list", action="store_true", help="print the cases and end")
    add_budget(made, "case", 0)
    made.add_argument("--rounds", type=whole(1), default=9, metavar="N")
    made.add_argument(
        "--seconds",
        type=duration,
        default=0.1,
        metavar="TIME",
        help="how long a contender runs in a round (default: 0.1s)",
    )
    made.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="keep rows here as they come, and take those that are here already",
    )
    made.add_argument("--json", action="store_true", help="print rows as JSON")
    made.add_argument("--html", type=Path, metavar="FILE", help="write a report")
    made.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the documentation's page"
    )
    return made


def counts(text: str) -> list[int]:
    """Read numbers of threads separated by commas."""
    return [whole(1)(part) for part in text.split(",")]


def chosen_cases(options: argparse.Namespace) -> list[Case]:
    """Return the cases that the options name; none if a name fits nothing."""
    cases, names = cpu_cases(), tuple(options.cases.split(","))
    found = [c for c in cases if c.family in names or c.name.startswith(names)]
    return [case.small for case in found] if options.small else found


def measured_or_kept(
    case: Case, threads: int, settings: Settings, record: Record
) -> list[Row]:
    """Return the rows of one case: from *record*, or else measured and kept there."""
    key: dict[str, Any] = {
        "case": case.name,
        "threads": threads,
        "contenders": list(settings.contenders),
        "rounds": settings.pace.rounds,
        "budget": settings.budget,
    }
    kept = record.find(key)
    if kept is not None:
        note(f"{case.name}, {threads_text(threads)}: measured before")
        return [Row(**row) for row in kept]
    rows = measure(case, threads, settings)
    note(table(rows))
    if any(row.contender in OURS for row in rows):
        record.append(key, [asdict(row) for row in rows])
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite; return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    made = parser()
    options = made.parse_args(arguments)
    cases = chosen_cases(options)
    if not cases:
        made.error(f"no case starts with {options.cases}; --list prints all")
    if options.list:
        print(*(case.name for case in cases), sep="\n")
        return 0
    settings = Settings(
        [*OURS, *options.peers], Pace(options.rounds, options.seconds), options.budget
    )
    record = Record(options.record)
    rows = [
        row
        for case in cases
        for threads in options.threads
        for row in measured_or_kept(case, threads, settings, record)
    ]
    note(f"{machine()}; {options.rounds} rounds of {options.seconds:g} s")
    print(as_json(rows) if options.json else table(rows))
    if options.html:
        options.html.write_text(page(rows), encoding="utf-8")
    if options.markdown:
        command = f"python -m benchmarks {shlex.join(arguments)}"
        options.markdown.write_text(document(rows, command), encoding="utf-8")
    missing = {case.name for case in cases} - {
        r.case for r in rows if r.contender in OURS
    }
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
