"""The folder of a job: arrays, programs, and what its workers print.

A job holds a lock in its folder while it lives, so that others, in other containers
too, can tell and remove a folder whose owner was killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..errors import CacheError

_PREFIX = "tdsl_tune_"
_LOCK = "owner.lock"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Lend a folder for one job; raise CacheError where none can be made."""
    sweep()
    with ExitStack() as stack:
        try:
            folder = _locked_folder(stack)
        except OSError as error:
            raise unwritable(Path(tempfile.gettempdir()), error) from error
        yield folder


def _locked_folder(stack: ExitStack) -> Path:
    """Return a new folder, which *stack* removes, then unlocks."""
    unlocked = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
    stack.callback(shutil.rmtree, unlocked, ignore_errors=True)
    _lock(unlocked, stack, os.O_CREAT)
    # From here on sweeps can see it.
    folder = unlocked.rename(unlocked.with_name(unlocked.name.removeprefix(".")))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


def sweep() -> None:
    """Remove the folders of jobs that are gone."""
    try:
        found = list(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"))
    except OSError:
        return
    for folder in found:
        with ExitStack() as stack:
            if _lock(folder, stack):
                shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path, stack: ExitStack, flags: int = 0) -> bool:
    """Lock *folder* until *stack* ends; return whether nobody else has done so.

    Where there is no lock, or where files cannot be locked, it counts as locked.
    """
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | flags, 0o600)
    except OSError:
        return False
    stack.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def unwritable(folder: Path, error: OSError) -> CacheError:
    """Return what to tell the user about a *folder* that cannot be written."""
    return CacheError(
        f"cannot write to {error.filename or folder}: {error.strerror or error}; make "
        "room, or set TMPDIR to another folder"
    )
