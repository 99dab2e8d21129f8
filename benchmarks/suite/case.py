"""A case of the suite: a kernel, its sizes and its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tdsl import Kernel
from tdsl.ir.nodes import Role

from ..harness import REPOSITORY

SMALL = {"B": 3, "M": 13, "N": 37, "K": 19, "H": 5, "W": 7, "C": 11, "F": 17}
SMALL |= {"L": 21, "D": 8, "V": 50, "T": 2}
"""Sizes for checks, by the names of dims: small, odd and different."""


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel of `kernels/FAMILY.py` at one size.

    *inputs* names the kind of some arguments (`inputs.py`); the others are normal.
    """

    family: str
    kernel: str
    dims: Mapping[str, int]
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kernel and its sizes."""
        return f"{self.kernel}-{'x'.join(map(str, self.dims.values()))}"

    @property
    def small(self) -> Case:
        """The same case at sizes for a check."""
        return replace(self, dims={name: SMALL[name] for name in self.dims})

    @property
    def file(self) -> Path:
        """The file of the kernel, from the repository's root."""
        place = Path(__file__).with_name("kernels") / f"{self.family}.py"
        return place.relative_to(REPOSITORY)

    def load(self) -> Kernel:
        """Return the kernel."""
        module = import_module(f"{__package__}.kernels.{self.family}")
        kernel = getattr(module, self.kernel)
        assert isinstance(kernel, Kernel)
        return kernel

    def peers(self) -> ModuleType:
        """Return the module that states the same for other libraries."""
        return import_module(f"{__package__}.peers.{self.family}")

    def specs(self) -> list[list[Any]]:
        """Return what `inputs.make` needs for the arguments of a call."""
        return [
            [
                self.inputs.get(param.tensor.name, "normal").format(**self.dims),
                param.tensor.dtype.numpy.name,
                [size.evaluate(self.dims) for size in param.tensor.shape] or None,
            ]
            for param in self.load().function.params
            if param.role is not Role.OUTPUT
        ]

    def names(self) -> list[str]:
        """Return the names of the arguments that `specs` describes."""
        params = self.load().function.params
        return [p.tensor.name for p in params if p.role is not Role.OUTPUT]

    def free_dims(self) -> dict[str, int]:
        """Return the dims that no argument's shape gives."""
        function = self.load().function
        given = {
            name
            for param in function.params
            if param.role is not Role.OUTPUT
            for size in param.tensor.shape
            for name in size.names()
        }
        return {n: size for n, size in self.dims.items() if n not in given}
