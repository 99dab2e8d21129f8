"""From `FILE.py:KERNEL DIM=VALUE...` to a kernel and its dims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from ..errors import TdslError
from ..ir.given import shown
from ..kernel import Kernel
from ..tuner import scripts
from .failures import UsageError

_OWN_FILES = (__file__, scripts.__file__)


def load_kernel(place: str) -> tuple[Kernel, ModuleType, Path]:
    """Return the kernel at `FILE.py:KERNEL`, its module and its file.

    The file may be named as a module, as in `package.kernels:matmul`, and the kernel
    may be left out where the file holds one.
    """
    file, colon, name = place.rpartition(":")
    if not colon:
        file, name = place, ""
    module, path = _load(file)
    return _choose(kernels(module), name, file), module, path


def _load(file: str) -> tuple[ModuleType, Path]:
    """Return the module in *file*, which may also be its name, and its path."""
    path = Path(file)
    try:
        if not path.is_file():
            path = scripts.module_file(file) or path
        if not path.is_file():
            raise UsageError(_not_found(file))
        return scripts.load_script(path), path
    except (TdslError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        raise UsageError(
            f"{file} ended the program while it was loaded (SystemExit {error.code}); "
            'put its main part under `if __name__ == "__main__":`'
        ) from error
    except Exception as error:
        raise UsageError(
            f"{file} cannot be loaded: {type(error).__name__}: {error}"
            f"{_place(error, path)}"
        ) from error


def _not_found(file: str) -> str:
    if file.endswith(".py"):
        return f"no such file: {file}; name a kernel as FILE.py:KERNEL"
    return (
        f"no such file or module: {file}; name a kernel as FILE.py:KERNEL, or as "
        "MODULE:KERNEL"
    )


def _place(error: Exception, path: Path) -> str:
    """Return the innermost line of the user's file, or of another, with the error."""
    frames = [
        frame
        for frame in extract_tb(error.__traceback__)
        if Path(frame.filename).is_file() and frame.filename not in _OWN_FILES
    ]
    inside = [frame for frame in frames if Path(frame.filename) == path.resolve()]
    if not frames:
        return ""
    frame = (inside or frames)[-1]
    function = f", in {frame.name}" if frame.name != "<module>" else ""
    return f", at {Path(frame.filename).name}:{frame.lineno}{function}"


def kernels(module: ModuleType) -> dict[str, Kernel]:
    """Return the kernels that a module holds, by name."""
    return {k: v for k, v in vars(module).items() if isinstance(v, Kernel)}


def _choose(found: dict[str, Kernel], name: str, file: str) -> Kernel:
    if not found:
        raise UsageError(
            f"{file} holds no kernel; decorate a function with @tdsl.kernel"
        )
    listed = ", ".join(found)
    if not name:
        if len(found) == 1:
            return next(iter(found.values()))
        raise UsageError(f"{file} holds several kernels: {listed}; write {file}:NAME")
    if name not in found:
        raise UsageError(f"{file} holds no kernel {name!r}; it holds: {listed}")
    return found[name]


def read_dims(texts: Sequence[str]) -> dict[str, int]:
    """Read `DIM=VALUE` arguments."""
    dims: dict[str, int] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"{shown(text)} is not DIM=VALUE, as in M=512")
        if name in dims:
            raise UsageError(f"{name} is given twice")
        try:
            dims[name] = int(value)
        except ValueError:
            raise UsageError(
                f"{shown(text)}: {shown(value)} is not a whole number, as in {name}=512"
            ) from None
    return dims
