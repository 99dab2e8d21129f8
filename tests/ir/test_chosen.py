"""Gathers and scatters as data: text, keys, and what is well-formed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tdsl.ir.affine import constant, name
from tdsl.ir.canonical import canonical_text
from tdsl.ir.dtypes import f32, i32, i64
from tdsl.ir.nodes import (
    Const,
    Function,
    Gather,
    Index,
    Load,
    Scatter,
    Stmt,
    Store,
)
from tdsl.ir.printer import print_function
from tdsl.ir.verify import verify
from tdsl.ir.walk import (
    chosen_accesses,
    map_block_forms,
    reads,
    rewrite,
    rewrite_expr,
    scatters,
)

from ..ir_text import read_function

TEXT = """\
def f(X: f32[N, 4], idx: i64[M], short: i32[M], Y: inout f32[N]) for M, N:
    for i in range(M):
        Y[i64(short[i])] = (X[idx[i], 3] + X.unchecked[idx[idx[i]], i])  # S0[i]
        Y[idx[i]] += (Y[idx[i]] if (X[i, 0] < 1.0) else 2.0)  # S1[i]
        if (X[i, 0] < 0.5): Y[(idx[i] + 1)] = max(Y[(idx[i] + 1)], 1.0)  # S2[i]
        if (X[idx[i], 0] < 0.5): Y.unchecked[idx[i]] = 1.0  # S3[i]
"""


def test_text() -> None:
    function = read_function(TEXT)
    verify(function)
    assert print_function(function) == TEXT
    assert [s.op and s.op.value for s in scatters(function)] == [
        None,
        "add",
        "max",
        None,
    ]
    conditions = [s.condition is not None for s in scatters(function)]
    assert conditions == [False, False, True, True]
    assert [a.checked for a in chosen_accesses(function)].count(False) == 2


def test_a_gather_comes_before_its_subscripts() -> None:
    first = next(scatters(read_function(TEXT)))
    assert [r.tensor for r in reads(first.value)] == [
        *("X", "idx"),
        *("X", "idx", "idx"),
    ]


def test_unchanged_means_identical() -> None:
    function = read_function(TEXT)
    for scatter in scatters(function):
        for part in (*scatter.index, scatter.value):
            assert rewrite_expr(part, lambda expr: expr) is part
    assert rewrite(function, lambda statement: statement) is function


def test_forms_change_everywhere() -> None:
    function = read_function(TEXT.replace("N, 4", "N, N"))
    moved = map_block_forms(
        function.body, lambda form: form.substitute({"N": constant(9), "i": name("k")})
    )
    text = print_function(replace(function, body=moved))
    assert not any(part in text for part in ("[i]", "[i,", "i]"))


def changed(change: dict[str, object]) -> Function:
    function = read_function(TEXT)

    def rule(statement: Stmt) -> Stmt:
        if isinstance(statement, Scatter) and statement.op is None:
            return replace(statement, **change)  # type: ignore[arg-type]
        return statement

    return rewrite(function, rule)


CHANGES: tuple[dict[str, object], ...] = (
    {"checked": False},
    {"condition": Const(True, i64)},
    {"tensor": "X"},
    {"index": (Load("idx", (name("N"),), i64),)},
)


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_every_field_counts(number: int) -> None:
    key = canonical_text(read_function(TEXT))
    assert canonical_text(changed(CHANGES[number])) != key


i = name("i")
GATHER = Gather("Y", (Load("idx", (i,), i64),), f32)
FAULTS: dict[str, tuple[dict[str, object], str]] = {
    "input": (
        {"tensor": "X", "index": (GATHER.index[0],) * 2},
        "a write to the input X",
    ),
    "rank": ({"index": GATHER.index * 2}, "Y has rank 1 but 2 subscripts"),
    "affine": ({"index": (Index(i, i64),)}, "every subscript of Y is affine"),
    "type": (
        {"index": (Load("short", (i,), i32),)},
        "a subscript of Y has dtype i32",
    ),
    "condition": ({"condition": GATHER}, "a condition of dtype f32"),
    "unknown": ({"tensor": "Z"}, "Z is not declared here"),
    "gather": (
        {"value": replace(GATHER, dtype=i64)},
        "gather from Y as i64",
    ),
    "gathered rank": (
        {"value": replace(GATHER, index=GATHER.index * 2)},
        "Y has rank 1 but 2 subscripts",
    ),
    "stored": ({"value": Const(1, i64)}, "i64 stored in Y: f32"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str) -> None:
    change, message = FAULTS[fault]
    with pytest.raises(AssertionError) as caught:
        verify(changed(change))
    assert str(caught.value) == message


def test_a_store_is_no_scatter() -> None:
    function = read_function(TEXT)
    plain = rewrite(
        function,
        lambda s: (
            Store(s.tensor, (i,), s.value, s.instance) if isinstance(s, Scatter) else s
        ),
    )
    assert not any(scatters(plain))
