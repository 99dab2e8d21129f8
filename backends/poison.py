"""Runs on private, poisoned, guarded copies of the arguments.

One flat allocation holds all arrays with guard bands between them. Outputs start
with a poison pattern, and the run is repeated with another: an element that keeps
each run's own poison was not written, even where one poison is a legal value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ir.nodes import Function, Param, Role

ALIGNMENT = 64
GUARD_BYTES = 256
GUARD = 0xA5
POISONS = (0xCB, 0x3D)
"""Bytes whose repetitions are unlike numbers of every type: large, and fractions."""

BOOLEAN_POISONS = (0, 1)


@dataclass(frozen=True, slots=True)
class PoisonedRun:
    """The outputs of the first run, and what was wrong with either, in words."""

    outputs: dict[str, NDArray[Any]]
    faults: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was wrong."""
        return not self.faults


def poisoned_call(
    run: Callable[..., Any],
    function: Function,
    arrays: Mapping[str, Any],
    dims: Mapping[str, int],
) -> PoisonedRun:
    """Call `run(*arguments)` twice on poisoned copies and compare.

    The arguments are those of *function* in its order, returned ones included; scalar
    parameters are passed as NumPy scalars. *arrays* is not changed, and need not hold
    the outputs.
    """
    first, second = (_Arena(function, arrays, dims, number) for number in (0, 1))
    faults = _run(run, first) + _run(run, second)
    for name, array in first.outputs.items():
        other = second.outputs[name]
        unwritten = first.unwritten(name) & second.unwritten(name)
        faults += _places(name, unwritten, "not written")
        differ = _bytes_differ(array, other) & ~unwritten
        faults += _places(name, differ, "different in a second run")
    outputs = {name: array.copy() for name, array in first.outputs.items()}
    return PoisonedRun(outputs, tuple(dict.fromkeys(faults)))


def guarded_call(
    run: Callable[..., Any],
    function: Function,
    arrays: Mapping[str, Any],
    dims: Mapping[str, int],
) -> tuple[str, ...]:
    """Call `run(*arguments)` once, and return what it did to memory not its own.

    What it wrote to the outputs does not matter. For the rest see `poisoned_call`.
    """
    return tuple(_run(run, _Arena(function, arrays, dims, 0)))


def _run(run: Callable[..., Any], arena: _Arena) -> list[str]:
    run(*arena.arguments)
    return arena.faults()


class _Arena:
    """Copies of the arguments inside one allocation, poisoned by pattern *number*."""

    def __init__(
        self,
        function: Function,
        arrays: Mapping[str, Any],
        dims: Mapping[str, int],
        number: int,
    ) -> None:
        self.number = number
        shapes = {
            param.tensor.name: tuple(e.evaluate(dims) for e in param.tensor.shape)
            for param in function.params
        }
        places, size = _layout(function, shapes)
        self.buffer = np.full(size + ALIGNMENT, GUARD, np.uint8)
        self.origin = -self.buffer.ctypes.data % ALIGNMENT
        self.inputs: dict[str, NDArray[Any]] = {}
        self.outputs: dict[str, NDArray[Any]] = {}
        self.given: dict[str, NDArray[Any]] = {}
        self.guards = np.ones(self.buffer.shape, np.bool_)
        self.arguments: list[Any] = []
        for param in function.params:
            name = param.tensor.name
            self._place(param, shapes[name], places[name], arrays)

    def _place(
        self,
        param: Param,
        shape: tuple[int, ...],
        place: tuple[int, int],
        arrays: Mapping[str, Any],
    ) -> None:
        name, dtype = param.tensor.name, param.tensor.dtype.numpy
        if not param.tensor.shape and param.role is Role.INPUT:
            self.arguments.append(dtype.type(arrays[name]))
            return
        first = self.origin + place[0]
        window = slice(first, first + place[1])
        self.guards[window] = False
        array = self.buffer[window].view(dtype).reshape(shape)
        if param.role is Role.OUTPUT:
            self.buffer[window] = self.poison(dtype)
        else:
            array[...] = arrays[name]
        if param.role is Role.INPUT:
            self.inputs[name], self.given[name] = array, array.copy()
        else:
            self.outputs[name] = array
        if param.role is Role.INOUT:
            self.given[name] = array.copy()
        self.arguments.append(array)

    def poison(self, dtype: np.dtype[Any]) -> int:
        """Return the byte that fills an output of *dtype*."""
        patterns = BOOLEAN_POISONS if dtype == np.bool_ else POISONS
        return patterns[self.number]

    def unwritten(self, name: str) -> NDArray[np.bool_]:
        """Return where an output still holds the poison; nowhere for an INOUT."""
        array = self.outputs[name]
        if name in self.given:
            return np.zeros(array.shape, np.bool_)
        poison = np.full(array.shape, 0, array.dtype)
        poison.reshape(-1).view(np.uint8)[...] = self.poison(array.dtype)
        return ~_bytes_differ(array, poison)

    def faults(self) -> list[str]:
        """Return what a run did to memory that is not its own to write."""
        found: list[str] = []
        for name, array in self.inputs.items():
            found += _places(name, _bytes_differ(array, self.given[name]), "changed")
        hurt = np.flatnonzero(self.guards & (self.buffer != GUARD))
        if hurt.size:
            found.append(f"memory outside the arrays was written ({hurt.size} bytes)")
        return found


def _layout(
    function: Function, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[dict[str, tuple[int, int]], int]:
    """Return (first byte, size) of each array, and the size of all with guards."""
    places: dict[str, tuple[int, int]] = {}
    position = GUARD_BYTES
    for param in function.params:
        name = param.tensor.name
        size = int(np.prod(shapes[name], dtype=np.int64)) * param.tensor.dtype.bytes
        places[name] = (position, size)
        position += size + GUARD_BYTES
        position += -position % ALIGNMENT
    return places, position


def _bytes_differ(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where two contiguous arrays differ in any byte."""
    if a.dtype.itemsize == 16:
        parts = (_bytes_differ(x, y) for x, y in ((a.real, b.real), (a.imag, b.imag)))
        return np.logical_or(*parts)
    kind = np.dtype(f"u{a.dtype.itemsize}")
    differ: NDArray[np.bool_] = np.asarray(a.view(kind) != b.view(kind))
    return differ


def _places(name: str, where: NDArray[np.bool_], what: str) -> list[str]:
    count = int(np.count_nonzero(where))
    if not count:
        return []
    if not where.ndim:
        return [f"{name} was {what}"]
    index = ", ".join(str(int(i)) for i in np.argwhere(where)[0])
    more = f" and {count - 1} more elements" if count > 1 else ""
    return [f"{name}[{index}]{more}: {what}"]
