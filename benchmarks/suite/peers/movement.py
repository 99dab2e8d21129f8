"""Elements that change their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def transpose(np: Any, x: Any) -> Any:
    """Exchange rows and columns, in memory too."""
    return x.T + 0 if np.__name__ != "numpy" else np.ascontiguousarray(x.T)


def torch_transpose(torch: Any, x: Any) -> Any:
    """Exchange rows and columns, in memory too."""
    return x.T.contiguous()


def channels_last(np: Any, x: Any) -> Any:
    """Bring the channels last, in memory too."""
    return np.ascontiguousarray(np.transpose(x, (1, 2, 0)))


def torch_channels_last(torch: Any, x: Any) -> Any:
    """Bring the channels last, in memory too."""
    return x.permute(1, 2, 0).contiguous()


def embedding(np: Any, table: Any, words: Any) -> Any:
    """Look up rows."""
    return np.take(table, words, axis=0)


def torch_embedding(torch: Any, table: Any, words: Any) -> Any:
    """Look up rows."""
    return torch.nn.functional.embedding(words, table)


def histogram(np: Any, x: Any) -> Any:
    """Count bytes."""
    return np.bincount(x, minlength=256)


def torch_histogram(torch: Any, x: Any) -> Any:
    """Count bytes."""
    return torch.bincount(x, minlength=256)


def numba_histogram(numba: Any) -> Callable[..., Any]:
    """Return compiled loops: four tables, so that equal neighbours do not wait."""
    import numpy as np

    @numba.njit  # type: ignore[untyped-decorator]
    def run(x: Any) -> Any:
        found = np.zeros((4, 256), np.int64)
        whole = len(x) - len(x) % 4
        for i in range(0, whole, 4):
            for t in range(4):
                found[t, x[i + t]] += 1
        for i in range(whole, len(x)):
            found[0, x[i]] += 1
        return found.sum(0)

    return run
