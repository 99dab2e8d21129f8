"""Run one command, and turn what goes wrong into a message and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from traceback import format_exception_only

from ..errors import KernelSyntaxError, TdslError
from .arguments import WrongArguments, make_parser
from .failures import ERROR, USAGE, UsageError, fail, print_error


def run(given: Sequence[str]) -> int:
    """Run the command line *given* and return the exit code."""
    try:
        options = make_parser().parse(given)
    except WrongArguments as error:
        if "--json" in given:
            print_error(error.reason, USAGE)
        raise
    as_json = getattr(options, "json", False)
    try:
        command = import_module(f".{options.command}", __package__)
        return int(command.run(options))
    except UsageError as error:
        return fail(str(error), USAGE, as_json)
    except KernelSyntaxError as error:
        text = "".join(format_exception_only(error)).rstrip()
        return fail(text, ERROR, as_json)
    except TdslError as error:
        notes = getattr(error, "__notes__", ())
        return fail("\n".join([str(error), *notes]), ERROR, as_json)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone, say nothing more
        return ERROR
