"""Memory for the local tensors of generated code, and what happens without."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..errors import OutOfMemoryError
from .modules import guard_caches

ALIGNMENT = 64


@njit(cache=True, nogil=True)
def bytes_of(element: int, *extents: int) -> int:
    """Return the bytes of a tensor of so many per *element*, 2**62 at most.

    A negative extent means no elements.
    """
    size, about = element, float(element)
    for extent in extents:
        size *= max(extent, 0)
        about *= max(extent, 0)
    return size if about < 2.0**62 else 2**62


@njit(cache=True, nogil=True)
def reserve(size: int) -> Any:
    """Return an array of bytes that holds *size* of them, aligned.

    It is empty where there is no such memory: threads cannot raise errors.
    """
    try:
        return np.empty(size + ALIGNMENT, np.uint8)
    except Exception:
        return np.empty(0, np.uint8)


@njit(cache=True, nogil=True)
def is_missing(memory: Any) -> bool:
    """Return whether there was no memory for what `reserve` gave."""
    missing: bool = memory.size == 0
    return missing


@njit(cache=True, nogil=True)
def require(memory: Any, message: str, size: int) -> None:
    """Raise OutOfMemoryError if there was none for what `reserve` gave."""
    if memory.size == 0:
        raise OutOfMemoryError(message, size)


@njit(cache=True, nogil=True)
def new_word() -> Any:
    """Return a word of three integers for `report_fault`, in which nothing is yet."""
    return np.zeros(3, np.int64)


@njit(cache=True, nogil=True)
def raise_reported(word: Any, number: int, message: str) -> None:
    """Raise OutOfMemoryError if *number* has been reported in *word*."""
    if word[0] == number:
        raise OutOfMemoryError(message, word[1])


guard_caches(globals())
