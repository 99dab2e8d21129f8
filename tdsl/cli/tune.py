"""`tdsl tune`."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType

from ..analysis.cost import BALANCE, cost
from ..errors import ArgumentError
from ..kernel import Kernel
from ..tuner.contenders import ContenderSource
from ..tuner.job import tune
from ..tuner.progress import Progress
from ..tuner.report import report
from ..tuner.requests import check_dims, check_tunable
from ..tuner.scripts import CONTENDERS, INPUTS
from .failures import UsageError
from .loading import load_kernel, read_dims


def run(options: Namespace) -> int:
    """Tune the kernel that *options* name; return the exit code."""
    kernel, module, path = load_kernel(options.kernel)
    try:
        check_tunable(kernel)
        dims = check_dims(kernel.name, kernel.function, read_dims(options.dims))
    except ArgumentError as error:
        raise UsageError(str(error)) from error
    progress = _progress(kernel, dims)
    try:
        result = tune(
            kernel,
            dims,
            budget_s=options.budget,
            threads=options.threads,
            numerics=options.numerics,
            seed=options.seed,
            ledger=options.ledger,
            contender=_contender(kernel, module, path),
            inputs=getattr(module, INPUTS, {}).get(kernel.name),
            listen=progress,
        )
    finally:
        progress.close()
    table = sys.stderr if options.json else sys.stdout
    table.write(report(result))
    if options.json:
        print(json.dumps(result.to_json()))
    return result.exit_code


def _progress(kernel: Kernel, dims: dict[str, int]) -> Progress:
    work = cost(kernel.function, dims)
    if work.intensity < BALANCE:
        return Progress(sys.stderr, work.traffic, "GB/s")
    return Progress(sys.stderr, work.flops, "GFLOP/s")


def _contender(
    kernel: Kernel, module: ModuleType, path: Path
) -> ContenderSource | None:
    """Return the library call that the user's file names for this kernel."""
    table = getattr(module, CONTENDERS, {})
    if kernel.name not in table:
        return None
    return ContenderSource("NumPy", kernel.name, file=path.resolve())
