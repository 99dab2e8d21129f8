"""Memory for the local tensors of generated code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .modules import guard_caches

ALIGNMENT = 64


@njit(cache=True, nogil=True)
def reserve(element: int, *extents: int) -> Any:
    """Return an array of bytes that holds a tensor, aligned, of so many per *element*.

    A negative extent means no elements. Raise MemoryError also where the number of
    bytes is no `i64`.
    """
    size, about = element, float(element)
    for extent in extents:
        size *= max(extent, 0)
        about *= max(extent, 0)
    if about > 2.0**62:
        raise MemoryError("a local tensor is larger than any memory")
    return np.empty(size + ALIGNMENT, np.uint8)


guard_caches(globals())
