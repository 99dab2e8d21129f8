"""The threads that parallel loops run on."""

from __future__ import annotations

import os
import threading
from functools import cache

from numba.np.ufunc.parallel import _launch_threads

SPINS = 1000
"""Turns that a thread waits actively for the others at the end of a parallel loop.

GNU's OpenMP takes 300,000, milliseconds, which is the whole time slice of whoever
should run instead: on a machine with other work a loop of 0.05 ms then takes 8 ms
(measured on 2 cores at a load of 3). With 1000 it takes 0.05 ms, idle or not.
"""
_WAITING = "GOMP_SPINCOUNT"
_LAUNCHING = threading.Lock()


@cache
def start_threads() -> None:
    """Start the pool, waiting briefly unless the environment says how to wait."""
    said = _WAITING in os.environ or "OMP_WAIT_POLICY" in os.environ
    with _LAUNCHING:
        if said:
            _launch_threads()  # type: ignore[no-untyped-call]
            return
        # OpenMP reads its environment once, when its library is loaded: right now.
        os.environ[_WAITING] = str(SPINS)
        try:
            _launch_threads()  # type: ignore[no-untyped-call]
        finally:
            del os.environ[_WAITING]
