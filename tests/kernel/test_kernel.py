"""Kernels run, prove what they run, and look up what was tuned."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import entries, f32
from tdsl.analysis.certificate import Certificate
from tdsl.errors import ArgumentError, BackendError, ProofError, ScheduleError
from tdsl.executable import ReferenceBackend, ReferenceExecutable
from tdsl.ir.nodes import Block, Function
from tdsl.ir.numerics import Numerics
from tdsl.kernel import Kernel
from tdsl.schedules.schedule import Schedule

M, N, K = tdsl.dims("M N K")


@tdsl.kernel
def matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]:
    """Multiply two matrices."""
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


@dataclass(slots=True)
class Recorder:
    """A reference backend that keeps what it compiles."""

    machine: str = "recorder"
    threads: int = 1
    compiled: list[Function] = field(default_factory=list)
    defaults: int = 0

    def default_schedule(self, function: Function, numerics: Numerics) -> Schedule:
        self.defaults += 1
        return Schedule(function)

    def compile(self, function: Function, numerics: Numerics) -> ReferenceExecutable:
        self.compiled.append(function)
        return ReferenceExecutable(function)


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 4, shape).astype(np.float32)


A, B = array(3, 4), array(4, 5)


def test_it_looks_like_the_function() -> None:
    assert matmul.__name__ == matmul.name == "matmul"
    assert matmul.__doc__ == "Multiply two matrices."
    assert matmul.__module__ == __name__
    assert matmul.__wrapped__.__name__ == "matmul"
    assert repr(matmul) == (
        "<tdsl kernel matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]>"
    )
    assert matmul.numerics == "reassoc"


def test_it_runs_on_the_cpu() -> None:
    for _ in range(2):
        np.testing.assert_array_equal(matmul(A, B), A @ B)
    out = np.empty((5, 3), np.float32).T
    assert matmul(A, B, out=out) is out
    np.testing.assert_array_equal(out, A @ B)
    np.testing.assert_array_equal(matmul(A[:, :0], B[:0]), np.zeros((3, 5)))
    assert matmul(A[:0], B).shape == (0, 5)


def test_the_reference_in_its_place() -> None:
    kernel = Kernel(matmul.function, backend=ReferenceBackend())
    np.testing.assert_array_equal(kernel(A, B), A @ B)
    np.testing.assert_array_equal(kernel(B=B, A=A), A @ B)


def test_it_compiles_once_for_all_sizes() -> None:
    backend = Recorder()
    kernel = Kernel(matmul.function, backend=backend)
    for size in (1, 2, 3):
        kernel(A[:size], B)
        kernel(A.T[:2].T, B[:2])
    assert backend.defaults == len(backend.compiled) == 1


def test_an_explicit_schedule() -> None:
    backend = Recorder()
    kernel = Kernel(matmul.function, backend=backend)
    schedule = kernel.schedule().split("j", 2).reorder("j_o", "i")
    variant = kernel.with_schedule(schedule)
    np.testing.assert_array_equal(variant(A, B), A @ B)
    assert backend.compiled == [schedule.function]
    assert backend.defaults == 0
    assert matmul.with_schedule(schedule).__doc__ == "Multiply two matrices."


def test_no_schedule_at_all() -> None:
    for use in (matmul.with_schedule, matmul.prove):
        with pytest.raises(ArgumentError) as caught:
            use("fast")  # type: ignore[arg-type]
        assert str(caught.value) == (
            "matmul: 'fast' is no schedule: pass a Schedule, which matmul.schedule() "
            "starts"
        )


def test_a_proof_without_a_schedule_is_of_what_a_call_runs() -> None:
    backend = Recorder()
    kernel = Kernel(matmul.function, backend=backend)
    assert kernel.prove().verdict == "proved"
    assert backend.defaults == 1
    assert kernel.default_schedule() == Schedule(matmul.function)
    wrong = matmul.schedule().split("k", 2).reorder("k_o", "i")
    bitwise = Kernel(matmul.function, numerics="bitwise", schedule=wrong.rfactor("k_i"))
    with pytest.raises(ProofError):
        bitwise.prove()


def test_a_schedule_of_another_kernel() -> None:
    @tdsl.kernel
    def double(X: f32[M]) -> f32[M]:
        Y = tdsl.empty(M, f32)
        for i in range(M):
            Y[i] = 2 * X[i]
        return Y

    with pytest.raises(ScheduleError) as caught:
        matmul.with_schedule(double.schedule())
    assert str(caught.value) == (
        "matmul: the schedule is for double, not for this kernel: start from "
        "matmul.schedule()"
    )


def test_nothing_runs_without_a_proof() -> None:
    kernel = Kernel(matmul.function, backend=Recorder())
    wrong, body = kernel.schedule(), matmul.function.body.statements
    halved = replace(matmul.function, body=Block(body[:1]))
    object.__setattr__(wrong, "function", halved)
    with pytest.raises(ProofError, match=r"^matmul: the schedule is refuted: "):
        kernel.with_schedule(wrong)(A, B)


def test_a_kernel_that_cannot_be_decided_is_no_schedule_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    undecided = Certificate("unknown", "model: undecided after 9 steps of isl", ())
    module = sys.modules[Kernel.__module__]
    monkeypatch.setattr(module, "prove", lambda *given: undecided)
    message = (
        "matmul: as it is written, it is unknown: model: undecided after 9 steps of isl"
    )
    with pytest.raises(ProofError, match=f"^{re.escape(message)}$"):
        matmul.prove(matmul.schedule())


def test_variants() -> None:
    variant = matmul.with_numerics("bitwise")
    assert (variant.numerics, variant.__doc__) == ("bitwise", matmul.__doc__)
    assert variant.function is matmul.function


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Store a tuned schedule, for the machine of a `Recorder`."""
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))

    def store(kernel: Kernel, text: str, **dims: int) -> None:
        program = entries.program_hash(kernel.function)
        where = entries.situation(program, dims, 1, kernel.numerics, "recorder")
        entries.store(entries.Entry(where, text, 1.0, 2.0, "proved"))

    yield store


