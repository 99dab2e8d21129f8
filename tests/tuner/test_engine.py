"""What the engine of a worker answers, apart from compiled code."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tdsl.backends.peak import Peak
from tdsl.ir.nodes import Function
from tdsl.target import host
from tdsl.tuner import engine
from tdsl.tuner.engine import CpuEngine
from tdsl.tuner.problem import Program
from tdsl.tuner.requests import Request

from ..ir_text import read_function

TEXT = "def f(A: {0}[N], C: inout {1}[N]) for N:\n    for i in range(N):\n        {2}\n"


def update(dtype: str) -> Function:
    return read_function(TEXT.format(dtype, dtype, "C[i] += A[i]"))


def request(function: Function) -> Request:
    machine, nowhere = host(), Path("nowhere")
    return Request(
        *(function.name, function, {"N": 8}, 2, "reassoc"),
        *(machine, 1.0, 0, nowhere, None),
    )


@pytest.mark.parametrize(
    ("dtype", "gflops"),
    [
        ("f32", 400.0),
        ("f16", 400.0),
        ("c64", 400.0),
        ("f64", 200.0),
        ("c128", 200.0),
        ("i32", None),
        ("u8", None),
    ],
)
def test_the_peak_is_that_of_the_arithmetic_or_none(
    dtype: str,
    gflops: float | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    peaks = (Peak(1, 1.0, 1.0, 1.0, 1.0), Peak(2, 400.0, 200.0, 20.0, 30.0, False))
    monkeypatch.setattr(engine, "measure_peaks", lambda target, threads: peaks)
    function = update(dtype)
    program = tmp_path / "program"
    program.write_bytes(
        pickle.dumps(Program(function, host(), "reassoc", True, runtime_sizes=False))
    )
    wanted = request(function).arithmetic
    asked = {"program": str(program), "threads": 2, "dtype": wanted}
    found = {"gflops": gflops, "gigabytes": 30.0, "reliable": False}
    assert CpuEngine().peak(asked) == found


def test_arithmetic_of_several_dtypes_has_no_peak_of_its_own() -> None:
    text = TEXT.format("f32", "f64", "C[i] += f64((A[i] * A[i]))")
    function = read_function(text)
    assert request(function).dtype == "f64"
    assert request(function).arithmetic == ""
    assert (
        request(read_function(TEXT.format("f32", "f32", "C[i] = A[i]"))).arithmetic
        == ""
    )
