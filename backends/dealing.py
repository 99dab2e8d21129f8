"""Which iteration of an uneven parallel loop runs when: threads get equal shares."""

from __future__ import annotations

from numba import njit

from .modules import guard_caches

MOST_DEALT = 2**31
"""Beyond, the product of a number and the step might not fit in `i64`."""


@njit(cache=True, nogil=True)
def dealing_step(count: int) -> int:
    """Return a step through *count* numbers that meets each of them once.

    Near the golden section, so that any stretch of steps is spread over all of them.
    """
    if count > MOST_DEALT:
        return 1
    step = max(count * 618 // 1000, 1)
    while True:
        first, second = count, step
        while second:
            first, second = second, first % second
        if first <= 1:
            return step
        step += 1


guard_caches(globals())