def test_a_tuned_schedule_is_found_by_its_sizes(tuned: Any) -> None:
    backend = Recorder()
    kernel = Kernel(matmul.function, backend=backend)
    schedule = kernel.schedule().split("j", 2)
    tuned(kernel, schedule.to_json(), M=3, N=5, K=4)
    for _ in range(2):
        np.testing.assert_array_equal(kernel(A, B), A @ B)
        np.testing.assert_array_equal(kernel(A[:2], B), A[:2] @ B)
    assert backend.compiled == [schedule.function, kernel.function]


def test_entries_stored_later_are_read_after_reload(tuned: Any) -> None:
    backend = Recorder()
    kernel = Kernel(matmul.function, backend=backend)
    kernel(A, B)
    schedule = kernel.schedule().split("j", 2)
    tuned(kernel, schedule.to_json(), M=3, N=5, K=4)
    kernel(A, B)
    assert backend.compiled == [kernel.function]
    kernel.reload()
    kernel(A, B)
    assert backend.compiled == [kernel.function, schedule.function]


def test_a_tuned_schedule_that_does_not_apply_is_reported(tuned: Any) -> None:
    backend = Recorder()
    kernel = Kernel(matmul.function, backend=backend)
    text = kernel.schedule().split("j", 2).to_json().replace('"j"', '"x"')
    tuned(kernel, text, M=3, N=5, K=4)
    with pytest.warns(entries.EntryWarning, match="matmul: a tuned schedule is not"):
        kernel(A, B)
    assert backend.compiled == [kernel.function]


@pytest.mark.parametrize(
    "damage",
    [
        ('"factor": 2', '"factor": null'),
        ('"axis": "j"', '"axis": ["j"]'),
        ('"primitive": "split"', '"primitive": "exec"'),
    ],
)
def test_a_damaged_tuned_schedule_is_reported(
    tuned: Any, damage: tuple[str, str]
) -> None:
    backend = Recorder()
    kernel = Kernel(matmul.function, backend=backend)
    text = kernel.schedule().split("j", 2).to_json()
    assert damage[0] in text
    tuned(kernel, text.replace(*damage), M=3, N=5, K=4)
    with pytest.warns(entries.EntryWarning, match="a tuned schedule is not") as seen:
        np.testing.assert_array_equal(kernel(A, B), A @ B)
    assert [warning.filename for warning in seen] == [__file__]
    assert backend.compiled == [kernel.function]


