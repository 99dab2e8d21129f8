"""A kept proof holds for the one kernel, schedule and numerics that it is of."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tdsl
from tdsl import f32, plans
from tdsl.frontend.parser import parse
from tdsl.ir.numerics import Numerics
from tdsl.schedules.schedule import Schedule
from tdsl.target import AVX2

M = tdsl.dims("M")[0]


def double(X: f32[M]) -> f32[M]:
    Y = tdsl.empty(M, f32)
    for i in range(M):
        Y[i] = X[i] + X[i]
    return Y


def triple(X: f32[M]) -> f32[M]:
    Y = tdsl.empty(M, f32)
    for i in range(M):
        Y[i] = X[i] + X[i] + X[i]
    return Y


def total(X: f32[M]) -> f32[1]:
    Y = tdsl.zeros(1, f32)
    for i in range(M):
        Y[0] += X[i]
    return Y


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))


def test_a_program_proved_for_one_kernel_is_not_proved_for_another() -> None:
    doubled: Any = SimpleNamespace(function=parse(double))
    assert plans.prove(parse(double), doubled, "reassoc").verdict == "proved"
    renamed: Any = SimpleNamespace(function=parse(double))
    assert plans.prove(parse(triple), renamed, "reassoc").verdict == "refuted"


def test_each_numerics_class_has_a_default_of_its_own() -> None:
    function = parse(total)
    parts = plans.plan(function, AVX2, "reassoc")
    in_order = plans.plan(function, AVX2, "bitwise")
    assert parts != in_order
    pairs: list[tuple[Schedule, Numerics]] = [
        (parts, "reassoc"),
        (in_order, "bitwise"),
    ]
    for schedule, numerics in pairs:
        assert plans.prove(function, schedule, numerics).verdict == "proved"
    assert plans.plan(function, AVX2, "reassoc") == parts
