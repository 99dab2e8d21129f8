"""A contender in a process of its own: it prepares once and runs when told.

    python -m benchmarks.worker MODULE:FACTORY '{"json": "arguments"}'

The factory returns a `Workload`. One JSON object a line goes each way:

    {"do": "save", "path": P}       the result as .npy           -> {}
    {"do": "round", "seconds": S}   time calls for about S       -> {"seconds": [...]}

The first line, `{"ready": true}` or `{"error": ...}`, comes by itself.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any, TextIO

import numpy as np

from tdsl.tuner.serving import die_with_parent, private_channel

WARM_UP_SECONDS = 0.01
SHORTEST_SAMPLE = 50e-6  # shorter calls are timed in groups
FEWEST_SAMPLES, MOST_SAMPLES = 3, 1000


@dataclass(frozen=True, slots=True)
class Workload:
    """What a contender does: *run* is timed, *result* says what it computed.

    A workload that times itself gives *measure*, which returns seconds, instead.
    """

    run: Callable[[], object]
    result: Callable[[], np.ndarray]
    measure: Callable[[], float] | None = None


def time_round(workload: Workload, seconds: float) -> list[float]:
    """Warm up, then return the seconds a call of several samples."""
    if workload.measure:
        return _measured(workload.measure, seconds)
    call = _warm_up(workload.run)
    group = max(1, round(SHORTEST_SAMPLE / call))
    samples = round(seconds / (call * group))
    samples = min(max(samples, FEWEST_SAMPLES), MOST_SAMPLES)
    return [_time_group(workload.run, group) for _ in range(samples)]


def _measured(measure: Callable[[], float], seconds: float) -> list[float]:
    """Return what a workload measures itself, again until *seconds* are over."""
    end = perf_counter() + seconds
    samples = [measure()]
    while perf_counter() < end:
        samples.append(measure())
    return samples


def _warm_up(run: Callable[[], object]) -> float:
    """Run for a moment: the caches fill, threads wake, the clock rises."""
    calls: list[float] = []
    start = perf_counter()
    while not calls or perf_counter() - start < WARM_UP_SECONDS:
        calls.append(_time_group(run, 1))
    return max(median(calls), 1e-9)


def _time_group(run: Callable[[], object], group: int) -> float:
    start = perf_counter()
    for _ in range(group):
        run()
    return (perf_counter() - start) / group


def load_factory(name: str) -> Callable[[dict[str, Any]], Workload]:
    """Import `module:function`."""
    module, _, function = name.partition(":")
    factory: Callable[[dict[str, Any]], Workload]
    factory = getattr(importlib.import_module(module), function)
    return factory


def serve(workload: Workload, replies: TextIO) -> None:
    """Answer requests until stdin ends."""
    for line in sys.stdin:
        request = json.loads(line)
        match request["do"]:
            case "save":
                np.save(request["path"], workload.result())
                reply: dict[str, Any] = {}
            case "round":
                reply = {"seconds": time_round(workload, request["seconds"])}
            case other:
                reply = {"error": f"unknown request {other!r}"}
        print(json.dumps(reply), file=replies, flush=True)


def main() -> None:
    """Build the workload named on the command line and serve it."""
    die_with_parent()
    replies = private_channel()
    factory, arguments = sys.argv[1], json.loads(sys.argv[2])
    try:
        workload = load_factory(factory)(arguments)
        workload.run()
        print(json.dumps({"ready": True}), file=replies, flush=True)
        serve(workload, replies)
    except Exception as error:
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        print(json.dumps({"error": message}), file=replies, flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
