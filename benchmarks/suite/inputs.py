"""The same arguments in every process, from a few words that travel as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Spec = Sequence[Any]
"""A kind, a dtype's name and a shape, or None in place of the shape for a number.

Kinds: `normal` (standard normal numbers; whole ones over the whole range), `positive`
(from 0.5 to 1.5), `below N` (whole numbers from 0 to N - 1), `root N` (the number
1 / sqrt(N)) and `blocks` (scales of quantised weights: small positive numbers).
"""


def make(specs: Sequence[Spec]) -> list[Any]:
    """Return one argument for each of *specs*."""
    return [_make(spec, np.random.default_rng(n)) for n, spec in enumerate(specs)]


def _make(spec: Spec, random: np.random.Generator) -> Any:
    kind, dtype, shape = spec[0], _dtype(spec[1]), spec[2]
    name, _, text = kind.partition(" ")
    match name:
        case "root":
            return float(text) ** -0.5
        case "below":
            return random.integers(0, int(text), shape, dtype)
        case "positive":
            return random.uniform(0.5, 1.5, shape).astype(dtype)
        case "blocks":
            return random.uniform(0.001, 0.01, shape).astype(dtype)
    assert name == "normal"
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max + 1, shape, dtype)
    if shape is None:
        return float(random.standard_normal())
    return random.standard_normal(shape).astype(dtype)


def _dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)
