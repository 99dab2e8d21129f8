"""The tuner: search spaces, measurement in child processes, the ledger, the search.

`from tdsl.tuner import tune` is the way in. Names load on first use, so that a worker
process does not load the search.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .job import tune
    from .results import TuningResult

__all__ = ["TuningResult", "tune"]

_HOMES = {"TuningResult": ".results", "tune": ".job"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
