"""`tdsl doctor`: what this installation is, can do, and lacks."""

from __future__ import annotations

import json
import os
import platform
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..backends.peak import measure_peaks
from ..entries import fingerprint
from ..errors import TdslError
from ..paths import cache_folder, default_ledger, entries_folder, make_folder
from ..target import Target, host
from ..tuner.ledger import survey

_NEEDED = ("numpy", "numba", "llvmlite", "sympy", "islpy", "optuna")
_OPTIONAL = {
    "scipy": "test",
    "pytest": "test",
    "hypothesis": "test",
    "scikit-learn": "demo",
    "scikit-image": "demo",
    "threadpoolctl": "bench",
}
_SLOWING = ("OPENBLAS_CORETYPE", "NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS")


def run(options: Namespace) -> int:
    """Print the report; return 1 where something that tdsl needs is missing."""
    report = examine()
    if options.json:
        print(json.dumps(report))
    else:
        print("\n".join(_lines(report)))
    return 1 if report["problems"] else 0


def examine() -> dict[str, Any]:
    """Return everything the report says, as JSON data."""
    versions = {name: _version(name) for name in ("tdsl", *_NEEDED)}
    problems = [f"{name} is not installed" for name, v in versions.items() if v is None]
    folder, folder_problem = _folder(cache_folder())
    problems += [folder_problem] if folder_problem else []
    target = host()
    peaks, peak_problem = _peaks(target)
    problems += [peak_problem] if peak_problem else []
    return {
        "format": 1,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": versions,
        "optional": {name: _version(name) for name in _OPTIONAL},
        "target": {**asdict(target), "fingerprint": fingerprint(target)},
        "peaks": peaks,
        "cache": str(folder),
        "entries": len(list(entries_folder().glob("*.json"))),
        "ledger": _ledger(default_ledger()),
        "environment": {n: os.environ[n] for n in _SLOWING if n in os.environ},
        "problems": problems,
        "notes": list(_notes()),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _folder(folder: Path) -> tuple[Path, str]:
    try:
        make_folder(folder)
    except TdslError as error:
        return folder, str(error)
    return folder, ""


def _peaks(target: Target) -> tuple[list[dict[str, float]], str]:
    """Return the measured limits on one thread and on all."""
    try:
        return [asdict(p) for p in measure_peaks(target, threads=target.cores)], ""
    except Exception as error:  # whatever a broken compiler raises is the finding
        return [], f"code cannot be compiled and run: {type(error).__name__}: {error}"


def _ledger(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"path": str(path), "rows": 0, "corrupt": 0}
    if path.is_file():
        found["rows"], found["corrupt"] = survey(path)
    return found


def _notes() -> Iterator[str]:
    for name, extra in _OPTIONAL.items():
        if _version(name) is None:
            yield f"{name} is not installed: pip install 'tdsl[{extra}]'"
    if "OPENBLAS_CORETYPE" in os.environ:
        yield "OPENBLAS_CORETYPE is set: NumPy may run at half speed (tune unsets it)"
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        yield "NUMBA_DISABLE_JIT is set: kernels run in Python, very slowly"
    if find_spec("torch") is None:
        yield "torch is not installed: benchmarks leave it out"
    if sys.platform != "linux":
        yield "only Linux is tested"


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    versions = report["versions"]
    yield f"tdsl {versions['tdsl']} on Python {report['python']}, {report['platform']}"
    yield "  " + ", ".join(f"{n} {versions[n] or 'MISSING'}" for n in _NEEDED)
    target = report["target"]
    vectors = f"{target['vector_registers']} registers of {target['vector_bits']} bits"
    yield f"target: {target['cpu']}, {target['cores']} cores, {vectors}"
    caches = [f"{level} {target[level] // 1024} KiB" for level in ("l1", "l2", "l3")]
    yield f"  caches: {', '.join(caches)}"
    for peak in report["peaks"]:
        threads = "1 thread" if peak["threads"] == 1 else f"{peak['threads']} threads"
        if not peak["reliable"]:
            yield f"peak, {threads}: busy machine: peak unreliable"
            continue
        yield (
            f"peak, {threads}: {peak['f32_gflops']:.0f} GFLOP/s f32, "
            f"{peak['f64_gflops']:.0f} GFLOP/s f64, reads {peak['read_gbytes']:.1f} "
            f"GB/s, copies {peak['copy_gbytes']:.1f} GB/s"
        )
    yield f"cache: {report['cache']} ({report['entries']} tuned programs)"
    ledger = report["ledger"]
    corrupt = f", {ledger['corrupt']} corrupt" if ledger["corrupt"] else ""
    tried = f"{ledger['rows']} tried candidates{corrupt}"
    yield f"ledger: {ledger['path']} ({tried})"
    for name, value in report["environment"].items():
        yield f"environment: {name}={value}"
    yield from (f"note: {note}" for note in report["notes"])
    yield from (f"PROBLEM: {problem}" for problem in report["problems"])
    yield (
        "something is missing" if report["problems"] else "all that tdsl needs is here"
    )
