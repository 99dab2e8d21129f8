"""The program of a worker process: `python -m tdsl.tuner.worker`."""

from __future__ import annotations

from .engine import CpuEngine
from .serving import run_worker

if __name__ == "__main__":
    run_worker(CpuEngine)
