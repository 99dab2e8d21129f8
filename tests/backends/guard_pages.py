"""Memory whose neighbours nobody may touch: a read beyond an array ends the process.

`Guarded` puts arrays, and the local tensors of generated code, right before a page
without access, or right behind one. So it sees what poisoned memory cannot: reads.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any, Literal

import numpy as np
from llvmlite import binding, ir
from numba import carray, njit
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

import tdsl.backends.reserve
from tdsl.backends.reserve import ALIGNMENT

Edge = Literal["first", "last"]
EDGES: tuple[Edge, ...] = ("first", "last")
"""Which byte of an array lies beside a page that cannot be read."""

_PAGE = mmap.PAGESIZE
_NO_ACCESS = 0  # PROT_NONE, which the module mmap does not name
_POISON = 0xFF  # NaN, and -1


class Guarded:
    """Places arrays at the *edge* of the memory that exists, and holds them."""

    def __init__(self) -> None:
        self.edge: Edge = "last"
        self._held: list[mmap.mmap] = []

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a row-major copy of *array* at the edge."""
        memory, offset = self._place(array.nbytes)
        placed: NDArray[Any] = np.ndarray(array.shape, array.dtype, memory, offset)
        placed[...] = array
        return placed

    def address(self, size: int) -> int:
        """Return where *size* bytes at the edge start, for a local tensor.

        They are aligned, so up to 63 bytes may lie between their end and the edge.
        """
        memory, offset = self._place(size + -size % ALIGNMENT)
        return _address(memory) + offset

    def clear(self) -> None:
        """Let go of all memory; nothing may use it any more."""
        self._held.clear()

    def _place(self, size: int) -> tuple[mmap.mmap, int]:
        inside = max(_PAGE, size + -size % _PAGE)
        memory = mmap.mmap(-1, inside + 2 * _PAGE)
        memory[:] = bytes([_POISON]) * len(memory)
        for offset in (0, _PAGE + inside):
            _protect(_address(memory) + offset)
        self._held.append(memory)
        return memory, _PAGE if self.edge == "first" else _PAGE + inside - size


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _protect(address: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), _PAGE, _NO_ACCESS):
        raise OSError(ctypes.get_errno(), "mprotect")


def guard_locals(guarded: Guarded) -> object:
    """Let modules loaded from now on take their local tensors from *guarded*.

    Return what has to live as long as they run. Their machine code is of use in this
    process only: let TDSL_CACHE be a folder of its own.
    """
    callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(guarded.address)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    binding.add_symbol("tdsl_guarded_address", address)
    tdsl.backends.reserve.reserve = _reserve
    return callback


_guarded_address = types.ExternalFunction(
    "tdsl_guarded_address", types.int64(types.int64)
)


@intrinsic
def _pointer(_context: Any, number: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], ir.PointerType())

    return types.CPointer(types.uint8)(number), generate


@njit
def _reserve(size: int) -> Any:
    # No bytes at all would mean that there is no memory.
    return carray(_pointer(_guarded_address(size)), size + 1)
