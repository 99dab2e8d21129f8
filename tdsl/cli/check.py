"""`tdsl check`."""

from __future__ import annotations

from argparse import Namespace

from ..kernel_faults import reject_faults
from ..testing import check
from .loading import load_kernel


def run(options: Namespace) -> int:
    """Test the kernel that *options* name; a failed check raises CheckError."""
    kernel, _, _ = load_kernel(options.kernel)
    reject_faults(kernel.function)
    report = check(kernel, examples=options.examples, seed=options.seed)
    print(report)
    return 0
