"""The threads that parallel loops run on."""

from __future__ import annotations

import os
import threading
from functools import cache
from importlib import import_module

from numba.np.ufunc.parallel import _launch_threads, threading_layer

from ..errors import BackendError

SPINS = 1000
"""Turns that a thread waits actively for the others at the end of a parallel loop.

GNU's OpenMP takes 300,000, milliseconds, which is the whole time slice of whoever
should run instead: on a machine with other work a loop of 0.05 ms then takes 8 ms
(measured on 2 cores at a load of 3). With 1000 it takes 0.05 ms, idle or not.
"""
_WAITING = "GOMP_SPINCOUNT"
_LAUNCHING = threading.Lock()
_LOST = threading.Event()
"""Set in a process that is the fork of one with threads, which it does not have."""


def check_threads(name: str) -> None:
    """Refuse to run *name* on several threads where GNU's OpenMP would end the process.

    It cannot start threads again in a fork; that of other makers can.
    """
    if _LOST.is_set():
        raise BackendError(
            f"{name} cannot run in this process, a fork of one in which kernels ran on "
            'several threads: start processes by multiprocessing.get_context("spawn")'
        )


@cache
def start_threads() -> None:
    """Start the pool, waiting briefly unless the environment says how to wait."""
    _launch()
    if _vendor() == "GNU":
        os.register_at_fork(after_in_child=_LOST.set)


def _vendor() -> str | None:
    """Return who made the OpenMP that runs the threads, if it is OpenMP."""
    if threading_layer() != "omp":  # type: ignore[no-untyped-call]
        return None
    vendor: str = import_module("numba.np.ufunc.omppool").openmp_vendor
    return vendor


def _launch() -> None:
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
