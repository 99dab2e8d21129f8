"""The suite's kernels, by family: plain loops from the definitions, no schedules."""
