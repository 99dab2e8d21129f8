"""Which iteration of an uneven parallel loop runs when: threads get equal shares."""

from __future__ import annotations

from numba import njit, types


@njit(types.int64(types.int64), cache=True, nogil=True)
def dealing_step(count: int) -> int:
    """Return a step through *count* numbers that meets each of them once.

    Near the golden section, so that any stretch of steps is spread over all of them.
    """
    step = max(count * 618 // 1000, 1)
    while True:
        first, second = count, step
        while second:
            first, second = second, first % second
        if first <= 1:
            return step
        step += 1
