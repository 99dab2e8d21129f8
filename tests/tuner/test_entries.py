"""Tuned schedules that plain calls look up."""

from __future__ import annotations

import errno
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tdsl.entries import (
    Entry,
    EntryWarning,
    entries,
    fingerprint,
    forget,
    lookup,
    situation,
    store,
)
from tdsl.errors import CacheError
from tdsl.paths import write_atomically
from tdsl.target import AVX2, AVX512

WHERE = situation("p", {"N": 3, "M": 2}, 1, "reassoc", fingerprint(AVX2))
ENTRY = Entry(WHERE, '{"steps": []}', 1.0, 2.0, "proved")


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    return tmp_path


def test_round_trip() -> None:
    assert lookup(WHERE) is None
    store(ENTRY)
    assert json.loads(lookup(WHERE) or "") == {"steps": []}


def test_the_order_of_dims_is_no_difference() -> None:
    store(ENTRY)
    other = situation("p", {"M": 2, "N": 3}, 1, "reassoc", fingerprint(AVX2))
    assert lookup(other) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"dims": (("M", 2), ("N", 4))},
        {"threads": 2},
        {"numerics": "bitwise"},
        {"target": fingerprint(AVX512)},
        {"program": "q"},
    ],
)
def test_other_situations_do_not_match(change: dict[str, object]) -> None:
    store(ENTRY)
    assert lookup(replace(WHERE, **change)) is None  # type: ignore[arg-type]


def test_a_new_entry_replaces_only_its_own() -> None:
    store(ENTRY)
    other = replace(ENTRY, situation=replace(WHERE, threads=2))
    store(other)
    store(replace(ENTRY, schedule='{"steps": [1]}'))
    assert lookup(WHERE) == '{"steps": [1]}'
    assert lookup(other.situation) == '{"steps": []}'
    assert len(entries("p")) == 2


def test_forgetting() -> None:
    forget(WHERE)  # nothing there: nothing to do
    store(ENTRY)
    forget(WHERE)
    assert lookup(WHERE) is None


@pytest.mark.parametrize(
    "text", ["", "not json", "[]", "{}", '{"format": 99, "entries": []}', "\xff"]
)
def test_a_corrupt_file_is_warned_about_and_ignored(text: str) -> None:
    path = store(ENTRY)
    path.write_bytes(text.encode("latin-1"))
    with pytest.warns(EntryWarning, match="cannot be read"):
        assert lookup(WHERE) is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store(ENTRY)
    assert lookup(WHERE) is not None


def test_a_bad_row_costs_only_itself(private: Path) -> None:
    store(ENTRY)
    path = store(replace(ENTRY, situation=replace(WHERE, threads=2)))
    content = json.loads(path.read_text())
    del content["entries"][0]["dims"]
    damaged = json.dumps(content)
    path.write_text(damaged)
    with pytest.warns(EntryWarning, match="entry 1: KeyError"):
        assert lookup(replace(WHERE, threads=2)) is not None
    store(replace(ENTRY, situation=replace(WHERE, threads=3)))
    assert {entry.situation.threads for entry in entries("p")} == {2, 3}
    aside = private / "entries" / "p.json.corrupt"
    assert aside.read_text() == damaged
    forget(replace(WHERE, threads=3))
    assert {entry.situation.threads for entry in entries("p")} == {2}


@pytest.mark.parametrize("change", [lambda: store(ENTRY), lambda: forget(WHERE)])
def test_a_file_that_cannot_be_read_is_not_rewritten(
    change: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(WHERE, threads=2)
    store(replace(ENTRY, situation=other))

    def fail(*arguments: object, **options: object) -> str:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", fail)
        with pytest.raises(CacheError, match="not rewritten: Input/output error"):
            change()
    assert lookup(other) is not None


def test_an_unwritable_folder_is_an_error(private: Path) -> None:
    (private / "entries").write_text("in the way")
    with pytest.raises(CacheError, match="cannot create the folder"):
        store(ENTRY)


def test_no_partial_file_is_left(private: Path) -> None:
    store(ENTRY)
    assert sorted(p.name for p in (private / "entries").iterdir()) == [
        "p.json",
        "p.lock",
    ]


def test_two_who_write_at_once_do_not_meet(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even with one process id, as in two containers."""
    path, synchronise = private / "shared.txt", os.fsync

    def meanwhile(handle: int) -> None:
        monkeypatch.setattr(os, "fsync", synchronise)
        write_atomically(path, "theirs")
        assert path.read_text() == "theirs"
        synchronise(handle)

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_atomically(path, "ours")
    assert path.read_text() == "ours"
    assert list(private.iterdir()) == [path]
