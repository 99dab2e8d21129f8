"""The kernels of PolyBench agree with NumPy at a mini and an odd size."""

from __future__ import annotations

import copy
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdsl.analysis import validate
from tdsl.analysis.cost import Moved
from tdsl.schedules.library import default_schedule
from tdsl.target import AVX512

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))
try:
    from benchmarks import polybench as race
    from benchmarks.harness import ContenderError
    from benchmarks.limits import Limits, measure_limits, traffic_seconds
    from benchmarks.polybench_workloads import has_parallel_loops, numba_function
    from benchmarks.record import Record
    from examples import polybench
    from examples.polybench import __main__ as command
    from examples.polybench import check
finally:
    sys.path.remove(str(REPOSITORY))


PRESETS = ["mini", "primes", "small", "medium", "large", "bench"]

STEPS = 400_000
"""Elementary steps of isl, about 150 ms; the limit of a proof is 2.5 times as many."""


def test_there_are_thirty() -> None:
    assert len(polybench.NAMES) == len(set(polybench.NAMES)) == 30


@pytest.mark.parametrize("name", polybench.NAMES)
def test_the_proof_of_its_default_schedule_leaves_room(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = polybench.load(name).kernel.function
    scheduled = default_schedule(function, AVX512).function
    monkeypatch.setattr(validate, "OPERATIONS", STEPS)
    assert validate.validate(function, scheduled).verdict == "proved"


WHOLE_NUMBERS = {"floyd-warshall", "nussinov"}


@pytest.mark.parametrize("name", polybench.NAMES)
def test_it_agrees_with_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = polybench.load(name)
    finding = check.compare(benchmark, benchmark.sizes["primes"])
    assert finding.passed, str(finding)
    assert finding.criterion == ("equality" if name in WHOLE_NUMBERS else "bound")
    # Of the adi of 20 steps the bound takes 20 seconds; a tolerance is stated as well.
    monkeypatch.setattr(check, "BOUND_SECONDS", 1.0)
    finding = check.compare(benchmark, benchmark.sizes["mini"])
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
    module = sys.modules[polybench.load("gemm").kernel.__module__]
    monkeypatch.setattr(module, "reference", wrong_by(factor))
    assert command.main(["--check", "gemm", "--sizes", "primes"]) == code
    printed = capsys.readouterr().out
    assert ("WRONG" in printed) == bool(code)
    assert f"{1 - code} of 1 agree with NumPy" in printed


def test_the_kernels_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 30


# --- the benchmark ----------------------------------------------------------------

SEQUENTIAL = {"cholesky", "durbin", "nussinov", "seidel_2d", "trisolv"}


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("name", polybench.NAMES)
def test_the_loops_for_numba_agree_with_numpy(name: str, parallel: bool) -> None:
    """As Python they are slow, and say the same as when compiled."""
    benchmark = polybench.load(name)
    function = numba_function(benchmark.module, parallel)
    if parallel and function is numba_function(benchmark.module, False):
        return
    dims = benchmark.sizes["mini"]
    arguments = benchmark.initialize(dims)
    expected = benchmark.expect(copy.deepcopy(arguments), dims)
    results = benchmark.results(dims)
    every = dims | arguments | results
    function(*(every[each] for each in inspect.signature(function).parameters))
    tolerance = 1e-5 if benchmark.precision == 4 else 1e-11
    written = {each: arguments[each] for each in benchmark.updated} | results
    assert set(written) >= set(expected)
    for tensor, want in expected.items():
        limit = tolerance * np.abs(want).max()
        assert np.abs(written[tensor] - want).max() <= limit, tensor


def test_most_loops_have_a_parallel_variant() -> None:
    modules = {polybench.load(name).module for name in polybench.NAMES}
    assert {each for each in modules if not has_parallel_loops(each)} == SEQUENTIAL


def test_results_that_differ_are_refused() -> None:
    compare = race.Comparison(1e-6)
    first = np.array([[1.0, 2.0], [1e9, 0.0]])
    assert compare(first) == 0
    off = np.array([[0.0, 1e-7], [0.0, 0.0]])
    assert compare(first + off) == pytest.approx(5e-8)
    for wrong in (first + 100 * off, first * np.nan):
        with pytest.raises(ContenderError, match="wrong: its results are off by"):
            compare(wrong)


def test_the_benchmark_prints_rows(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--kernels", "trisolv", "--sizes", "mini", "--rounds", "2", "--json"]
    assert race.main([*options, "--budget", "0", "--threads", "1"]) == 0
    printed = capsys.readouterr()
    rows = json.loads(printed.out)
    names = ["numba", "tdsl-default", "tdsl-tuned"]
    assert [row["contender"] for row in rows] == names
    for row in rows:
        assert (row["kernel"], row["threads"]) == ("trisolv", 1)
        assert row["seconds"] > 0
        assert row["ratio"] > 0
        assert row["error"] < 1e-12
    assert rows[0]["ratio"] == 1.0
    assert "geometric mean" in printed.err


QUICK = ["--sizes", "mini", "--budget", "0", "--threads", "1", "--json"]


def row(kernel: str, contender: str, seconds: float, ratio: float) -> race.Row:
    return race.Row(kernel, contender, 1, seconds, ratio, {"N": 40}, 0.0)


def test_an_interrupted_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = []

    def measure(name: str, options: Any) -> list[race.Row]:
        calls.append(name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return [row(name, each, 0.5, 2.0) for each in race.ALL]

    monkeypatch.setattr(race, "measure", measure)
    kept = tmp_path / "rows.jsonl"
    options = [*QUICK, "--kernels", "durbin,trisolv", "--record", str(kept)]
    with pytest.raises(KeyboardInterrupt):
        race.main(options)
    with kept.open("a") as file:
        file.write('{"settings": {"kernel": "tri')  # killed while it wrote
    assert race.main(options) == race.main(options) == 0
    assert calls == ["durbin", "trisolv", "trisolv"]
    rows = json.loads(capsys.readouterr().out.split("\n]\n")[-2] + "]")
    assert [each["kernel"] for each in rows] == ["durbin"] * 4 + ["trisolv"] * 4
    race.main([*options, "--rounds", "1"])
    assert len(calls) == 5


def test_a_kernel_that_fails_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(name: str, options: Any) -> list[race.Row]:
        if name == "durbin":
            raise ZeroDivisionError("no luck")
        return [row(name, "numba", 0.5, 1.0)]

    monkeypatch.setattr(race, "measure", measure)
    kept = tmp_path / "rows.jsonl"
    options = [*QUICK, "--kernels", "durbin,trisolv", "--record", str(kept)]
    assert race.main(options) == 1
    printed = capsys.readouterr()
    assert [each["kernel"] for each in json.loads(printed.out)] == ["trisolv"]
    assert "durbin: failed" in printed.err
    assert "ZeroDivisionError: no luck" in printed.err
    assert not kept.exists(), "what lacks contenders is measured again"


def test_nothing_is_kept_without_a_file() -> None:
    record = Record(None)
    record.append({"kernel": "lu"}, [])
    assert record.find({"kernel": "lu"}) is None


def test_the_reason_is_the_largest_limit_not_beaten() -> None:
    limits = Limits({"cache": 0.9, "near cache": 0.4, "arithmetic": 0.1}, 1)
    assert limits.reason(0.5, 0.5) == (
        "loading and storing in the first cache takes 1 thread 0.4000 s, 80% of the "
        "time; that alone would be 1.25x"
    )
    assert limits.reason(1.0, 0.9).startswith("loading and storing in a cache that")
    assert limits.reason(0.05, 0.05) == (
        "it is faster than every limit that was measured"
    )


def test_low_ratios_have_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = polybench.load("trisolv")
    limits = Limits({"memory": 0.5}, 2)
    monkeypatch.setattr(race, "measure_limits", lambda *_: limits)
    options = race.parser().parse_args(["--threads", "2"])
    slow, fast = row("trisolv", "tdsl-tuned", 1.0, 1.1), row("trisolv", "numba", 1, 1)
    explained, alone = race.explained(benchmark, [slow, fast], options)
    assert "takes 2 threads 0.5000 s, 50% of the time; that alone would be 2.20x" in (
        explained.reason
    )
    assert alone == fast
    assert f"tdsl-tuned, 1.10x: {explained.reason}" in race.table([explained, fast])


def test_limits_are_measured() -> None:
    """durbin's loops run in order, so one thread counts; its arrays fit in a cache."""
    benchmark = polybench.load("durbin")
    limits = measure_limits(benchmark, benchmark.sizes["large"], 2, 1)
    assert limits.threads == 1
    assert set(limits.seconds) == {"cache", "near cache", "arithmetic"}
    # 2 * 10^6 iterations load 40 bytes and store 16, and do 4 operations.
    assert 1e-5 < limits.seconds["near cache"] < 1.0
    assert 1e-5 < limits.seconds["arithmetic"] < limits.seconds["near cache"]


def test_loads_beyond_copies_are_reading() -> None:
    work = Moved(loaded=5_000_000_000, stored=2_000_000_000)
    assert traffic_seconds(work, read=3.0, copied=2.0) == pytest.approx(4 / 2 + 3 / 3)
