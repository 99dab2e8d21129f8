"""`tdsl check`."""

from __future__ import annotations

from argparse import Namespace

from ..testing.checking import check
from ..testing.marking import Marks, marks_of
from .loading import kernels, load_kernel


def run(options: Namespace) -> int:
    """Test the kernel that *options* name; a failed check raises CheckError."""
    kernel, module, _ = load_kernel(options.kernel)
    marks = marks_of(kernel) or Marks()
    name = next(n for n, found in kernels(module).items() if found is kernel)
    if name != kernel.name:  # as that of `fast = matmul.with_schedule(...)` does
        kernel = kernel.renamed(name)
    if options.numerics is not None:
        kernel = kernel.with_numerics(options.numerics)
    report = check(
        kernel,
        examples=options.examples or marks.examples,
        seed=options.seed if options.seed is not None else marks.seed or 0,
        prepare=marks.prepare,
    )
    print(report)
    return 0
