"""Runs in a child process, so that machine code that crashes takes nothing with it.

The child is a fork: it has the kernel, which need not be written down for it, and keeps
what it has compiled from run to run. A crash costs the child; the next run starts
another. The parent runs no machine code while it lasts: what threads would be left
over from that is lost in a fork.
"""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import pickle
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any


class CrashError(Exception):
    """The process that ran a kernel was killed by a signal, or ended itself."""


class Child:
    """A process that calls *function* on what it is sent, one after the other."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._process: BaseProcess | None = None
        self._ours: Connection | None = None

    def call(self, *arguments: Any) -> Any:
        """Return `function(*arguments)`, or raise what it raises, or `CrashError`."""
        if self._process is None:
            self._start()
        assert self._process is not None and self._ours is not None
        try:
            self._ours.send(arguments)
            failed, outcome = self._ours.recv()
        except (EOFError, OSError):
            raise CrashError(self._end()) from None
        if failed:
            raise outcome
        return outcome

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(self._function, theirs, self._ours), daemon=True
        )
        with warnings.catch_warnings():  # of Python 3.12, about threads in the parent
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        theirs.close()

    def _end(self) -> str:
        """Wait for the process to end; return how it did."""
        assert self._process is not None and self._ours is not None
        self._process.join()
        code = self._process.exitcode or 0
        self._ours.close()
        self._process = self._ours = None
        if code < 0:
            return f"killed by {signal.Signals(-code).name} while its code ran"
        return f"ended with exit code {code} while its code ran"


@contextmanager
def child(function: Callable[..., Any]) -> Iterator[Child | None]:
    """Lend a child process that calls *function*; None where no process can fork."""
    if "fork" not in multiprocessing.get_all_start_methods():
        yield None
        return
    made = Child(function)
    try:
        yield made
    finally:
        made.close()


def _serve(
    function: Callable[..., Any], connection: Connection, unused: Connection
) -> None:
    unused.close()
    faulthandler.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError):
        while True:
            connection.send_bytes(_answer(function, connection.recv()))


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    try:
        outcome = False, function(*arguments)
    except Exception as error:
        outcome = True, error
    try:
        found = pickle.dumps(outcome)
        pickle.loads(found)
    except Exception:
        unsent = outcome[1]
        unknown = CrashError(f"{type(unsent).__name__}: {unsent}")
        found = pickle.dumps((True, unknown))
    return found
