"""The ledger loses nothing and survives torn lines, full disks and kill -9."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tdsl.errors import CacheError
from tdsl.tuner.ledger import Corruption, Ledger, survey
from tdsl.tuner.records import Record

from .fakes import KEY

FOLDER = Path(__file__).parent


def record(name: str, **values: object) -> Record:
    base = Record(KEY.digest(), "trial", name, "measured", {"rows": 4}, samples=(1.0,))
    return replace(base, **values)  # type: ignore[arg-type]


def names(path: Path) -> list[str]:
    return [r.candidate for r in Ledger.open(path, KEY).records]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "ledger.jsonl"


def test_round_trip(path: Path) -> None:
    full = record("a", sizes=(8, 4), schedule=[["split", 3]], ratio=0.5, cause="x")
    Ledger.open(path, KEY).append(full)
    assert Ledger.open(path, KEY).records == [full]


def test_a_row_spells_out_its_key(path: Path) -> None:
    Ledger.open(path, KEY).append(record("a"))
    row = json.loads(path.read_text())
    assert row["tuning"]["kernel"] == "matmul"
    assert row["tuning"]["dims"] == {"M": 8}
    assert row["tuning"]["versions"] == {"tdsl": "0"}


def test_other_keys_are_kept_but_not_read(path: Path) -> None:
    Ledger.open(path, KEY).append(record("a"))
    other = replace(KEY, threads=2)
    assert Ledger.open(path, other).records == []
    assert other.digest() != KEY.digest()


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (2, "2 corrupt line(s) in the ledger (line 1, 2) are"),
        (8, "(line 1, 2, 3, 4, 5, 6, 7, 8) are"),
        (10, "(line 1, 2, 3, 4, 5, 6, 7, 8 and 2 more) are"),
    ],
)
def test_at_most_eight_corrupt_lines_are_named(count: int, shown: str) -> None:
    assert shown in str(Corruption(tuple(range(1, count + 1)), Path("aside")))


def test_a_survey_counts_records_of_all_keys_and_corrupt_lines(path: Path) -> None:
    Ledger.open(path, KEY).append(record("a"))
    other = Ledger.open(path, replace(KEY, threads=2))
    other.append(record("b"))
    with path.open("a") as stream:
        stream.write("no record\n\n{}\n[]\n")
    assert survey(path) == (2, 3)


def test_a_torn_last_line_is_healed(path: Path) -> None:
    Ledger.open(path, KEY).append(record("a"))
    with path.open("a") as stream:
        stream.write('{"key": "torn')
    ledger = Ledger.open(path, KEY)
    ledger.append(record("b"))
    assert names(path) == ["a", "b"]


def test_corrupt_lines_are_reported_and_kept_aside(path: Path) -> None:
    Ledger.open(path, KEY).append(record("a"))
    bad = [b"not json", b"[1, 2]", b'{"status": "odd"}', b"\xff\xfe", b"null"]
    with path.open("ab") as stream:
        stream.write(b"\n".join(bad) + b"\n")
    Ledger.open(path, KEY).append(record("b"))
    ledger = Ledger.open(path, KEY)
    assert [r.candidate for r in ledger.records] == ["a", "b"]
    assert ledger.corruption is not None
    assert ledger.corruption.lines == (2, 3, 4, 5, 6)
    assert "5 corrupt line(s) in the ledger (line 2, 3, 4, 5, 6)" in str(
        ledger.corruption
    )
    assert ledger.corruption.aside.read_bytes().splitlines() == bad  # once, not twice


@pytest.mark.parametrize(
    "change",
    [
        {"ratio": "fast"},
        {"ratio": True},
        {"samples": ["x"]},
        {"samples": []},
        {"sizes": [1.5]},
        {"sizes": 3},
        {"config": {"rows": [1]}},
        {"structure": 7},
        {"space": None},
        {"kind": "odd"},
        {"seed": "0"},
        {"compile_seconds": None},
    ],
)
def test_a_row_with_a_wrong_type_is_corrupt(
    path: Path, change: dict[str, object]
) -> None:
    Ledger.open(path, KEY).append(record("a"))
    row = json.loads(path.read_text())
    assert row["status"] == "measured"
    with path.open("a") as stream:
        stream.write(json.dumps({**row, "candidate": "b", **change}) + "\n")
    ledger = Ledger.open(path, KEY)
    assert [r.candidate for r in ledger.records] == ["a"]
    assert ledger.corruption is not None and ledger.corruption.lines == (2,)


def test_a_file_system_without_locks_is_reported(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(CacheError, match=r"cannot lock the ledger .*ledger.jsonl"):
        Ledger.open(path, KEY)


def test_an_unwritable_ledger_is_refused_before_work_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cannot create the folder"):
        Ledger.open(tmp_path / "file" / "ledger.jsonl", KEY)
    with pytest.raises(CacheError, match="is not a file; name a file"):
        Ledger.open(tmp_path, KEY)


@pytest.mark.parametrize("took", [0, 10])
def test_a_full_disk_is_remembered_and_loses_no_record(
    path: Path, monkeypatch: pytest.MonkeyPatch, took: int
) -> None:
    ledger = Ledger.open(path, KEY)
    ledger.append(record("a"))
    whole = path.read_bytes()
    real = os.write

    def full(handle: int, data: bytes) -> int:
        if not took:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data[:took])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        ledger.append(record("b"))
    assert ledger.trouble
    assert [r.candidate for r in ledger.records] == ["a", "b"]
    assert names(path) == ["a"]
    assert path.read_bytes() == whole  # no torn line is left behind


def append_many(path: str, worker: int) -> None:
    ledger = Ledger.open(Path(path), KEY)
    for number in range(30):
        ledger.append(record(f"{worker}.{number}", detail="x" * 5000))


def test_many_writers(path: Path) -> None:
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(append_many, [str(path)] * 3, range(3)))
    ledger = Ledger.open(path, KEY)
    assert ledger.corruption is None
    assert len({r.candidate for r in ledger.records}) == 90


JOB = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from fakes import FakeWorkshop, search

class Slow(FakeWorkshop):
    def measure(self, *arguments):
        time.sleep(0.01)
        return super().measure(*arguments)

found = search(Slow(), Path(sys.argv[1]), budget=1e6, seed=int(sys.argv[3])).run()
print(found.stop, found.best.config)
"""


def test_kill_9_then_restart(path: Path) -> None:
    """Killed again and again, the job still measures each candidate once."""
    command = [sys.executable, "-c", JOB, str(path), str(FOLDER)]
    kills = 0
    for attempt in range(3):
        job = subprocess.Popen([*command, str(attempt)], stdout=subprocess.DEVNULL)
        lines = path.read_bytes().count(b"\n") if path.exists() else 0
        while job.poll() is None:
            now = path.read_bytes().count(b"\n") if path.exists() else 0
            if now >= lines + 6:
                job.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.005)
        job.wait()
    assert kills == 3
    last = subprocess.run([*command, "9"], capture_output=True, text=True, check=True)
    assert last.stdout == "exhausted {'rows': 4, 'vectors': 2, 'block': 64}\n"
    tried = names(path)
    assert len(tried) == len(set(tried)) == 60
