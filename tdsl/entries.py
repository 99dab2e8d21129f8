"""Tuned schedules that a plain kernel call looks up: one small JSON file a program.

The tuner stores the winner of a job here, and `Kernel.__call__` asks for it at the
first call with given dims. Nothing of the tuner is needed to read an entry.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import CacheError
from .ir.canonical import canonical_text
from .ir.nodes import Function
from .notices import warn_user
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
    """Return the identity of a program: equal for no two that differ."""
    return hashlib.sha256(canonical_text(function).encode()).hexdigest()[:20]


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
        others = [e for e in _kept(path) if e.situation != entry.situation]
        _write(path, [*others, entry])
    return path


def forget(where: Situation) -> None:
    """Drop the entry of one situation: its default schedule turned out best."""
    path = _file(where.program)
    if not path.exists():
        return
    with _locked(path):
        _write(path, [e for e in _kept(path) if e.situation != where])


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
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            raise CacheError(
                f"cannot lock {path}: {error.strerror or error}; set TDSL_CACHE to a "
                "folder on another file system"
            ) from error
        yield
    finally:
        os.close(lock)


@dataclass(frozen=True, slots=True)
class _Content:
    """The entries of a file that can be read, and what is wrong with others."""

    entries: list[Entry]
    damage: str = ""


def _read(path: Path) -> list[Entry]:
    """Return what can be read of a file, with a warning about the rest."""
    try:
        content = _load(path)
    except OSError as error:
        content = _Content([], repr(error))
    if content.damage:
        warn_user(
            f"some tuned schedules in {path} cannot be read ({content.damage}) and "
            "are not used; delete the file, or tune the kernel again",
            EntryWarning,
        )
    return content.entries


def _kept(path: Path) -> list[Entry]:
    """Return the entries that a rewrite keeps; a damaged file is moved aside first.

    Raise CacheError where the file cannot be read: its entries would be lost.
    """
    try:
        content = _load(path)
        if content.damage:
            path.replace(path.with_name(path.name + ".corrupt"))
    except OSError as error:
        raise CacheError(
            f"cannot read {path}, which is therefore not rewritten: "
            f"{error.strerror or error}"
        ) from error
    return content.entries


def _load(path: Path) -> _Content:
    """Read a file row by row; raise OSError where it cannot be opened."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return _Content([])
    except UnicodeDecodeError as error:
        return _Content([], f"no UTF-8 text: {error.reason} at byte {error.start}")
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}, expected {FORMAT}")
        rows = list(content["entries"])
    except (ValueError, KeyError, TypeError) as error:
        return _Content([], repr(error))
    found, damage = [], ""
    for number, row in enumerate(rows, start=1):
        try:
            found.append(_from_json(row))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            damage = damage or f"entry {number}: {error!r}"
    return _Content(found, damage)


def _write(path: Path, kept: list[Entry]) -> None:
    rows = [_to_json(entry) for entry in kept]
    text = json.dumps({"format": FORMAT, "entries": rows}, indent=1)
    write_atomically(path, text + "\n")


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
