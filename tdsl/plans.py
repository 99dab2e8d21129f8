"""Default schedules and proofs, kept on disk for the next process.

Both take longer to find than to read, and a first call needs both. Each is one small
file, named by a hash of all that the result follows from: the program as written, the
scheduled one or the machine, and the sources of tdsl. So no file is ever out of date.
One that is damaged, or cannot be written, counts as absent: the work is done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from . import analysis, ir, schedules
from .analysis.certificate import Certificate, Check
from .analysis.validate import validate
from .entries import program_hash
from .errors import CacheError, ScheduleError
from .ir.nodes import Function
from .ir.numerics import Numerics
from .paths import cache_folder, write_atomically
from .schedules.library import default_schedule
from .schedules.schedule import Schedule
from .target import Target


def prove(function: Function, schedule: Schedule, numerics: Numerics) -> Certificate:
    """Return the proof of *schedule* for *function*; only proved ones are kept."""
    scheduled = schedule.function
    key = _key("proof", program_hash(function), program_hash(scheduled), numerics)
    kept = _recall(key)
    if kept is not None:
        return _certificate(kept)
    certificate = validate(function, scheduled, numerics)
    if certificate.verdict == "proved":
        _keep(key, _certificate_json(certificate))
    return certificate


def plan(function: Function, target: Target, numerics: Numerics) -> Schedule:
    """Return the default schedule of *function*, which may have been found before."""
    key = _key("default", program_hash(function), repr(target), numerics)
    kept = _recall(key)
    if kept is not None:
        with contextlib.suppress(ScheduleError):
            return Schedule.from_json(function, kept)
    schedule = default_schedule(function, target, numerics)
    _keep(key, schedule.to_json())
    return schedule


@cache
def sources_stamp() -> str:
    """Return a hash of the code, ours and isl's, that schedules and proofs are from."""
    digest = hashlib.sha256()
    for name in ("tdsl", "islpy"):
        with contextlib.suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}\n".encode())
    for file in _sources():
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    for name in ("plans.py", "entries.py", "target.py"):
        yield Path(__file__).with_name(name)
    for package in (analysis, ir, schedules):
        for folder in package.__path__:
            yield from sorted(Path(folder).glob("*.py"))


def _key(*parts: str) -> str:
    text = "\n".join((*parts, sources_stamp()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


# --- files: a checksum of key and text, and the text --------------------------------


def _file(key: str) -> Path:
    return cache_folder() / "plans" / f"{key}.txt"


def _checksum(key: str, text: str) -> str:
    return hashlib.sha256(f"{key}\n{text}".encode()).hexdigest()


def _recall(key: str) -> str | None:
    """Return the text kept under *key* if it is there and whole."""
    try:
        checksum, _, text = _file(key).read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if checksum == _checksum(key, text) else None


def _keep(key: str, text: str) -> None:
    # A folder that cannot be written is reported where machine code is kept.
    with contextlib.suppress(CacheError):
        write_atomically(_file(key), f"{_checksum(key, text)}\n{text}")


def _certificate_json(certificate: Certificate) -> str:
    checks = [(check.name, check.reason) for check in certificate.checks]
    return json.dumps([certificate.reason, certificate.reassociated, checks])


def _certificate(text: str) -> Certificate:
    loaded: Any = json.loads(text)
    reason, reassociated, checks = loaded
    return Certificate(
        "proved",
        reason,
        tuple(Check(name, "proved", why) for name, why in checks),
        reassociated=reassociated,
    )
