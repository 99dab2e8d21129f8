"""Mistakes in a command line."""

from __future__ import annotations

from ..errors import TdslError


class UsageError(TdslError):
    """Report a command line that cannot be meant; the exit code is 2."""
