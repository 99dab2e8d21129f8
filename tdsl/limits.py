"""The most that one can ask for: what is beyond is a slip, or takes too long."""

from __future__ import annotations

SHORTEST_BUDGET = 0.001
LONGEST_BUDGET = 1_000_000.0
"""Seconds, more than eleven days."""
MOST_STATEMENTS = 2048
"""With unrolled loops written out: twice as many compile for a minute."""
MOST_THREADS = 1024
LARGEST_SEED = 2**31 - 1
"""Random generators take 32 bits, and jobs that continue count on from their seed."""
