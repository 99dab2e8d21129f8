"""Which iterations of a loop conflict, and how a proof behaves among threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tdsl.analysis import validate as validation
from tdsl.analysis.building import build_model
from tdsl.analysis.dependence import find_conflict

from .kernels import LANES, MATMUL, TOTAL, read


def test_a_dependence_names_two_iterations() -> None:
    model = build_model(read(MATMUL))
    assert find_conflict(model, "i") is None
    assert find_conflict(model, "j0") is None
    found = find_conflict(model, "k")
    assert found is not None and found.kind == "reduction"
    assert str(found) == (
        "loop k carries a reduction into C: use rfactor to give each iteration its own "
        "partial result"
    )
    assert str(found.witness) == (
        "with M=1, N=1, K=2:\n"
        "  C[i, j] += (A[i, k] * B[k, j])  at i=0, j=0, k=0 updates C[0, 0]\n"
        "  C[i, j] += (A[i, k] * B[k, j])  at i=0, j=0, k=1 updates it"
    )


KINDS = {
    "flow": ("A[i] = A[i - 1]", "writes A[1]", "reads it"),
    "anti": ("A[i - 1] = A[i]", "reads A[1]", "writes it"),
    "output": ("A[0] = X[i]", "writes A[0]", "writes it"),
    "reduction": ("A[0] += X[i]", "updates A[0]", "updates it"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_dependence_names_its_kind(kind: str) -> None:
    statement, first, second = KINDS[kind]
    model = build_model(
        read(
            "def carry(A: inout f32[N], X: f32[N]) for N:\n"
            f"    for i in range(1, N):\n        {statement}  # S0[i]\n"
        )
    )
    found = find_conflict(model, "i")
    assert found is not None and found.kind == kind
    assert found.witness.iterations == (
        f"{statement}  at i=1 {first}",
        f"{statement}  at i=2 {second}",
    )


def test_one_proof_runs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = 0, 0
    pause = threading.Event()
    plain = validation.bounded

    @contextmanager
    def counted(operations: int) -> Iterator[None]:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        pause.wait(0.02)
        with plain(operations):
            yield
        inside -= 1

    monkeypatch.setattr(validation, "bounded", counted)
    functions = [(read(TOTAL), read(LANES)) for _ in range(6)]
    with ThreadPoolExecutor(3) as pool:
        found = pool.map(lambda pair: validation.validate(*pair).verdict, functions)
        assert list(found) == ["proved"] * 6
    assert most == 1
