"""Which iterations of a loop conflict, and how a proof behaves among threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tdsl.analysis import validate as validation
from tdsl.analysis.dependence import find_conflict
from tdsl.analysis.model import build_model

from .kernels import LANES, MATMUL, TOTAL, read


def test_a_conflict_names_two_iterations() -> None:
    model = build_model(read(MATMUL))
    assert find_conflict(model, "i") is None
    assert find_conflict(model, "j0") is None
    conflict = find_conflict(model, "k")
    assert conflict is not None and conflict.reduction
    assert str(conflict) == (
        "iterations of k share elements of C: use rfactor to give each its own partial "
        "result"
    )
    assert conflict.witness.element == "C[0, 0]"


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
