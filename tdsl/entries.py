"""Tuned schedules that a plain kernel call looks up: one small JSON file a program.

The tuner stores the winner of a job here, and `Kernel.__call__` asks for it at the
first call with given dims. Nothing of the tuner is needed to read an entry.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import CacheError
from .ir.nodes import Function
from .ir.printer import print_function
from .paths import entries_folder, make_folder, write_atomically
from .target import Target

FORMAT = 1


class EntryWarning(UserWarning):
    """Report an entry file that cannot be read, and is therefore not used."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a schedule was tuned for; equal situations share an entry."""

    program: str
    dims: tuple[tuple[str, int], ...]
    threads: int
    numerics: str
    target: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A tuned schedule, as its JSON text, and what was measured for it."""

    situation: Situation
    schedule: str
    seconds: float
    default_seconds: float
    proof: str
    ledger: str = ""


def program_hash(function: Function) -> str:
    """Return the identity of a program: its canonical text, no file name."""
    return hashlib.sha256(print_function(function).encode()).hexdigest()[:20]


def fingerprint(target: Target) -> str:
    """Return what of a machine a tuned schedule depends on, besides the threads."""
    caches = "-".join(str(size // 1024) for size in (target.l1, target.l2, target.l3))
    parts = (target.cpu, target.vector_bits, target.vector_registers, caches)
    return ":".join(map(str, parts))


def situation(
    program: str, dims: Mapping[str, int], threads: int, numerics: str, target: str
) -> Situation:
    """Return the situation with *dims* in canonical order."""
    pairs = tuple(sorted((name, int(size)) for name, size in dims.items()))
    return Situation(program, pairs, threads, numerics, target)


def store(entry: Entry) -> Path:
    """Keep *entry*, replacing an older one for the same situation; return its file."""
    path = _file(entry.situation.program)
    make_folder(path.parent)
    with _locked(path):
        others = [e for e in _read(path) if e.situation != entry.situation]
        rows = [_to_json(e) for e in (*others, entry)]
        text = json.dumps({"format": FORMAT, "entries": rows}, indent=1)
        write_atomically(path, text + "\n")
    return path


def forget(where: Situation) -> None:
    """Drop the entry of one situation: its default schedule turned out best."""
    path = _file(where.program)
    if not path.exists():
        return
    with _locked(path):
        rows = [_to_json(e) for e in _read(path) if e.situation != where]
        text = json.dumps({"format": FORMAT, "entries": rows}, indent=1)
        write_atomically(path, text + "\n")


def lookup(where: Situation) -> str | None:
    """Return the JSON text of the schedule tuned for *where*, or None.

    A file that cannot be read is reported by an `EntryWarning` and ignored.
    """
    for entry in _read(_file(where.program)):
        if entry.situation == where:
            return entry.schedule
    return None


def entries(program: str) -> tuple[Entry, ...]:
    """Return every entry of one program."""
    return tuple(_read(_file(program)))


def _file(program: str) -> Path:
    return entries_folder() / f"{program}.json"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise CacheError(f"cannot lock {path}: {error.strerror or error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _read(path: Path) -> list[Entry]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        _ignore(path, error)
        return []
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}, expected {FORMAT}")
        return [_from_json(row) for row in content["entries"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        _ignore(path, error)
        return []


def _ignore(path: Path, error: Exception) -> None:
    warnings.warn(
        f"the tuned schedules in {path} cannot be read ({error!r}) and are not used; "
        "delete the file, or tune the kernel again",
        EntryWarning,
        stacklevel=4,
    )


def _to_json(entry: Entry) -> dict[str, Any]:
    where = entry.situation
    return {
        "program": where.program,
        "dims": dict(where.dims),
        "threads": where.threads,
        "numerics": where.numerics,
        "target": where.target,
        "schedule": json.loads(entry.schedule),
        "seconds": entry.seconds,
        "default_seconds": entry.default_seconds,
        "proof": entry.proof,
        "ledger": entry.ledger,
    }


def _from_json(row: Mapping[str, Any]) -> Entry:
    where = situation(
        row["program"], row["dims"], row["threads"], row["numerics"], row["target"]
    )
    return Entry(
        where,
        json.dumps(row["schedule"]),
        float(row["seconds"]),
        float(row["default_seconds"]),
        str(row["proof"]),
        str(row.get("ledger", "")),
    )
