"""A worker whose candidates sleep, crash, hang or leak, by name."""

from __future__ import annotations

import os
import signal
import sys
import time

from tdsl.tuner.serving import Reply, Request, Sizes, run_worker
from tdsl.tuner.timing import Run


class FakeEngine:
    """Candidates are called ok, crash, exit, hang, leak, print or broken."""

    def __init__(self) -> None:
        self.hoard: list[bytearray] = []

    def prepare(self, request: Request) -> Reply:
        return {"threads": os.environ["NUMBA_NUM_THREADS"]}

    def load(self, name: str, request: Request) -> Reply:
        if name == "hang":
            time.sleep(60)
        if name == "broken":
            raise ValueError("no such instruction")
        if name == "leak":
            self.hoard.append(bytearray(b"x" * 100_000_000))
        return {}

    def check(self, name: str, sizes: Sizes) -> Reply:
        if name == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if name == "exit":
            sys.stderr.write("the end\n")
            sys.stderr.flush()
            os._exit(3)
        if name == "print":
            print("noise on standard output", flush=True)
        return {"max_error_over_bound": 0.5}

    def run(self, name: str, sizes: Sizes) -> Run:
        return lambda: time.sleep(0.0005)

    def peak(self, request: Request) -> Reply:
        return {"gflops": 100.0, "gigabytes": 10.0}


if __name__ == "__main__":
    run_worker(FakeEngine)
