"""Questions about a loop, asked before a schedule changes it."""

from __future__ import annotations

import pytest

from tdsl.analysis import legality
from tdsl.analysis.building import build_model
from tdsl.analysis.legality import Legality
from tdsl.analysis.model import Model
from tdsl.ir.nodes import Function
from tdsl.ir.walk import loops

from .kernels import read

TWO_NESTS = """
def rows(A: inout f32[N], B: inout f32[N]) for N:
    for i in range(1, N):
        A[i] += A[i - 1]  # S0[i]
    for t in range(N):
        T = local f32[N]
        for j in range(N):
            T[j] = A[j]  # S1[t, j]
            for k in range(N):
                B[j] += T[k]  # S2[t, j, k]
"""


def test_a_question_models_its_loop_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    modelled: list[list[str]] = []

    def noted(function: Function) -> Model:
        modelled.append([*loops(function)])
        return build_model(function)

    monkeypatch.setattr(legality, "build_model", noted)
    questions = Legality(read(TWO_NESTS))
    assert not questions.is_concurrent("k")  # all of them add to one element
    assert modelled == [["t", "j", "k"]]
    assert not questions.is_concurrent("j")  # the model of k lacks S1
    assert not questions.is_concurrent("t")
    assert not questions.is_concurrent("i")
    assert modelled[1:] == [["t", "j", "k"], ["t", "j", "k"], ["i"]]


def test_one_model_serves_the_loops_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = Legality(read(TWO_NESTS))
    assert not questions.is_concurrent("t")
    monkeypatch.delattr(legality, "build_model")
    assert not questions.is_concurrent("j")
    assert not questions.is_concurrent("k")


def test_a_scatter_keeps_its_place() -> None:
    function = read("""
def f(idx: i64[N], X: f32[N], Y: inout f32[N], Z: output f32[N]) for N:
    for i in range(N):
        Y[idx[i]] = X[i]  # S0[i]
        Z[i] = Y[i]  # S1[i]
""")
    questions, loop = Legality(function), loops(function)["i"]
    assert questions.must_follow(loop, 0) == {0, 1}
    assert questions.must_follow(loop, 1) == {0, 1}
