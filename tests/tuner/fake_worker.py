"""A worker whose candidates sleep, crash, hang or leak, by name.

For whole jobs the environment variable TDSL_FAKE gives all candidates a fate: broken,
wrong, crash, hang, leak. Times then come from the sizes, and nothing is compiled.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tdsl.tuner.serving import Reply, Request, Sizes, run_worker
from tdsl.tuner.timing import Subject

FATE = os.environ.get("TDSL_FAKE", "")


class WrongResult(Exception):
    cause = "wrong result"


def seen_before() -> bool:
    """Return whether another process already asked."""
    path = Path(os.environ["TDSL_FAKE_SEEN"])
    if path.exists():
        return True
    path.touch()
    return False


class FakeEngine:
    """Candidates are called ok, crash, exit, hang, leak, print, broken or wrong."""

    def __init__(self) -> None:
        self.hoard: list[bytearray] = []
        self.loaded: set[str] = set()

    def prepare(self, request: Request) -> Reply:
        return {"threads": os.environ["NUMBA_NUM_THREADS"]}

    def load(self, name: str, request: Request) -> Reply:
        fate = FATE or name
        if fate == "hang":
            time.sleep(60)
        if fate == "broken":
            raise ValueError("no such instruction")
        if fate == "leak":
            self.hoard.append(bytearray(b"x" * 100_000_000))
        self.loaded.add(name)
        return {}

    def check(self, name: str, sizes: Sizes) -> Reply:
        fate = FATE or name
        if fate == "crash" or (fate == "second-check" and seen_before()):
            os.kill(os.getpid(), signal.SIGSEGV)
        if fate == "exit":
            sys.stderr.write("the end\n")
            sys.stderr.flush()
            os._exit(3)
        if fate == "print":
            print("noise on standard output", flush=True)
        if fate == "wrong":
            raise WrongResult("C[0, 1] is 2, expected 3")
        return {"max_error_over_bound": 0.5}

    def run(self, name: str, sizes: Sizes) -> Subject:
        if name not in self.loaded:
            raise KeyError(name)
        if name == "broken-timed":
            raise ValueError("no such array")
        if name == "crash-timed":
            return Subject(lambda: os.kill(os.getpid(), signal.SIGSEGV))
        seconds = 0.0002 * (1 + len(name) % 3) if FATE else 0.0005
        seconds = 0.06 if name == "slow" else seconds
        return Subject(lambda: time.sleep(seconds))

    def peak(self, request: Request) -> Reply:
        return {"gflops": 100.0, "gigabytes": 10.0, "reliable": True}


if __name__ == "__main__":
    run_worker(FakeEngine)
