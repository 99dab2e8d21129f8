"""What must be equal for a recorded time, or a recorded config, to still hold."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import backends
from ..plans import sources_stamp
from .records import digest
from .space import Param

_TOOLS = ("tdsl", "numba", "llvmlite", "numpy")


def tool_versions() -> dict[str, str]:
    """Return the versions of what generates and compiles code."""
    return {name: _version(name) for name in _TOOLS}


def space_version(params: Sequence[Param]) -> str:
    """Return the version of a search space: its parameters and what builds them.

    Recorded configs are taken at their word only while this stays the same.
    """
    shape = [[param.name, list(param.choices), param.scope] for param in params]
    return digest([shape, code_stamp()])


@cache
def code_stamp() -> str:
    """Return a hash of the code that schedules, proves and emits candidates.

    A change of the emitter changes times, and one of the prover what may run at all.
    """
    sources = hashlib.sha256(sources_stamp().encode())
    for folder in backends.__path__:
        for path in sorted(Path(folder).glob("*.py")):
            sources.update(path.read_bytes())
    return sources.hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
