"""Mathematical functions of vectors."""

from __future__ import annotations

FUNCTIONS = {name: name for name in ("exp", "log", "sqrt", "tanh")}
