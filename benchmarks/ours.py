"""What tdsl does in its processes, and the measurement of the machine's peak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tdsl.backends.peak import measure_peak
from tdsl.kernel import Kernel
from tdsl.target import host
from tdsl.tuner.scripts import load_script

from .arrays import normal_arrays
from .harness import REPOSITORY
from .worker import Workload


def load_kernel(place: str) -> Kernel:
    """Return the kernel at `FILE.py:NAME`, a path from the repository's root."""
    file, _, name = place.partition(":")
    kernel = getattr(load_script(Path(REPOSITORY, file)), name)
    assert isinstance(kernel, Kernel)
    return kernel


def tdsl_workload(arguments: dict[str, Any]) -> Workload:
    """Call the kernel as a user does, into an existing array."""
    kernel = load_kernel(arguments["kernel"])
    inputs = normal_arrays(arguments["shapes"])
    output = kernel(*inputs)
    return Workload(lambda: kernel(*inputs, out=output), lambda: output)


def peak_workload(arguments: dict[str, Any]) -> Workload:
    """Measure the FMA peak anew in each round."""

    def measure() -> float:
        peak = measure_peak(host(), threads=arguments["threads"], seconds=0.2)
        return 1.0 / (peak.f32_gflops * 1e9)

    return Workload(measure, lambda: np.zeros(0), measure)
