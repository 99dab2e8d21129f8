"""Scalar types, their NumPy counterparts, and the promotion rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["float", "int", "bool"]


@dataclass(frozen=True, slots=True)
class TensorType:
    """A dtype with a shape, as written in an annotation: `f32[M, K]`.

    *shape* holds integers and sympy expressions over dims; rank 0 is a scalar.
    """

    dtype: DType
    shape: tuple[Any, ...]

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"{self.dtype}[{sizes or '()'}]"


@dataclass(frozen=True, slots=True)
class DType:
    """A scalar type; indexing it with a shape gives a `TensorType`."""

    name: str
    kind: Kind
    bits: int

    def __getitem__(self, shape: Any) -> TensorType:
        return TensorType(self, shape if isinstance(shape, tuple) else (shape,))

    def __str__(self) -> str:
        return self.name

    @property
    def bytes(self) -> int:
        """Storage size in bytes."""
        return max(1, self.bits // 8)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of the same meaning."""
        return np.dtype(_NUMPY_NAMES[self.name])


f32 = DType("f32", "float", 32)
f64 = DType("f64", "float", 64)
i32 = DType("i32", "int", 32)
i64 = DType("i64", "int", 64)
boolean = DType("bool", "bool", 1)

DTYPES = {dtype.name: dtype for dtype in (f32, f64, i32, i64, boolean)}
_NUMPY_NAMES = {
    "f32": "float32",
    "f64": "float64",
    "i32": "int32",
    "i64": "int64",
    "bool": "bool",
}


def from_numpy(dtype: np.dtype[Any]) -> DType | None:
    """Return the tdsl dtype of a native NumPy dtype, or None where there is none."""
    for candidate in DTYPES.values():
        if candidate.numpy == dtype:
            return candidate
    return None


def promote(a: DType, b: DType) -> DType:
    """Return the dtype of an operation on *a* and *b*, by NumPy 2's rules."""
    result = from_numpy(np.promote_types(a.numpy, b.numpy))
    assert result is not None, (a, b)
    return result
