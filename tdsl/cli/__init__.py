"""The command `tdsl`: tune, show, check, reduce, doctor.

Human text goes to standard error or, where it is the result, to standard output; with
`--json` standard output holds exactly one JSON object. Everything is loaded inside
`main`, so that Ctrl-C ends with the same line at any time, and each command's module
when it runs, so that `tdsl --help` is immediate.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from .failures import INTERRUPTED, fail

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0 finished, 1 error or failed check, 2 usage, 4 nothing measured, 130 interrupted.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return int(import_module(".commands", __name__).run(given))
    except KeyboardInterrupt:
        text = "interrupted; the ledger keeps what was measured"
        return fail(text, INTERRUPTED, "--json" in given)
