"""Comments of generated code, which name lines of the user's files."""

from __future__ import annotations

import re
from pathlib import PurePath

from ..ir.nodes import Span

_PLACE = re.compile(r"  # .*:\d+$", re.MULTILINE)


def place_comment(span: Span) -> str:
    """Return the comment at the end of a line that was written for *span*."""
    return f"  # {PurePath(span.file).name}:{span.line}"


def without_places(text: str) -> str:
    """Return *text* without these comments: the same for a file that was moved."""
    return _PLACE.sub("", text)