def test_a_file_as_cache_folder_gives_one_warning_at_the_users_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path / "file"))
    kernel = Kernel(matmul.function).renamed("kept_nowhere")
    with pytest.warns(RuntimeWarning, match="Set TDSL_CACHE to a folder") as seen:
        kernel(array(3, 4), array(4, 5))
    assert [warning.filename for warning in seen] == [__file__]


def test_a_tuned_schedule_that_does_not_compile_is_reported(tuned: Any) -> None:
    class Picky(Recorder):
        def compile(self, function: Function, numerics: Numerics) -> Any:
            if function != matmul.function:
                raise BackendError("too many registers")
            return super().compile(function, numerics)

    kernel = Kernel(matmul.function, backend=Picky())
    tuned(kernel, kernel.schedule().split("j", 2).to_json(), M=3, N=5, K=4)
    with pytest.warns(entries.EntryWarning, match="not used: too many") as seen:
        np.testing.assert_array_equal(kernel(A, B), A @ B)
    assert [warning.filename for warning in seen] == [__file__]


def test_a_tuned_kernel_without_dims_calls_fast(
    tuned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tdsl.kernel
    def double(X: f32[4]) -> f32[4]:
        Y = tdsl.empty(4, f32)
        for i in range(4):
            Y[i] = 2 * X[i]
        return Y

    kernel, x = Kernel(double.function, backend=Recorder()), A[0]
    tuned(kernel, kernel.schedule().split("i", 2).to_json())
    kernel(x)
    monkeypatch.setattr(Kernel, "_entry", None)
    np.testing.assert_array_equal(kernel(x), 2 * x)


def test_unknown_numerics() -> None:
    with pytest.raises(ArgumentError) as caught:
        Kernel(matmul.function, numerics="exact")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "matmul: numerics is 'exact', but it is one of bitwise, reassoc, fast"
    )


def test_the_decorator_takes_numerics() -> None:
    @tdsl.kernel(numerics="bitwise")
    def copy(X: f32[M]) -> f32[M]:
        Y = tdsl.empty(M, f32)
        for i in range(M):
            Y[i] = X[i]
        return Y

    assert copy.numerics == "bitwise"


def test_annotations_see_the_place_of_definition() -> None:
    only_here = tdsl.dim("only_here", min=2)

    @tdsl.kernel
    def first(X: f32[only_here]) -> f32[1]:
        Y = tdsl.empty(1, f32)
        for i in range(1):
            Y[i] = X[i]
        return Y

    assert [dim.name for dim in first.function.dims] == ["only_here"]


def test_functions_of_the_language_outside_a_kernel() -> None:
    with pytest.raises(tdsl.TdslError) as caught:
        tdsl.exp(1.0)
    assert str(caught.value) == (
        "tdsl.exp(...) has a meaning only inside a kernel; use numpy.exp here"
    )
    with pytest.raises(tdsl.TdslError) as caught:
        tdsl.grid(1)
    assert str(caught.value) == "tdsl.grid(...) has a meaning only inside a kernel"


def test_the_decorator_is_not_the_module() -> None:
    program = "from tdsl.kernel import Kernel; import tdsl; print(tdsl.kernel)"
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    assert found.stdout.startswith("<function kernel at ")
    assert isinstance(tdsl.kernel, FunctionType)


def test_only_so_many_sizes_are_remembered(
    tuned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["tdsl.kernel"], "MOST_ENTRIES", 2)
    kernel = Kernel(matmul.function, backend=Recorder())
    tuned(kernel, kernel.schedule().to_json(), M=3, N=5, K=4)
    for rows in (1, 2, 3, 1):
        np.testing.assert_array_equal(kernel(A[:rows], B), A[:rows] @ B)
        assert len(kernel._entries) <= 2


def test_a_kernel_can_be_pickled_and_copied() -> None:
    fixed = matmul.with_schedule(matmul.schedule().split("i", 4))
    for copied in (pickle.loads(pickle.dumps(fixed)), copy.deepcopy(fixed)):
        assert copied.function == fixed.function
        assert copied.numerics == fixed.numerics
        assert copied.prove().verdict == "proved"
