"""Load a user's file by path or name, as a module that is not `__main__`."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ..errors import TdslError

CONTENDERS = "tdsl_numpy"
"""A module-level dict in a user's file: kernel name -> the same work by a library.

`tdsl_numpy = {"matmul": numpy.matmul}`; it is called with the kernel's inputs in order.
"""


INPUTS = "tdsl_inputs"
"""A module-level dict in a user's file: kernel name -> function that makes its inputs.

`tdsl_inputs = {"cholesky": positive_definite}`: it takes the dims as a dict and returns
the kernel's arguments by name, which replace random numbers.
"""


def load_script(path: Path) -> ModuleType:
    """Execute the file at *path* as a module and return it.

    Its folder is importable meanwhile, as for `python FILE`. If an `__init__.py` lies
    beside it, the module is one of that package, which is imported first. What it
    prints goes to standard error: standard output is for results. Raise TdslError where
    there is no such file; errors of the script itself propagate.
    """
    path = path.resolve()
    if not path.is_file():
        raise TdslError(f"no such file: {path}")
    if path.suffix != ".py":
        raise TdslError(f"not a Python file: {path}; kernels are read from FILE.py")
    folder = path.parent
    _make_importable(folder)
    with redirect_stdout(sys.stderr):
        package = _package(folder)
        name = f"{package}.{path.stem}" if package else f"tdsl_script_{path.stem}"
        return _executed(name, path)


def module_file(name: str) -> Path | None:
    """Return the file of the module *name*, found as `python -m` does, if there is one.

    The packages around it are imported; what they raise propagates.
    """
    parts = name.split(".")
    if parts[-1] == "py" or not all(part.isidentifier() for part in parts):
        return None
    _make_importable(Path.cwd())
    try:
        with redirect_stdout(sys.stderr):
            spec = importlib.util.find_spec(name)
    except ValueError:  # a module that is in the making
        return None
    except ModuleNotFoundError as error:
        if error.name is None or f"{name}.".startswith(f"{error.name}."):
            return None
        raise
    return Path(spec.origin) if spec and spec.origin else None


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _package(folder: Path) -> str:
    """Import the package that *folder* is, if it is one, and return its name.

    As for pytest, the outermost folder with an `__init__.py` is where it begins.
    """
    names: list[str] = []
    root = folder
    while (root / "__init__.py").is_file():
        names.insert(0, root.name)
        root = root.parent
    if not names:
        return ""
    _make_importable(root)
    package = ".".join(names)
    found = [Path(each) for each in import_module(package).__path__]
    if folder not in (each.resolve() for each in found):
        raise TdslError(
            f"{folder} is the package {package}, but Python finds another one of that "
            f"name, in {found[0]}: rename yours"
        )
    return package


def _executed(name: str, path: Path) -> ModuleType:
    """Return the file at *path* as a new module of this *name*."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
