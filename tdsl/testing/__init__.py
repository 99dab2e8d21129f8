"""Property tests of kernels and schedules; names are loaded when they are first used.

`check` and what it needs come without further packages. The Hypothesis strategies
`arrays`, `cases`, `dims`, `inputs` and `schedules` need Hypothesis.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .marking import checked

if TYPE_CHECKING:
    from .case import Case, draw_case
    from .checking import Report, check, check_schedule
    from .failures import FailedCheck, Failure
    from .running import assert_within_bound, run_case
    from .strategies import arrays, cases, dims, inputs, schedules

_MODULES = {
    "Case": "case",
    "FailedCheck": "failures",
    "Failure": "failures",
    "Report": "checking",
    "arrays": "strategies",
    "assert_within_bound": "running",
    "cases": "strategies",
    "check": "checking",
    "check_schedule": "checking",
    "dims": "strategies",
    "draw_case": "case",
    "inputs": "strategies",
    "run_case": "running",
    "schedules": "strategies",
}

__all__ = [
    "Case",
    "FailedCheck",
    "Failure",
    "Report",
    "arrays",
    "assert_within_bound",
    "cases",
    "check",
    "check_schedule",
    "checked",
    "dims",
    "draw_case",
    "inputs",
    "run_case",
    "schedules",
]


def __getattr__(name: str) -> Any:
    """Load the module of a public name at its first use."""
    if name not in _MODULES:
        raise AttributeError(f"module 'tdsl.testing' has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
