"""Where tdsl keeps files: compiled kernels, tuned entries, the ledger.

Everything lies under one folder, `TDSL_CACHE` or else `tdsl` in the user's cache, and
all of it is safe to delete: what is lost is only the time to make it again.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from secrets import token_hex

from .errors import CacheError


def cache_folder() -> Path:
    """Return the folder of everything that tdsl keeps; it need not exist yet."""
    chosen = os.environ.get("TDSL_CACHE")
    if chosen:
        return _absolute(chosen)
    return _absolute(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "tdsl"


@cache
def _absolute(folder: str) -> Path:
    """Return *folder*, which stays where it was first, whatever folder is entered."""
    return Path(folder).expanduser().absolute()


def entries_folder() -> Path:
    """Return the folder of tuned schedules, one file a program."""
    return cache_folder() / "entries"


def default_ledger() -> Path:
    """Return the ledger that `tdsl tune` appends to unless told otherwise."""
    return cache_folder() / "ledger.jsonl"


def make_folder(folder: Path) -> Path:
    """Create *folder* where it is missing; raise CacheError if it cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheError(
            f"cannot create the folder {folder}: {error.strerror or error}; set "
            "TDSL_CACHE to a folder that can be written"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CacheError(
            f"cannot write to the folder {folder}; set TDSL_CACHE to another one"
        )
    return folder


def write_atomically(path: Path, text: str) -> None:
    """Replace the content of *path* so that a reader sees the old or the new text.

    Raise CacheError where the disk is full or the folder cannot be written.
    """
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        with temporary.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise CacheError(f"cannot write {path}: {error.strerror or error}") from error
