"""The kernels of PolyBench agree with NumPy at a mini and an odd size."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))
try:
    from examples import polybench
    from examples.polybench import __main__ as command
    from examples.polybench import check
finally:
    sys.path.remove(str(REPOSITORY))


PRESETS = ["mini", "primes", "small", "medium", "large", "bench"]


def test_there_are_thirty() -> None:
    assert len(polybench.NAMES) == len(set(polybench.NAMES)) == 30


@pytest.mark.parametrize("name", polybench.NAMES)
def test_it_agrees_with_numpy(name: str) -> None:
    benchmark = polybench.load(name)
    for preset in check.PRESETS:
        finding = check.compare(benchmark, benchmark.sizes[preset])
        assert finding.passed, str(finding)


@pytest.mark.parametrize("name", polybench.NAMES)
def test_a_file_is_as_the_package_says(name: str) -> None:
    benchmark = polybench.load(name)
    assert benchmark.summary.startswith(f"{name}: ")
    assert list(benchmark.sizes) == PRESETS
    dims = {dim.name for dim in benchmark.kernel.function.dims}
    for sizes in benchmark.sizes.values():
        assert set(sizes) == dims
    small = benchmark.sizes["mini"]
    params = [p for p in benchmark.kernel.function.params if not p.returned]
    first, again = benchmark.initialize(small), benchmark.initialize(small)
    assert list(first) == [p.tensor.name for p in params]
    for param in params:
        value = np.asarray(first[param.tensor.name])
        assert value.dtype == param.tensor.dtype.numpy
        assert value.shape == tuple(e.evaluate(small) for e in param.tensor.shape)
        assert np.array_equal(value, again[param.tensor.name])


def wrong_by(factor: float) -> Callable[..., dict[str, Any]]:
    original = polybench.load("gemm").reference

    def reference(
        alpha: float, beta: float, A: np.ndarray, B: np.ndarray, C: np.ndarray
    ) -> dict[str, Any]:
        results = original(alpha, beta, A, B, C)
        results["C"][-1, -1] *= factor
        return results

    return reference


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (1 + 1e-12, 1)])
def test_one_wrong_element_is_found(
    factor: float,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = sys.modules["examples.polybench.gemm"]
    monkeypatch.setattr(module, "reference", wrong_by(factor))
    assert command.main(["--check", "gemm", "--sizes", "primes"]) == code
    printed = capsys.readouterr().out
    assert ("WRONG" in printed) == bool(code)
    assert f"{1 - code} of 1 agree with NumPy" in printed


def test_the_kernels_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 30
