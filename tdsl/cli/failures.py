"""What a command that does not finish says, and its exit codes."""

from __future__ import annotations

import json
import sys

from ..errors import TdslError

ERROR, USAGE, INTERRUPTED = 1, 2, 130


class UsageError(TdslError):
    """Report a command line that cannot be meant; the exit code is 2."""


def fail(message: str, code: int, as_json: bool) -> int:
    """Print *message*, also as JSON if so wanted; return the exit *code*."""
    print(f"tdsl: {message}", file=sys.stderr)
    if as_json:
        print_error(message, code)
    return code


def print_error(message: str, code: int) -> None:
    """Print *message* as the one JSON object of the output."""
    print(json.dumps({"error": message, "exit_code": code}))
