"""The command `tdsl`: tune, show, check, reduce, doctor.

Human text goes to standard error or, where it is the result, to standard output; with
`--json` standard output holds exactly one JSON object. Each command's module is loaded
when it runs, so `tdsl --help` is immediate.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from traceback import format_exception_only

from ..errors import KernelSyntaxError, TdslError
from .arguments import WrongArguments, make_parser
from .failures import UsageError

__all__ = ["main"]

OK, ERROR, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0 finished, 1 error or failed check, 2 usage, 4 nothing measured, 130 interrupted.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options = make_parser().parse(given)
    except WrongArguments as error:
        if "--json" in given:
            _print_error(error.reason, USAGE)
        raise
    as_json = getattr(options, "json", False)
    try:
        command = import_module(f".{options.command}", __name__)
        return int(command.run(options))
    except UsageError as error:
        return _fail(str(error), USAGE, as_json)
    except KernelSyntaxError as error:
        text = "".join(format_exception_only(error)).rstrip()
        return _fail(text, ERROR, as_json)
    except TdslError as error:
        notes = getattr(error, "__notes__", ())
        return _fail("\n".join([str(error), *notes]), ERROR, as_json)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone, say nothing more
        return ERROR
    except KeyboardInterrupt:
        text = "interrupted; the ledger keeps what was measured"
        return _fail(text, INTERRUPTED, as_json)


def _fail(message: str, code: int, as_json: bool) -> int:
    print(f"tdsl: {message}", file=sys.stderr)
    if as_json:
        _print_error(message, code)
    return code


def _print_error(message: str, code: int) -> None:
    print(json.dumps({"error": message, "exit_code": code}))
