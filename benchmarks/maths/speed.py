"""How long an element takes in a cache: tdsl, NumPy, and glibc's libmvec by gcc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from .functions import DTYPES, Function

SIZE = 4096  # elements: what the first cache holds
ROUNDS = 15
_LIBRARY = ("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "erf")
_LIBRARY += ("sin", "cos", "pow")
_C_TYPES = {"f32": ("float", "f"), "f64": ("double", "")}


def nanoseconds(function: Function, dtype: str) -> dict[str, float]:
    """Return the time of an element by contender, medians of interleaved rounds."""
    arrays = _arguments(function, dtype)
    output = np.empty_like(arrays[0])
    kernel = function.kernel(DTYPES[dtype])
    contenders: dict[str, Callable[[], Any]] = {
        "tdsl": lambda: kernel(*arrays, out=output),
        "numpy": lambda: function.numpy(*arrays),
    }
    if library := _libmvec(function.name, dtype):
        pointers = [array.ctypes.data for array in (*arrays, output)]
        contenders["libmvec"] = lambda: library(*pointers, SIZE)
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, run in contenders.items():
            samples[name].append(_seconds(run))
    return {name: 1e9 * median(found) / SIZE for name, found in samples.items()}


def _arguments(function: Function, dtype: str) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [
        random.uniform(0.1, 4.0, SIZE).astype(DTYPES[dtype].numpy)
        for _ in range(function.operands)
    ]


def _seconds(run: Callable[[], Any], calls: int = 50) -> float:
    run()
    start = perf_counter()
    for _ in range(calls):
        run()
    return (perf_counter() - start) / calls


def _libmvec(name: str, dtype: str) -> Callable[..., Any] | None:
    """Return a loop over the C function, which gcc vectorises with libmvec."""
    gcc = shutil.which("gcc")
    if gcc is None or name not in _LIBRARY:
        return None
    kind, suffix = _C_TYPES[dtype]
    operands = "xy" if name == "pow" else "x"
    params = ", ".join(f"const {kind}* restrict {each}" for each in operands)
    values = ", ".join(f"{each}[i]" for each in operands)
    text = (
        "#include <math.h>\n"
        f"void run({params}, {kind}* restrict out, long n) {{\n"
        f"    for (long i = 0; i < n; i++) out[i] = {name}{suffix}({values});\n}}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder, "loop.c"), Path(folder, "loop.so")
        source.write_text(text, encoding="ascii")
        flags = ["-O3", "-ffast-math", "-march=native", "-mprefer-vector-width=512"]
        command = [gcc, *flags, "-shared", "-fPIC", str(source), "-o", str(built)]
        finished = subprocess.run([*command, "-lmvec", "-lm"], capture_output=True)
        if finished.returncode:
            return None
        run = ctypes.CDLL(str(built)).run
    run.argtypes = [ctypes.c_void_p] * (len(operands) + 1) + [ctypes.c_long]
    return run
