"""Scalar types, their NumPy counterparts, and the promotion rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

Kind = Literal["float", "int", "bool", "complex"]


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
    signed: bool = True

    # Without this, `list(f32)` would ask for f32[0], f32[1], ... without end.
    __iter__: ClassVar[None] = None

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
        if self.name == "bf16":
            import ml_dtypes  # which makes the dtype known to NumPy

            found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return found
        return np.dtype(_NUMPY_NAMES[self.name])

    @property
    def numpy_text(self) -> str:
        """The NumPy dtype as one writes it."""
        prefix = "ml_dtypes" if self.name == "bf16" else "np"
        return f"{prefix}.{_NUMPY_NAMES[self.name]}"

    @property
    def is_storage(self) -> bool:
        """Whether numbers of this type are only stored, and widened to compute."""
        return self.kind == "float" and self.bits < 32

    @property
    def computed(self) -> DType:
        """The type that arithmetic on numbers of this one has."""
        return f32 if self.is_storage else self

    @property
    def part(self) -> DType:
        """The type of the real and of the imaginary part; real types are their own."""
        if self.kind != "complex":
            return self
        return f32 if self.bits == 64 else f64

    @property
    def lowest(self) -> int:
        """The smallest integer of an integer type."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """The largest integer of an integer type."""
        return (1 << (self.bits - self.signed)) - 1

    @property
    def largest(self) -> float:
        """The largest finite number of a float or complex type (of its parts)."""
        precision, exponent = _FORMATS[self.part.name]
        return (2 - 2.0 ** (1 - precision)) * 2.0**exponent

    @property
    def precision(self) -> int:
        """The number of bits of a float's significand, the first one included."""
        return _FORMATS[self.part.name][0]

    @property
    def smallest(self) -> float:
        """The smallest positive float."""
        precision, exponent = _FORMATS[self.part.name]
        return 2.0 ** (2 - exponent - precision)


f16 = DType("f16", "float", 16)
bf16 = DType("bf16", "float", 16)
f32 = DType("f32", "float", 32)
f64 = DType("f64", "float", 64)
i8 = DType("i8", "int", 8)
i16 = DType("i16", "int", 16)
i32 = DType("i32", "int", 32)
i64 = DType("i64", "int", 64)
u8 = DType("u8", "int", 8, signed=False)
u16 = DType("u16", "int", 16, signed=False)
u32 = DType("u32", "int", 32, signed=False)
u64 = DType("u64", "int", 64, signed=False)
c64 = DType("c64", "complex", 64)
c128 = DType("c128", "complex", 128)
boolean = bool_ = DType("bool", "bool", 1, signed=False)

_ALL = (
    *(f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64),
    *(c64, c128, boolean),
)
DTYPES = {dtype.name: dtype for dtype in _ALL}
_NUMPY_NAMES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "c64": "complex64",
    "c128": "complex128",
    "bool": "bool",
}
_BY_NUMPY_NAME = {_NUMPY_NAMES[dtype.name]: dtype for dtype in _ALL}
_FORMATS = {"f16": (11, 15), "bf16": (8, 127), "f32": (24, 127), "f64": (53, 1023)}
"""The bits of the significand, and the largest exponent."""


def from_numpy(dtype: np.dtype[Any]) -> DType | None:
    """Return the tdsl dtype of a native NumPy dtype, or None where there is none."""
    return _BY_NUMPY_NAME.get(dtype.name) if dtype.isnative else None


def promote(a: DType, b: DType) -> DType:
    """Return the dtype of an operation on *a* and *b*, by NumPy 2's rules.

    They apply to f16 and bf16 once these are widened to f32.
    """
    wide = np.promote_types(a.computed.numpy, b.computed.numpy)
    result = from_numpy(wide)
    assert result is not None, (a, b)
    return result


def holds(wide: DType, narrow: DType) -> bool:
    """Whether *wide* holds every value of *narrow*: by `np.can_cast`, where bf16 has
    no part in it."""
    if wide == narrow:
        return True
    if narrow.name == "bf16":
        return wide.kind in ("float", "complex") and not wide.is_storage
    if wide.name == "bf16":
        return narrow.bits <= 8
    return bool(np.can_cast(narrow.numpy, wide.numpy, "safe"))
