"""What tdsl does in its processes, and the measurement of the machine's peak."""

from __future__ import annotations

from typing import Any

import numpy as np
from tdsl.backends.peak import measure_peak

from .arrays import normal_arrays
from .worker import Workload


def tdsl_workload(arguments: dict[str, Any]) -> Workload:
    """Call the kernel as a user does, into an existing array."""
    kernel = load_kernel(arguments["kernel"])
    inputs = normal_arrays(arguments["shapes"])
    output = kernel(*inputs)
    return Workload(lambda: kernel(*inputs, out=output), lambda: output)


def peak_workload(arguments: dict[str, Any]) -> Workload:
    """Measure the peak anew in each round."""
    threads = arguments["threads"]

    def measure_one() -> float:
        return 1.0 / (measure_peak(threads=threads) * 1e9)

    return Workload(measure_one, lambda: np.zeros(0), measure_one)
