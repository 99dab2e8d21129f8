"""The ledger: an append-only file of JSON lines, one for each candidate.

Nothing is ever rewritten. An append is one locked write of one line, followed by a
flush to the disk, so a killed job loses at most the candidate it was working on. A torn
last line (the machine lost power) is closed by the next append and reported as corrupt
by the next reader; corrupt lines are copied aside, never dropped from the ledger.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import CacheError
from ..paths import make_folder
from .records import Key, Record


@dataclass(frozen=True, slots=True)
class Corruption:
    """Lines of a ledger that are not records, by 1-based number."""

    lines: tuple[int, ...]
    aside: Path

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.lines[:8]))
        more = f" and {len(self.lines) - 8} more" if len(self.lines) > 8 else ""
        return (
            f"{len(self.lines)} corrupt line(s) in the ledger (line {shown}{more}) are "
            f"ignored; a copy is in {self.aside}"
        )


@dataclass(slots=True)
class Ledger:
    """The records of one key, and the file that new ones are appended to.

    *trouble* says why records no longer reach the file (a full disk, say); they are
    then kept in memory, so that the job still ends with its result.
    """

    path: Path
    key: Key
    records: list[Record] = field(default_factory=list)
    corruption: Corruption | None = None
    trouble: str = ""

    @staticmethod
    def open(path: Path, key: Key) -> Ledger:
        """Read the records of *key* from *path*, creating the file where missing.

        Raise CacheError where the file cannot be read or appended to: better before
        the work starts than after.
        """
        make_folder(path.parent)
        if path.exists() and not path.is_file():
            raise CacheError(f"the ledger {path} is not a file; name a file")
        with _opened(path) as handle:
            try:
                data = _read_all(handle)
            except OSError as error:
                raise _unusable("read", path, error) from error
        ledger = Ledger(path, key)
        bad = ledger._load(data)
        if bad:
            ledger.corruption = _set_aside(path, bad)
        return ledger

    def append(self, record: Record) -> None:
        """Add *record*; where the file refuses, remember why and keep it in memory."""
        self.records.append(record)
        line = json.dumps(record.to_json(self.key), separators=(",", ":")) + "\n"
        try:
            with _opened(self.path) as handle:
                _write_line(handle, line.encode())
        except (OSError, CacheError) as error:
            self.trouble = self.trouble or str(error)

    def trials(self) -> dict[str, Record]:
        """Return the record of each candidate tried, in order of trial.

        A failure counts until the candidate is measured after all.
        """
        found: dict[str, Record] = {}
        for record in self.records:
            if record.kind == "trial":
                known = found.setdefault(record.candidate, record)
                if known.status == "failed" and record.status == "measured":
                    found[record.candidate] = record
        return found

    def failures(self, candidate: str) -> int:
        """Return how many jobs *candidate* failed in."""
        return sum(
            record.candidate == candidate
            and record.kind == "trial"
            and record.status == "failed"
            for record in self.records
        )

    def _load(self, data: bytes) -> list[tuple[int, bytes]]:
        wanted, bad = self.key.digest(), []
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            record = _parse(line)
            if record is None:
                bad.append((number, line))
            elif record.key == wanted:
                self.records.append(record)
        return bad


def survey(path: Path) -> tuple[int, int]:
    """Return how many records, of all keys, and corrupt lines a ledger holds."""
    rows = corrupt = 0
    for line in path.read_bytes().split(b"\n"):
        if line.strip():
            rows, corrupt = (rows + 1, corrupt) if _parse(line) else (rows, corrupt + 1)
    return rows, corrupt


def _parse(line: bytes) -> Record | None:
    """Return the record of a line, or None where it is corrupt."""
    try:
        return Record.from_json(json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open *path* for locked reading and appending."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise _unusable("open", path, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            raise _unusable("lock", path, error) from error
        yield handle
    finally:
        os.close(handle)


def _unusable(what: str, path: Path, error: OSError) -> CacheError:
    return CacheError(
        f"cannot {what} the ledger {path}: {error.strerror or error}; choose another "
        "with --ledger PATH"
    )


def _read_all(handle: int) -> bytes:
    chunks = []
    while chunk := os.read(handle, 1 << 20):
        chunks.append(chunk)
    return b"".join(chunks)


def _write_line(handle: int, line: bytes) -> None:
    """Append *line* in one write; on failure leave the file as it was."""
    end = os.lseek(handle, 0, os.SEEK_END)
    torn = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
    data = b"\n" + line if torn else line
    try:
        written = os.write(handle, data)
        if written < len(data):
            raise OSError("the disk took only part of a line; it is probably full")
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, end)
        raise


def _set_aside(path: Path, bad: list[tuple[int, bytes]]) -> Corruption:
    """Copy corrupt lines beside the ledger, once each."""
    aside = path.with_name(path.name + ".corrupt")
    try:
        known = set(aside.read_bytes().split(b"\n")) if aside.exists() else set()
        with aside.open("ab") as stream:
            for _, line in bad:
                if line not in known:
                    stream.write(line + b"\n")
    except OSError:
        pass  # the ledger itself still holds them; the report names their lines
    return Corruption(tuple(number for number, _ in bad), aside)
