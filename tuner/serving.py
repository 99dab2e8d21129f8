"""What a worker process does: it compiles, checks and times candidates on request.

It reads one JSON request a line on standard input
and answers with one JSON line each on what was standard output; requests name files
with programs and arrays, so the user's script is never imported here. A line `{"beat":
phase}` goes out whenever a phase starts: the parent kills a worker that stays silent
for longer than the phase may take. A crash therefore costs one candidate.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol, TextIO

from .timing import Subject, TimingLimits, system_stopwatch, time_pair, time_rounds

Request = dict[str, Any]
Reply = dict[str, Any]
Sizes = list[int]


class Engine(Protocol):
    """What the worker needs to turn requests into programs that can run."""

    def prepare(self, request: Request) -> Reply:
        """Take the arrays, and what the outputs ought to be."""

    def load(self, name: str, request: Request) -> Reply:
        """Compile a program (or find it in the disk cache) and keep it as *name*."""

    def check(self, name: str, sizes: Sizes) -> Reply:
        """Run *name* on poisoned outputs and compare with what they ought to be."""

    def run(self, name: str, sizes: Sizes) -> Subject:
        """Return a call of *name* on arrays that nobody else uses."""

    def peak(self, request: Request) -> Reply:
        """Measure the machine's limits."""


def serve(engine: Engine, requests: TextIO, replies: TextIO) -> None:
    """Answer requests until the input ends, as it does when the parent dies."""

    def send(message: Reply) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    send({"ready": os.getpid()})
    for line in requests:
        request = json.loads(line)
        try:
            reply = _answer(engine, request, lambda phase: send({"beat": phase}))
        except MemoryError as error:
            reply = {"cause": "out of memory", "detail": str(error)}
        except Exception as error:  # any failure of a candidate is a result
            reply = {"cause": _cause(error), "detail": _detail(error)}
        reply["resident"] = _resident()
        send(reply)


def _answer(engine: Engine, request: Request, beat: Callable[[str], None]) -> Reply:
    match request["do"]:
        case "prepare":
            beat("prepare")
            return engine.prepare(request)
        case "load":
            beat("compile")
            start = perf_counter()
            reply = engine.load(request["name"], request)
            return {"compile_seconds": perf_counter() - start, **reply}
        case "check":
            beat("check")
            return engine.check(request["name"], request["sizes"])
        case "peak":
            beat("peak")
            return engine.peak(request)
        case "pair":
            return _time_pair(engine, request, beat)
        case "rounds":
            return _time_rounds(engine, request, beat)
        case other:
            raise AssertionError(other)


def _time_pair(engine: Engine, request: Request, beat: Callable[[str], None]) -> Reply:
    rival, candidate = (
        engine.run(request[who]["name"], request[who]["sizes"])
        for who in ("rival", "candidate")
    )
    beat("time")
    with _QuietCollector():
        limits = TimingLimits(**request["limits"])
        timing = time_pair(rival, candidate, limits, system_stopwatch())
    return {
        "rival": timing.rival,
        "candidate": timing.candidate,
        "stopped": timing.stopped,
    }


def _time_rounds(
    engine: Engine, request: Request, beat: Callable[[str], None]
) -> Reply:
    runs = [engine.run(who["name"], who["sizes"]) for who in request["programs"]]
    beat("time")
    limits = TimingLimits(**request["limits"])
    with _QuietCollector():
        samples = time_rounds(runs, request["rounds"], limits, system_stopwatch())
    return {"samples": samples}


class _QuietCollector:
    """Keep Python's garbage collector out of the timed region.

    What survives is frozen, or each collection would walk all of the compiler again,
    which takes as long as timing a candidate.
    """

    def __enter__(self) -> None:
        gc.collect()
        gc.freeze()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.enable()


def _cause(error: Exception) -> str:
    return getattr(error, "cause", "") or type(error).__name__


def _detail(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({frame.name}, line {frame.lineno})" for frame in last)
    return f"{error}{where}"[:2000]


def _resident() -> int:
    """Return the resident memory in bytes (the peak, where /proc is missing)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def die_with_parent() -> None:
    """Ask Linux to end this process when its parent dies, even by SIGKILL."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)


def private_channel() -> TextIO:
    """Take standard output for replies; what others print goes to standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def run_worker(make_engine: Callable[[], Engine]) -> None:
    """Set this process up as a worker and serve until the parent is done."""
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    channel = private_channel()
    serve(make_engine(), sys.stdin, channel)
