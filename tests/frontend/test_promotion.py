"""The dtype of every operation on every pair of dtypes, weak numbers included."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tdsl.frontend import operations, values
from tdsl.frontend.values import Mismatch, Value
from tdsl.ir.affine import name
from tdsl.ir.dtypes import DTYPES, DType, bf16, boolean, f16, f32, from_numpy
from tdsl.ir.nodes import Load, Span
from tdsl.ir.ranges import Range

NUMBERS = tuple(dtype for dtype in DTYPES.values() if dtype != boolean)
WEAK: dict[str, Any] = {"1": 1, "1.5": 1.5, "2j": 2j}
SPAN = Span("f.py", 1, 0, 1, 1)
OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "min": np.minimum,
    "max": np.maximum,
}


def strong(dtype: DType) -> Value:
    return Value(Load("A", (name("i"),), dtype))


def one(dtype: DType) -> Any:
    """Return NumPy's scalar that stands for *dtype*: f16 and bf16 count as f32."""
    wide = f32 if dtype in (f16, bf16) else dtype
    return wide.numpy.type(1)


def apply(op: str, left: Value, right: Value) -> DType | None:
    """Return the dtype of the operation, None where the language has none."""
    try:
        if op in ("min", "max"):
            return operations.extreme(op, left, right, SPAN).dtype
        return operations.binary(op, left, right, SPAN).dtype
    except Mismatch as mismatch:
        assert "complex" in str(mismatch)
        return None


def expected(op: str, left: Any, right: Any) -> DType | None:
    if op in ("floordiv", "mod", "min", "max") and np.iscomplexobj([left, right]):
        return None
    return from_numpy(OPERATIONS[op](left, right).dtype)


@pytest.mark.parametrize("op", OPERATIONS)
def test_pairs_of_dtypes(op: str) -> None:
    for a, b in product(NUMBERS, NUMBERS):
        found = apply(op, strong(a), strong(b))
        assert found == expected(op, one(a), one(b)), (a, b)


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("number", WEAK)
def test_weak_numbers(op: str, number: str) -> None:
    weak = WEAK[number]
    for dtype in NUMBERS:
        found = apply(op, strong(dtype), values.number(weak))
        assert found == expected(op, one(dtype), weak), dtype
        found = apply(op, values.number(weak), strong(dtype))
        assert found == expected(op, weak, one(dtype)), dtype


@pytest.mark.parametrize("op", OPERATIONS)
def test_loop_variables_are_weak_integers(op: str) -> None:
    for dtype in NUMBERS:
        variable = values.index(name("i"), ranges={"i": Range(0, 100)})
        found = apply(op, strong(dtype), variable)
        assert found == expected(op, one(dtype), 1), dtype


def test_choices_promote_alike_and_keep_narrow_floats() -> None:
    condition = values.number(True)
    for a, b in product(DTYPES.values(), DTYPES.values()):
        found = operations.select(condition, strong(a), strong(b), SPAN).dtype
        if a == b:
            assert found == a
        elif f16 not in (a, b) and bf16 not in (a, b):
            assert found.numpy == np.where(True, one(a), one(b)).dtype, (a, b)
        else:
            assert found.numpy == np.add(one(a), one(b)).dtype, (a, b)
    for dtype in NUMBERS:
        for weak in (1, 1.5, 2j):
            found = operations.select(
                condition, strong(dtype), values.number(weak), SPAN
            )
            kept = dtype in (f16, bf16) and weak != 2j
            wanted = np.result_type(one(dtype), weak)
            assert found.dtype.numpy == (dtype.numpy if kept else wanted)


def test_what_is_stored_without_a_cast() -> None:
    for source, target in product(DTYPES.values(), DTYPES.values()):
        safe = np.can_cast(source.numpy, target.numpy, "safe")
        assert values.can_store(strong(source), target) == safe, (source, target)
    kinds = {"int": 1, "float": 2, "complex": 3, "bool": 0}
    for target in NUMBERS:
        for rank, weak in enumerate(WEAK.values(), start=1):
            stored = values.can_store(values.number(weak), target)
            assert stored == (rank <= kinds[target.kind]), (weak, target)


def test_negation_and_functions_keep_or_widen() -> None:
    for dtype in NUMBERS:
        wide = f32 if dtype in (f16, bf16) else dtype
        assert operations.negate(strong(dtype), SPAN).dtype == wide
        assert operations.call("abs", [strong(dtype)], SPAN, "abs").dtype == wide.part
        assert (
            operations.call("real", [strong(dtype)], SPAN, "real").dtype == dtype.part
        )
        assert (
            operations.call("imag", [strong(dtype)], SPAN, "imag").dtype == dtype.part
        )
        assert operations.call("conj", [strong(dtype)], SPAN, "conj").dtype == dtype
        if dtype.kind == "complex":
            with pytest.raises(Mismatch, match="`exp` of a complex number"):
                operations.call("exp", [strong(dtype)], SPAN, "exp")
        else:
            root = operations.call("exp", [strong(dtype)], SPAN, "exp").dtype
            assert root.name == ("f64" if dtype.kind == "int" else wide.name)


@pytest.mark.parametrize("dtype", [d for d in NUMBERS if d.kind == "int"], ids=str)
def test_integer_constants_must_fit(dtype: DType) -> None:
    for number in (dtype.lowest, dtype.highest):
        values.convert(values.number(number), dtype)
        assert apply("add", strong(dtype), values.number(number)) == dtype
    for number in (dtype.lowest - 1, dtype.highest + 1):
        if -(2**63) <= number < 2**63:
            with pytest.raises(Mismatch, match=rf"^{number} does not fit in {dtype}$"):
                values.convert(values.number(number), dtype)


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [("f16", "6.6e4"), ("bf16", "3.4e38"), ("f32", "3.4e38"), ("c64", "3.4e38")],
)
def test_float_constants_must_fit(dtype: str, largest: str) -> None:
    kind = DTYPES[dtype]
    values.convert(values.number(kind.largest), kind)
    values.convert(values.number(float("inf")), kind)
    with pytest.raises(
        Mismatch, match=rf"fit in {kind.part}: its largest is {largest}"
    ):
        values.convert(values.number(kind.largest * 1.01), kind)


def test_an_integer_compares_with_any_python_integer() -> None:
    """As in NumPy 2: the constant need not fit."""
    for dtype in NUMBERS:
        if dtype.kind != "int" or dtype.bits == 64:
            continue
        for number in (dtype.lowest - 1, dtype.highest + 1):
            for op in ("lt", "le", "gt", "ge", "eq", "ne"):
                element = dtype.numpy.type(1)
                known = getattr(element, f"__{op}__")(number)
                found = operations.comparison(
                    op, strong(dtype), values.number(number), SPAN
                )
                assert getattr(found.expr, "value", None) == bool(known)
                other = operations.comparison(
                    op, values.number(number), strong(dtype), SPAN
                )
                swapped = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(op, op)
                known = getattr(element, f"__{swapped}__")(number)
                assert getattr(other.expr, "value", None) == bool(known)


def test_loop_variables_that_may_not_fit() -> None:
    variable = values.index(name("i"), ranges={"i": Range(-1, 128)})
    for dtype in NUMBERS:
        if dtype.name in ("i8", "u8", "u16", "u32", "u64"):
            with pytest.raises(Mismatch, match=f"does not fit in {dtype}"):
                operations.binary("add", strong(dtype), variable, SPAN)
        else:
            assert apply("add", strong(dtype), variable) == expected(
                "add", one(dtype), 1
            )
