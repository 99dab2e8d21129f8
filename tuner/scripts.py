"""Load a user's file by path, as a module that is not `__main__`."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import redirect_stdout
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

    Its folder is importable meanwhile, as for `python FILE`. What it prints goes to
    standard error: standard output is for results. Raise TdslError where
    there is no such file; errors of the script itself propagate.
    """
    path = path.resolve()
    if not path.is_file():
        raise TdslError(f"no such file: {path}")
    if path.suffix != ".py":
        raise TdslError(f"not a Python file: {path}; kernels are read from FILE.py")
    name = f"tdsl_script_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
