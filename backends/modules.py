"""Generated source as real modules in a cache folder.

The text is written once to `<cache>/<name>_<hash>.py` and imported under that name, so
that tracebacks show the generated lines and Numba keeps machine code beside the file: a
second process compiles nothing. The hash covers the code (not the comments, so that
moved or renamed files find theirs), the version of tdsl and the support code that
generated functions call. A folder that cannot be written is replaced
by a temporary one; machine code that is not as it was written is compiled again.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pickle
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys

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


class _TextLoader(SourceFileLoader):
    """Compiles a module's text each time: text is compared, bytecode is not."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the module's code."""
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def _import(module_name: str, path: Path) -> ModuleType:
    loader = _TextLoader(module_name, str(path))
    spec = importlib.util.spec_from_file_location(module_name, path, loader=loader)
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


class SealedFiles(IndexDataCacheFile):
    """Numba's index and data files, each behind a digest of what follows.

    Without, machine code with a wrong bit would run. Data name their own key besides:
    the index may name another process's file, as both choose the first name that is
    free.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep *data* under *key*."""
        super().save(key, (key, data))  # type: ignore[no-untyped-call]

    def load(self, key: Any) -> Any:
        """Return what is kept under *key*, or None."""
        found = super().load(key)  # type: ignore[no-untyped-call]
        return found[1] if found and found[0] == key else None

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_index(self) -> Any:
        stamp, overloads = self._read(self._index_path) or (None, {})
        return overloads if stamp == self._source_stamp else {}

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)  # type: ignore[no-untyped-call]

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))  # type: ignore[no-untyped-call]

    def _write(self, path: str, content: Any) -> None:
        data = self._dump(content)  # type: ignore[no-untyped-call]
        with self._open_for_write(path) as file:
            file.write(self._digest(data) + data)

    def _read(self, path: str) -> Any:
        """Return what was written to *path*, or None where it is not as it was."""
        try:
            sealed = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        size = hashlib.sha256().digest_size
        digest, data = sealed[:size], sealed[size:]
        return pickle.loads(data) if digest == self._digest(data) else None

    def _digest(self, data: bytes) -> bytes:
        return hashlib.sha256(self._version.encode() + data).digest()


class GuardedCache(FunctionCache):
    """Numba's on-disk cache, for which damaged files and full disks are no error."""

    def __init__(self, py_func: Any) -> None:
        """Open the cache of *py_func*, fresh as long as all support code is the same.

        Numba looks at the file of *py_func* alone, but compiles what that calls in.
        """
        super().__init__(py_func)  # type: ignore[no-untyped-call]
        stamp = self._impl.locator.get_source_stamp(), support_hash()
        self._cache_file = SealedFiles(  # type: ignore[no-untyped-call]
            self._cache_path, self._impl.filename_base, stamp
        )

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the stored machine code, or None where there is none that works."""
        with contextlib.suppress(Exception):  # an unreadable disk, another LLVM
            return self._load_lightly(signature, target_context)
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
