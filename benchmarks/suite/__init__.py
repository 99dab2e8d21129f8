"""The suite: families of kernels against the libraries that people use for them.

    python -m benchmarks --suite cpu --threads 1,2 --json

The way of a case: `cases.py` lists it; `contenders.py` names who can run it; each of
them runs in a process of its own (`workloads.py`) on the arguments of `inputs.py`;
`measure.py` races them and makes rows; `page.py` shows rows as tables and plots.
"""
