"""What tuning remembers: the key of a job and one record a candidate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

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
        for name, kinds in _ROW.items():
            if name in values and not _is(values[name], kinds):
                raise TypeError(f"{name} is {values[name]!r}")
        for name in ("sizes", "samples", "rival_samples"):
            kinds = (int,) if name == "sizes" else (int, float)
            values[name] = tuple(row.get(name, ()))
            if not all(_is(value, kinds) for value in values[name]):
                raise TypeError(f"{name} holds {values[name]!r}")
        if row["status"] not in get_args(Status) or row["kind"] not in get_args(Kind):
            raise ValueError(f"status {row['status']!r}, kind {row['kind']!r}")
        if row["status"] == "measured" and not values["samples"]:
            raise ValueError("measured, but without samples")
        if not all(_is(value, (int, str, bool)) for value in row["config"].values()):
            raise TypeError(f"config is {row['config']!r}")
        return Record(**values)


_TEXT, _NUMBER, _MAYBE = (str,), (int, float), (int, float, type(None))
_ROW: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("key", "kind", "candidate", "status", "structure"), _TEXT),
    **dict.fromkeys(("scheduled", "proof", "rival", "cause", "detail"), _TEXT),
    **dict.fromkeys(("time", "space"), _TEXT),
    **dict.fromkeys(("max_error_over_bound", "ratio", "seconds"), _MAYBE),
    **dict.fromkeys(("sizes", "samples", "rival_samples"), (list, tuple)),
    "config": (dict,),
    "compile_seconds": _NUMBER,
    "seed": (int, type(None)),
}
"""What JSON may hold for each field."""


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether *value* is of one of *kinds*; a bool is no number."""
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds)


def digest(value: Any) -> str:
    """Return a short hash of a JSON value that does not depend on key order."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def ranked(records: Iterable[Record]) -> list[Record]:
    """Return the measured among *records*, fastest first; ties in order of trial."""
    measured = [record for record in records if record.ratio is not None]
    return sorted(measured, key=lambda record: record.ratio or 0.0)
