"""The dtypes against NumPy: limits, promotion of every pair, what holds what."""

from __future__ import annotations

import pickle
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from tdsl.ir.dtypes import DTYPES, DType, bf16, f16, f32, from_numpy, holds, promote

ALL = tuple(DTYPES.values())
PAIRS = tuple(product(ALL, ALL))


def test_every_dtype_is_one_of_numpy() -> None:
    assert len({dtype.numpy for dtype in ALL}) == len(ALL) == 15
    for dtype in ALL:
        assert dtype.numpy.itemsize == dtype.bytes
        assert from_numpy(dtype.numpy) == dtype
        swapped = dtype.numpy.newbyteorder()
        assert dtype.bytes == 1 or dtype == bf16 or from_numpy(swapped) is None
    assert from_numpy(np.dtype("M8[ns]")) is None
    assert pickle.loads(pickle.dumps(bf16)) == bf16 != f16


def test_limits_are_those_of_numpy() -> None:
    for dtype in ALL:
        if dtype.kind == "int":
            whole = np.iinfo(dtype.numpy)
            assert (dtype.lowest, dtype.highest) == (whole.min, whole.max)
        elif dtype.kind != "bool":
            limits = ml_dtypes.finfo(dtype.part.numpy)
            assert dtype.largest == float(limits.max)
            assert dtype.smallest == float(limits.smallest_subnormal)
            assert dtype.precision == limits.nmant + 1


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_promotion_is_that_of_numpy(a: DType, b: DType) -> None:
    """But for f16 and bf16, which count as f32."""
    wide = [f32 if each in (f16, bf16) else each for each in (a, b)]
    assert promote(a, b).numpy == np.promote_types(wide[0].numpy, wide[1].numpy)
    if bf16 not in (a, b):
        own = np.promote_types(a.numpy, b.numpy)
        assert promote(a, b).numpy == (np.dtype("f4") if own == np.dtype("f2") else own)


def test_a_dtype_holds_what_numpy_casts_safely() -> None:
    for narrow, wide in PAIRS:
        safe = np.can_cast(narrow.numpy, wide.numpy, "safe")
        assert holds(wide, narrow) == safe, (narrow, wide)
