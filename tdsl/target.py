"""What code is made for: a machine as data.

`host()` describes this machine; presets name others. Nothing here imports Numba.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .errors import BackendError
from .ir.dtypes import DType

_KIB = 1024


@dataclass(frozen=True, slots=True)
class Target:
    """A CPU: its name and features for LLVM, its vectors, caches and cores.

    Cache sizes are in bytes, of one core for *l1* (data) and *l2*, of the whole for
    *l3*. *features* is empty for the host, whose own features then count.
    """

    name: str
    cpu: str
    features: tuple[str, ...]
    vector_bits: int
    vector_registers: int
    l1: int = 32 * _KIB
    l2: int = 512 * _KIB
    l3: int = 8192 * _KIB
    cores: int = 1

    def lanes(self, dtype: DType) -> int:
        """Return how many elements of *dtype* one vector register holds."""
        return self.vector_bits // (8 * dtype.bytes)

    def environment(self) -> Mapping[str, str]:
        """Return the environment in which a process compiles for this target.

        Numba reads these variables when it is imported, so they must be set before.
        """
        if not self.features:
            return {}
        return {
            "NUMBA_CPU_NAME": self.cpu,
            "NUMBA_CPU_FEATURES": ",".join(self.features),
        }


_X86_64 = "64bit cmov cx8 cx16 fxsr mmx sahf sse sse2 sse3 sse4.1 sse4.2 ssse3 xsave"
_AVX2 = f"{_X86_64} avx avx2 bmi bmi2 f16c fma lzcnt movbe popcnt"
_AVX512 = f"{_AVX2} avx512f avx512bw avx512cd avx512dq avx512vl"


def _enabled(features: str) -> tuple[str, ...]:
    return tuple(f"+{feature}" for feature in features.split())


AVX2 = Target("avx2", "haswell", _enabled(_AVX2), 256, 16)
AVX512 = Target("avx512", "skylake-avx512", _enabled(_AVX512), 512, 32, l2=1024 * _KIB)
NEON = Target(
    "neon",
    "cortex-a72",
    _enabled("neon fp-armv8"),
    vector_bits=128,
    vector_registers=32,
)
PRESETS = {target.name: target for target in (AVX2, AVX512, NEON)}
HOST = "cpu"
"""What the command line, results and messages call this machine."""


def target_named(name: str) -> Target:
    """Return the preset *name*, or this machine for `cpu`."""
    if name == HOST:
        return host()
    if name not in PRESETS:
        known = ", ".join([HOST, *sorted(PRESETS)])
        raise BackendError(f"unknown target {name!r}: choose one of {known}")
    return PRESETS[name]


@cache
def host() -> Target:
    """Return the description of this machine."""
    from llvmlite import binding

    features = {key for key, on in binding.get_host_cpu_features().items() if on}
    bits, registers = _vectors(features)
    l1, l2, l3 = _caches()
    return Target(
        name=HOST,
        cpu=binding.get_host_cpu_name(),
        features=(),
        vector_bits=bits,
        vector_registers=registers,
        l1=l1,
        l2=l2,
        l3=l3,
        cores=available_cores(),
    )


def available_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _vectors(features: set[str]) -> tuple[int, int]:
    """Return vector width in bits and number of vector registers."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return 128, 32
    if "avx512f" in features and "avx512vl" in features:
        return 512, 32
    if "avx" in features:
        return 256, 16
    return 128, 16


def _caches() -> tuple[int, int, int]:
    """Return the sizes of the caches, with common values where they are unknown."""
    sizes = {1: 32 * _KIB, 2: 512 * _KIB, 3: 8192 * _KIB}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind = (folder / "type").read_text().strip()
            level = int((folder / "level").read_text())
            size = _size((folder / "size").read_text().strip())
        except (OSError, ValueError):
            continue
        if kind != "Instruction" and level in sizes and size > 0:
            sizes[level] = size
    return sizes[1], sizes[2], sizes[3]


def _size(text: str) -> int:
    units = {"K": _KIB, "M": _KIB * _KIB}
    unit = units.get(text[-1:], 1)
    return int(text.rstrip("KM")) * unit
