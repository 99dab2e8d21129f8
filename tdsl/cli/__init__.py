"""The command `tdsl`: tune, show, check, doctor.

Human text goes to standard error or, where it is the result, to standard output; with
`--json` standard output holds exactly one JSON object. Each command's module is loaded
when it runs, so `tdsl --help` is immediate.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from traceback import format_exception_only

from ..errors import KernelSyntaxError, TdslError
from .arguments import make_parser
from .failures import UsageError

__all__ = ["main"]

OK, ERROR, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0 finished, 1 error or failed check, 2 usage, 4 nothing measured, 130 interrupted.
    """
    options = make_parser().parse_args(arguments)
    command = import_module(f".{options.command}", __name__)
    try:
        return int(command.run(options))
    except UsageError as error:
        return _fail(str(error), USAGE)
    except KernelSyntaxError as error:
        return _fail("".join(format_exception_only(error)).rstrip(), ERROR)
    except TdslError as error:
        notes = getattr(error, "__notes__", ())
        return _fail("\n".join([str(error), *notes]), ERROR)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone, say nothing more
        return ERROR
    except KeyboardInterrupt:
        return _fail("interrupted; the ledger keeps what was measured", INTERRUPTED)


def _fail(message: str, code: int) -> int:
    print(f"tdsl: {message}", file=sys.stderr)
    return code
