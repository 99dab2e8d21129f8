"""The 30 kernels of PolyBench/C as tdsl kernels, in plain loops.

Each module holds one of them, written from its mathematical definition:

    kernel                 the tdsl kernel
    SIZES                  dims by preset: mini, small, medium, large as published,
                           primes for checks, bench for `benchmarks.polybench`
    initialize(dims)       its arguments by name, in the style of the benchmark's data
    reference(...)         the same mathematics in NumPy, as results by name
    tolerance(dims)        for dims where the derived error bound says nothing: the
                           largest error to allow, as a share of the largest element;
                           or one TOLERANCE for all of them

A module stands for itself, so it is also a file for `tdsl tune`:

    tdsl tune examples/polybench/gemm.py:kernel NI=1000 NJ=1100 NK=1200
    python -m examples.polybench --check
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tdsl import Kernel

CATEGORIES = {
    "products": (
        *("gemm", "gemver", "gesummv", "symm", "syr2k", "syrk", "trmm"),
        *("2mm", "3mm", "atax", "bicg", "doitgen", "mvt"),
    ),
    "solvers": ("cholesky", "durbin", "gramschmidt", "lu", "ludcmp", "trisolv"),
    "statistics": ("correlation", "covariance"),
    "medley": ("deriche", "floyd-warshall", "nussinov"),
    "stencils": (
        *("adi", "fdtd-2d", "heat-3d", "jacobi-1d", "jacobi-2d", "seidel-2d"),
    ),
}
NAMES = tuple(name for names in CATEGORIES.values() for name in names)
_MODULES = {"2mm": "two_mm", "3mm": "three_mm"}


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One kernel of the suite, with its data and what it ought to give."""

    name: str
    summary: str
    file: Path
    kernel: Kernel
    sizes: Mapping[str, dict[str, int]]
    initialize: Callable[[dict[str, int]], dict[str, Any]]
    reference: Callable[..., dict[str, np.ndarray]]
    tolerance: Callable[[dict[str, int]], float] | None

    def run(self, arguments: dict[str, Any], dims: dict[str, int]) -> dict[str, Any]:
        """Call the kernel; return what it wrote, by name. *arguments* may change."""
        results = self.results(dims)
        self.call(arguments, dims, results)
        return {name: arguments[name] for name in self.updated} | results

    def call(
        self,
        arguments: dict[str, Any],
        dims: dict[str, int],
        results: dict[str, np.ndarray],
    ) -> None:
        """Call the kernel as a user does, into *results*."""
        every = arguments | {name: dims[name] for name in self.free_dims}
        if not results:
            self.kernel(**every)
        elif len(results) == 1:
            self.kernel(**every, out=next(iter(results.values())))
        else:
            self.kernel(**every, out=tuple(results.values()))

    def results(self, dims: dict[str, int]) -> dict[str, np.ndarray]:
        """Return empty arrays for what the kernel returns, by name."""
        return {
            param.tensor.name: np.empty(
                [extent.evaluate(dims) for extent in param.tensor.shape],
                param.tensor.dtype.numpy,
            )
            for param in self.kernel.function.params
            if param.returned
        }

    def expect(self, arguments: dict[str, Any], dims: dict[str, int]) -> dict[str, Any]:
        """Return what NumPy makes of *arguments*, which stay as they are."""
        given = dims | arguments
        names = inspect.signature(self.reference).parameters
        return self.reference(**{name: given[name] for name in names})

    @property
    def updated(self) -> tuple[str, ...]:
        """The parameters that the kernel changes."""
        params = self.kernel.function.params
        roles = {p.tensor.name: p.role.value for p in params if not p.returned}
        return tuple(name for name, role in roles.items() if role != "input")

    @property
    def free_dims(self) -> tuple[str, ...]:
        """The dims that no argument's shape gives, which a call must name."""
        given = {
            name
            for param in self.kernel.function.params
            if not param.returned
            for form in param.tensor.shape
            for name in form.names()
        }
        return tuple(d.name for d in self.kernel.function.dims if d.name not in given)

    @property
    def module(self) -> str:
        """The name of the module, and of the same loops elsewhere."""
        return self.file.stem

    @property
    def precision(self) -> int:
        """The bytes of an element of the results."""
        params = self.kernel.function.params
        return min(p.tensor.dtype.bits // 8 for p in params if p.role.value != "input")


def load(name: str) -> Benchmark:
    """Return the benchmark called *name*, as in `NAMES`."""
    module = import_module(f".{_MODULES.get(name, name.replace('-', '_'))}", __name__)
    assert module.__file__
    return Benchmark(
        name,
        (module.__doc__ or "").splitlines()[0],
        Path(module.__file__),
        module.kernel,
        module.SIZES,
        module.initialize,
        module.reference,
        _tolerance(module),
    )


def _tolerance(module: ModuleType) -> Callable[[dict[str, int]], float] | None:
    if (constant := getattr(module, "TOLERANCE", None)) is not None:
        return lambda dims: float(constant)
    return getattr(module, "tolerance", None)
