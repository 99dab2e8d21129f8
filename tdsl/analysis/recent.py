"""What was found out about the last few functions.

A tuner proves thousands of schedules of one function: what is to be known of that one
is computed once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from ..ir.nodes import Function

_T = TypeVar("_T")
_KEPT = 16


class Recent(Generic[_T]):
    """The results of a computation, for the functions last asked about."""

    def __init__(self, compute: Callable[[Function], _T]) -> None:
        """Keep what *compute* returns."""
        self._compute = compute
        self._known: OrderedDict[int, tuple[Function, _T]] = OrderedDict()

    def about(self, function: Function) -> _T:
        """Return the result for *function*, that very object."""
        key = id(function)
        if key in self._known:  # which keeps the function, so that no other has its id
            self._known.move_to_end(key)
            return self._known[key][1]
        result = self._compute(function)
        self._known[key] = function, result
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return result
