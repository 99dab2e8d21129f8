"""tdsl, and the limits of the machine, in the process of a contender."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from tdsl import Kernel
from tdsl.analysis.cost import arithmetic, cost
from tdsl.backends.peak import measure_peak, measure_traffic
from tdsl.ir.dtypes import f64
from tdsl.ir.nodes import Role
from tdsl.target import host

from ..limits import (
    LARGEST_ARRAY,
    SPEED_SECONDS,
    parameter_bytes,
    traffic_seconds,
)
from ..worker import Workload
from .case import Case
from .workloads import given


def tdsl_workload(arguments: dict[str, Any]) -> Workload:
    """Call the kernel as a user does, into existing arrays."""
    kernel, free = _case(arguments).load(), arguments["free"]
    values = given(arguments)[: len(arguments["specs"])]
    fresh = copy.deepcopy(values)
    outputs = kernel(*values, **free)
    if not any(param.returned for param in kernel.function.params):
        return Workload(
            lambda: kernel(*values, **free), lambda: _changed(kernel, fresh, free)
        )
    return Workload(lambda: kernel(*values, out=outputs, **free), lambda: outputs)


def _changed(kernel: Kernel, values: list[Any], free: dict[str, int]) -> np.ndarray:
    """Return the first argument that the kernel changes, after one call."""
    values = copy.deepcopy(values)
    kernel(*values, **free)
    params = [p for p in kernel.function.params if p.role is not Role.OUTPUT]
    roles = [param.role for param in params]
    changed: np.ndarray = values[roles.index(Role.INOUT)]
    return changed


def roof_workload(arguments: dict[str, Any]) -> Workload:
    """Take the time that the case's work would need at the speeds of the machine.

    That is the larger of two times: that of all operations, as multiply-adds, and that
    of reading each input and writing each result once, in arrays of that size.
    """
    case, threads = _case(arguments), arguments["threads"]
    function, dims = case.load().function, case.dims
    work, target = parameter_bytes(function, dims), host()
    operations = cost(function, dims).flops
    wide = f64 in arithmetic(function)
    size = min((work.loaded + work.stored) // 2, LARGEST_ARRAY)

    def measure() -> float:
        peak = measure_peak(target, threads=threads, seconds=SPEED_SECONDS)
        speeds = measure_traffic(
            target, size=size, threads=threads, seconds=SPEED_SECONDS
        )
        flops = peak.f64_gflops if wide else peak.f32_gflops
        return max(operations / flops / 1e9, traffic_seconds(work, *speeds))

    return Workload(measure, lambda: np.zeros(0), measure)


def _case(arguments: dict[str, Any]) -> Case:
    return Case(arguments["family"], arguments["kernel"], arguments["dims"])
