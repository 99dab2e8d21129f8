"""What must be equal for a recorded time, or a recorded config, to still hold."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import schedules
from .records import digest
from .space import Param

_TOOLS = ("tdsl", "numba", "llvmlite", "numpy")


def tool_versions() -> dict[str, str]:
    """Return the versions of what generates and compiles code."""
    return {name: _version(name) for name in _TOOLS}


def space_version(params: Sequence[Param]) -> str:
    """Return the version of a search space: its parameters and what builds them.

    Recorded configs are taken at their word only while this stays the same; programs
    are recognised by their text whatever happens to the space.
    """
    sources = hashlib.sha256()
    assert schedules.__file__ is not None
    for path in sorted(Path(schedules.__file__).parent.glob("*.py")):
        sources.update(path.read_bytes())
    shape = [[param.name, list(param.choices), param.scope] for param in params]
    return digest([shape, sources.hexdigest()])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
