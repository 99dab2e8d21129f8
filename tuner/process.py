"""The parent's handle on a worker process: ask, wait with a limit, kill, restart."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

COMMAND = (sys.executable, "-P", "-m", "tdsl.tuner.worker")
STARTUP_SECONDS = 60.0
_POLL_SECONDS = 0.1
_MISLEADING = ("OPENBLAS_CORETYPE", "NVPL_BLAS_DEBUG_CPU_TYPE")


class WorkerLost(Exception):
    """A worker crashed or was killed for its silence; *cause* groups such failures."""

    def __init__(self, cause: str, detail: str) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause = cause
        self.detail = detail


class Interrupted(Exception):
    """The user asked to stop while a worker was at work."""


def pinned_environment(threads: int) -> dict[str, str]:
    """Return this process's environment with every thread pool set to *threads*.

    Variables that make a BLAS run code for another processor are dropped: they can
    halve NumPy's speed and flatter a comparison.
    """
    environment = dict(os.environ)
    for name in _MISLEADING:
        environment.pop(name, None)
    for name in ("NUMBA", "OMP", "OPENBLAS", "MKL", "VECLIB", "BLIS"):
        suffix = "MAXIMUM_THREADS" if name == "VECLIB" else "NUM_THREADS"
        environment[f"{name}_{suffix}"] = str(threads)
    return environment


@dataclass(slots=True)
class Worker:
    """One child process that answers requests in order.

    `start` does not wait: the process comes up while the parent goes on.

    *should_stop* is polled while waiting; when it says so, `Interrupted` is raised.
    What the process prints is kept in *folder*, while it runs.
    """

    environment: Mapping[str, str]
    command: Sequence[str] = COMMAND
    should_stop: Callable[[], bool] = lambda: False
    folder: Path | None = None
    _process: subprocess.Popen[bytes] | None = None
    _pending: bytes = b""
    _log: Path | None = None
    _greeted: bool = False

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process id, where there is a process."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process, ending an earlier one."""
        self.close()
        handle, name = tempfile.mkstemp(".log", "tdsl_worker_", self.folder)
        self._log = Path(name)
        self._pending, self._greeted = b"", False
        self._process = subprocess.Popen(
            list(self.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=handle,
            env=dict(self.environment),
            start_new_session=True,  # Ctrl-C is for the parent, which asks us to stop
        )
        os.close(handle)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one request; its reply is fetched by `receive`."""
        if not self.alive:
            raise WorkerLost("crash", self._last_words())
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._lost() from error

    def receive(self, limits: Mapping[str, float]) -> dict[str, Any]:
        """Return the reply to the oldest request.

        *limits* gives the seconds each phase may stay silent; the process is killed
        when it does so for longer. Raise WorkerLost then, and when it crashed.
        """
        if not self._greeted:
            self._receive({"": STARTUP_SECONDS})
            self._greeted = True
        return self._receive(limits)

    def ask(
        self, message: Mapping[str, Any], limits: Mapping[str, float]
    ) -> dict[str, Any]:
        """Send one request and return its reply."""
        self.send(message)
        return self.receive(limits)

    def close(self) -> None:
        """End the process and remove its log."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError, ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        if self._log is not None:
            self._log.unlink(missing_ok=True)
            self._log = None

    def _receive(self, limits: Mapping[str, float]) -> dict[str, Any]:
        phase = next(iter(limits))
        heard = monotonic()
        while True:
            line = self._line()
            if line is None:
                if self.should_stop():
                    self.close()
                    raise Interrupted
                if monotonic() - heard > limits[phase]:
                    detail = f"silent for {limits[phase]:.1f} s in phase {phase!r}"
                    self.close()
                    raise WorkerLost(f"time limit ({phase})", detail)
                continue
            reply: dict[str, Any] = json.loads(line)
            heard = monotonic()
            if "beat" not in reply:
                return reply
            phase = reply["beat"] if reply["beat"] in limits else phase

    def _line(self) -> bytes | None:
        """Return the next line, or None if there is none within the poll interval."""
        if b"\n" not in self._pending:
            assert self._process is not None and self._process.stdout is not None
            with selectors.DefaultSelector() as selector:
                selector.register(self._process.stdout, selectors.EVENT_READ)
                if not selector.select(_POLL_SECONDS):
                    return None
            chunk = os.read(self._process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise self._lost()
            self._pending += chunk
            if b"\n" not in self._pending:
                return None
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _lost(self) -> WorkerLost:
        """Describe the death of the process, and bury it."""
        assert self._process is not None
        code = self._process.wait()
        words = self._last_words()
        self.close()
        if code < 0:
            name = signal.Signals(-code).name
            return WorkerLost(f"crash ({name})", words)
        return WorkerLost(f"crash (exit code {code})", words)

    def _last_words(self) -> str:
        if self._log is None or not self._log.exists():
            return ""
        return self._log.read_text(encoding="utf-8", errors="replace")[-1500:].strip()
