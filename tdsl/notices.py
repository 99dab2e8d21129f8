"""Warnings that stand at the user's line, however deep they arise."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_OURS = frozenset({"tdsl", "numba", "functools", "contextlib"})
_GENERATED = "<tdsl "


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn of *message* at the innermost line that is neither tdsl's nor Numba's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__", "<string>"),
        names.setdefault("__warningregistry__", {}),
    )


def _is_ours(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package in _OURS or frame.f_code.co_filename.startswith(_GENERATED)
