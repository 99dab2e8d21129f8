"""Sums and what is like them: along rows, along columns, and running."""

from __future__ import annotations

from typing import Any


def total(np: Any, x: Any) -> Any:
    """Add up all elements."""
    return np.sum(x, keepdims=True)


def torch_total(torch: Any, x: Any) -> Any:
    """Add up all elements."""
    return torch.sum(x, 0, keepdim=True)


def row_means(np: Any, x: Any) -> Any:
    """Return the mean of each row."""
    return np.mean(x, axis=1)


def torch_row_means(torch: Any, x: Any) -> Any:
    """Return the mean of each row."""
    return torch.mean(x, 1)


def column_variances(np: Any, x: Any) -> Any:
    """Return the variance of each column."""
    return np.var(x, axis=0)


def torch_column_variances(torch: Any, x: Any) -> Any:
    """Return the variance of each column."""
    return torch.var(x, 0, correction=0)


def row_argmax(np: Any, x: Any) -> Any:
    """Return where the largest element of each row is."""
    return np.argmax(x, axis=1)


def torch_row_argmax(torch: Any, x: Any) -> Any:
    """Return where the largest element of each row is."""
    return torch.argmax(x, 1)


def row_cumsum(np: Any, x: Any) -> Any:
    """Return running sums of rows."""
    return np.cumsum(x, axis=1)


def torch_row_cumsum(torch: Any, x: Any) -> Any:
    """Return running sums of rows."""
    return torch.cumsum(x, 1)
