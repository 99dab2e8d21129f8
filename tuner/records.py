"""What tuning remembers: the key of a job and one record a candidate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Status = Literal["measured", "refused", "failed"]
Kind = Literal["trial", "final"]
Config = dict[str, int | str | bool]

PROTOCOL = 1
"""Counts changes of how candidates are timed; times of two protocols do not mix."""


@dataclass(frozen=True, slots=True)
class Key:
    """Everything that a measured time depends on, besides the candidate.

    The program is named by its canonical text, so renaming a file or editing a comment
    loses nothing; a new Numba, a new thread count or a new protocol starts afresh.
    """

    program: str
    kernel: str
    dims: dict[str, int]
    dtypes: dict[str, str]
    threads: int
    numerics: str
    target: str
    versions: dict[str, str]
    protocol: int = PROTOCOL

    def digest(self) -> str:
        """Return the name under which the ledger keeps rows of this key."""
        return digest(asdict(self))


@dataclass(frozen=True, slots=True)
class Record:
    """One candidate: what it was, and what became of it.

    *candidate* identifies the generated program and its run-time sizes (or, where it
    was refused before there was one, its config). *ratio* is its time over that of the
    default schedule, measured in interleaved rounds. *space* names the version of the
    search space: only within one does a config stand for the same program.
    """

    key: str
    kind: Kind
    candidate: str
    status: Status
    config: Config
    structure: str = ""
    sizes: tuple[int, ...] = ()
    schedule: Any = None
    scheduled: str = ""
    proof: str = ""
    max_error_over_bound: float | None = None
    ratio: float | None = None
    seconds: float | None = None
    samples: tuple[float, ...] = ()
    rival: str = ""
    rival_samples: tuple[float, ...] = ()
    compile_seconds: float = 0.0
    cause: str = ""
    detail: str = ""
    time: str = ""
    seed: int | None = None
    space: str = ""

    def to_json(self, key: Key) -> dict[str, Any]:
        """Return the row of this record, with its key spelled out."""
        row = {name: value for name, value in asdict(self).items() if value != ""}
        row["tuning"] = asdict(key)
        return row

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> Record:
        """Read a row; raise ValueError, KeyError or TypeError where it is not one."""
        known = {f.name for f in fields(Record)}
        values = {name: row[name] for name in known if name in row}
        values["sizes"] = tuple(row.get("sizes", ()))
        for name in ("samples", "rival_samples"):
            values[name] = tuple(float(value) for value in row.get(name, ()))
        if row["status"] not in ("measured", "refused", "failed"):
            raise ValueError(f"status {row['status']!r}")
        if not isinstance(row["config"], dict) or not isinstance(row["candidate"], str):
            raise TypeError("config is an object and candidate a string")
        return Record(**values)


def digest(value: Any) -> str:
    """Return a short hash of a JSON value that does not depend on key order."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
