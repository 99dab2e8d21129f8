"""The suite's cases are stated alike for all libraries, and measured as they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))
try:
    from benchmarks import __main__ as command
    from benchmarks.harness import ContenderError, Measurement, Outcome
    from benchmarks.suite import measure, ours, page, workloads
    from benchmarks.suite.cases import cpu_cases
    from benchmarks.suite.contenders import PEERS, case_arguments
finally:
    sys.path.remove(str(REPOSITORY))

SMALL = {case.kernel: case.small for case in cpu_cases()}
ROUNDINGS = 2.0**-18  # of a share of the largest element, after some dozens in f32
STATED = [
    (kernel, name)
    for kernel, case in SMALL.items()
    for name, peer in PEERS.items()
    if name in ("numpy", "torch", "torch-nchw", "numba", "numexpr", "jax")
    and peer.runs(case)
]


@pytest.mark.parametrize("kernel", SMALL)
def test_the_default_schedule_computes_what_is_stated(kernel: str) -> None:
    case = SMALL[kernel]
    result = ours.tdsl_workload(case_arguments(case, 1)).result()
    assert measure.Exact(case)(result) < ROUNDINGS


@pytest.mark.parametrize(("kernel", "name"), STATED)
def test_a_library_computes_what_is_stated(kernel: str, name: str) -> None:
    case, peer = SMALL[kernel], PEERS[name]
    pytest.importorskip(peer.package)
    arguments = case_arguments(case, 1) | {"way": peer.way}
    workload = getattr(workloads, f"{peer.workload}_workload")(arguments)
    workload.run()
    narrow = kernel == "matmul_bf16" and name in ("torch", "jax")
    assert measure.Exact(case)(workload.result()) < (2.0**-8 if narrow else ROUNDINGS)


def test_every_case_has_a_name_of_its_own_and_a_library_to_race() -> None:
    cases = cpu_cases()
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert any(peer.runs(case) for peer in PEERS.values()), case.name


def test_a_wrong_result_is_not_measured() -> None:
    exact = measure.Exact(SMALL["matvec"])
    with pytest.raises(ContenderError, match="wrong: its result is off by"):
        exact(np.zeros(SMALL["matvec"].dims["M"], np.float32))


def measured(*rounds: float) -> Measurement:
    return Measurement(rounds, 0.0)


def test_rows_compare_with_the_fastest_library_and_the_roof() -> None:
    found = {
        "roof": measured(1.0, 1.0, 1.0),
        "tdsl": measured(2.0, 2.0, 2.0),
        "numpy": measured(8.0, 8.0, 8.0),
        "torch": measured(3.0, 3.0, 3.0),
    }
    rows = measure.rows_of(SMALL["softmax"], 2, Outcome(found, {}))
    shown = {row.contender: (row.ratio, row.roof) for row in rows}
    assert shown == {
        "tdsl": (1.5, 0.5),
        "numpy": (3 / 8, 1 / 8),
        "torch": (1.0, 1 / 3),
    }
    assert "rows" in measure.means(rows, "tdsl")
    assert "1.50x the best library" in measure.table(rows)
    text = page.page(rows)
    assert "softmax-13x37, 2 threads" in text
    assert text.count("<tr") == 1 + 1 + 1 + len(rows)


def test_the_command_prints_rows_and_keeps_them(tmp_path: Path) -> None:
    record, report = tmp_path / "rows.jsonl", tmp_path / "report.html"
    options = "--suite cpu --small --cases row_means --threads 1 --peers numpy --json"
    run = [sys.executable, "-m", "benchmarks", *options.split()]
    run += ["--rounds", "2", "--seconds", "0.002"]
    run += ["--record", str(record), "--html", str(report)]
    for _ in range(2):
        finished = subprocess.run(run, cwd=REPOSITORY, capture_output=True, text=True)
        assert finished.returncode == 0, finished.stderr
        rows = json.loads(finished.stdout)
        assert [row["contender"] for row in rows] == ["tdsl", "tdsl-default", "numpy"]
    assert "measured before" in finished.stderr
    assert "row_means-13x37" in report.read_text(encoding="utf-8")


def test_a_case_that_does_not_exist_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        command.main(["--suite", "cpu", "--cases", "fourier"])
    assert "no case starts with fourier; --list prints all" in capsys.readouterr().err
