"""Generated source as real modules in a cache folder.

The text is written once to `<cache>/<name>_<hash>.py` and imported under that name, so
that tracebacks show the generated lines and Numba keeps machine code beside the file: a
second process compiles nothing. The hash covers the code (not the comments, so that
moved or renamed files find theirs), the version of tdsl and the support code that
generated functions call. A folder that cannot be written is replaced
by a temporary one; unreadable machine code is compiled again.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.sigutils import normalize_signature

from ..notices import warn_user
from ..paths import cache_folder
from .comments import without_places

_SUPPORT = (
    "comments.py",
    "dealing.py",
    "form_rules.py",
    "lanes.py",
    "modules.py",
    "reserve.py",
    "scalar_rules.py",
    "simd.py",
    "simd_checks.py",
    "simd_memory.py",
    "simd_scattered.py",
    "sketches.py",
    "vector_formats.py",
    "vector_math.py",
)
_LOADING = threading.RLock()


def _version() -> str:
    try:
        return version("tdsl")
    except PackageNotFoundError:
        return "0"


@cache
def support_hash() -> str:
    """Return a hash of the code that generated modules call."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for name in _SUPPORT:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:12]


def load_module(name: str, text: str) -> ModuleType:
    """Return the module with this *text*, writing and importing it where it is new.

    Of texts that differ only in the places that their comments name the first stays.
    """
    stamp = f"# tdsl {_version()}, support code {support_hash()}\n"
    whole = stamp + text
    digest = hashlib.sha256(without_places(whole).encode()).hexdigest()[:16]
    module_name = f"{name}_{digest}"
    with _LOADING:
        loaded = sys.modules.get(f"tdsl_generated_{module_name}")
        if loaded is not None:
            return loaded
        path = _write(f"{module_name}.py", whole)
        module = _import(f"tdsl_generated_{module_name}", path)
        guard_caches(vars(module))
        return module


def _write(filename: str, text: str) -> Path:
    """Write the file where it is absent or damaged; return its path."""
    folder = cache_folder() / "modules"
    try:
        return _write_in(folder, filename, text)
    except OSError as problem:
        _warn_once(str(folder), str(problem))
        return _write_in(_temporary_folder(), filename, text)


def _write_in(folder: Path, filename: str, text: str) -> Path:
    path = folder / filename
    with contextlib.suppress(OSError, UnicodeDecodeError):
        written = path.read_text(encoding="utf-8")
        same = without_places(written) == without_places(text)
        if same and os.access(folder, os.W_OK):
            return path
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    return path


@cache
def _temporary_folder() -> Path:
    """Return a folder that lasts as long as this process."""
    folder = Path(tempfile.mkdtemp(prefix="tdsl_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _warn_once(folder: str, problem: str) -> None:
    warn_user(
        f"tdsl cannot keep compiled code in {folder} ({problem}); it goes to a "
        "temporary folder, so the next process compiles again. Set TDSL_CACHE to a "
        "folder that can be written.",
        RuntimeWarning,
    )


def _import(module_name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # before execution: Numba looks it up by name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


def guard_caches(namespace: Mapping[str, Any]) -> None:
    """Make what a module compiles ignore damaged machine code and full disks."""
    for member in namespace.values():
        if isinstance(member, Dispatcher):
            member._cache = GuardedCache(member.py_func)  # type: ignore[attr-defined]


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Wait until no other process writes to *folder*, if it can be locked."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


class GuardedCache(FunctionCache):
    """Numba's on-disk cache, for which damaged files and full disks are no error."""

    def __init__(self, py_func: Any) -> None:
        """Open the cache of *py_func*, fresh as long as all support code is the same.

        Numba looks at the file of *py_func* alone, but compiles what that calls in.
        """
        super().__init__(py_func)  # type: ignore[no-untyped-call]
        file = self._cache_file
        file._source_stamp = file._source_stamp, support_hash()

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the stored machine code, or None where there is none that works."""
        with contextlib.suppress(Exception):  # whatever a damaged pickle raises
            found = self._load_lightly(signature, target_context)
            arguments, _ = normalize_signature(signature)  # type: ignore[no-untyped-call]
            if found is None or found.signature.args == arguments:
                return found
        with contextlib.suppress(Exception):
            self.flush()  # type: ignore[no-untyped-call]
        return None

    def _load_lightly(self, signature: Any, target_context: Any) -> Any:
        """Load without what only compiling needs.

        Numba's own `load_overload` first imports all that it can compile, and SciPy's
        linear algebra with it: a third of a second. Stored machine code needs Numba's
        run-time functions; a compilation afterwards does those imports itself.
        """
        rtsys.initialize(target_context)
        return self._load_overload(signature, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, signature: Any, data: Any) -> None:
        """Store machine code if the disk takes it.

        Numba takes a free file name and notes it in an index: were two processes to do
        so at once, the code of one could stand in the index for that of the other.
        """
        try:
            with _locked(self.cache_path):
                super().save_overload(signature, data)  # type: ignore[no-untyped-call]
        except OSError as problem:
            _warn_once(str(self.cache_path), str(problem))
