"""The folder of a job: arrays, programs, and what its workers print.

Its name holds the process id, so that the next job can tell, and remove, a folder whose
owner was killed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import CacheError

_NAME = re.compile(r"tdsl_tune_(\d+)_\w+")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Lend a folder for one job; raise CacheError where none can be made."""
    sweep()
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"tdsl_tune_{os.getpid()}_"))
    except OSError as error:
        raise unwritable(Path(tempfile.gettempdir()), error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Remove the folders of jobs whose process is gone."""
    try:
        found = list(Path(tempfile.gettempdir()).glob("tdsl_tune_*"))
    except OSError:
        return
    for folder in found:
        match = _NAME.fullmatch(folder.name)
        if match is not None and not _runs(int(match[1])):
            shutil.rmtree(folder, ignore_errors=True)


def unwritable(folder: Path, error: OSError) -> CacheError:
    """Return what to tell the user about a *folder* that cannot be written."""
    return CacheError(
        f"cannot write to {error.filename or folder}: {error.strerror or error}; make "
        "room, or set TMPDIR to another folder"
    )


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True  # somebody else's, or no process of ours at all
    return True
