"""A statement that moves into loops still runs once where several of them are empty."""

from __future__ import annotations

from itertools import product

import numpy as np

from tdsl.analysis.validate import validate
from tdsl.backends.reference import interpret
from tdsl.ir.printer import print_function
from tdsl.schedules.schedule import Schedule

from ..ir_text import read_function

SUMS = """
def sums(A: f32[M, N, K], S: output f32[M]) for M, N, K:
    for i0 in range(M):
        S[i0] = 0.0  # S0[i0]
    for i in range(M):
        for j in range(N):
            for k in range(K):
                S[i] += A[i, j, k]  # S1[i, j, k]
"""
MOVED = """
def sums(A: f32[M, N, K], S: output f32[M]) for M, N, K:
    if -N >= 0:
        for i0_empty in range(M):
            S[i0_empty] = 0.0  # S0[i0_empty]
    if N - 1 >= 0 and -K >= 0:
        for i0_empty_2 in range(M):
            S[i0_empty_2] = 0.0  # S0[i0_empty_2]
    for j in range(N):
        for k in range(K):
            for i in range(M):
                if -j >= 0 and -k >= 0:
                    S[i] = 0.0  # S0[i]
                S[i] += A[i, j, k]  # S1[i, j, k]
"""


def moved() -> Schedule:
    return Schedule(read_function(SUMS)).reorder("j", "k", "i").compute_at("S0", "i")


def test_each_guard_is_of_the_first_empty_loop() -> None:
    schedule = moved()
    assert print_function(schedule.function).strip() == MOVED.strip()
    assert validate(schedule.original, schedule.function).verdict == "proved"


def test_it_computes_the_same_where_loops_are_empty() -> None:
    for rows, columns, depth in product((0, 2), (0, 3), (0, 1)):
        values = np.ones((rows, columns, depth), np.float32)
        sums = np.full(rows, np.nan, np.float32)
        dims = {"M": rows, "N": columns, "K": depth}
        interpret(moved().function, {"A": values, "S": sums}, dims)
        assert sums.tolist() == [columns * depth] * rows
