"""What this machine can do at most: multiply-adds and memory traffic, as measured.

`measure_peak` times independent fused multiply-adds in registers, and the reading and
copying of arrays far larger than the caches, on one thread or on all; `measure_traffic`
that of arrays of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from time import perf_counter
from typing import Any

import numba
import numpy as np

from ..ir.dtypes import DType, f32, f64
from ..target import Target
from .modules import load_module

_CHAINS = 12  # independent accumulators: more than latency times throughput
_TRIES = 3
_FAR = 1 << 26  # bytes of an array that is not in any cache
_SATURATED = 0.9  # one thread may fill the memory's channels as well as all do


@dataclass(frozen=True, slots=True)
class Peak:
    """Measured limits: GFLOP/s of multiply-adds, GB/s of reading and of copying.

    Copying counts the bytes read and the bytes written. Limits are not *reliable* where
    several threads came out below one, as on a busy machine.
    """

    threads: int
    f32_gflops: float
    f64_gflops: float
    read_gbytes: float
    copy_gbytes: float
    reliable: bool = True


def measure_peak(target: Target, *, threads: int = 1, seconds: float = 0.5) -> Peak:
    """Measure the limits of *threads* cores in about *seconds*."""
    module = load_module("peak", _source(target, threads > 1))
    share = seconds / 4
    with _threads(threads):
        return Peak(
            threads,
            _flops(module.fma_f32, target, f32, threads, share),
            _flops(module.fma_f64, target, f64, threads, share),
            *_traffic(module, threads, share, _FAR),
        )


def measure_traffic(
    target: Target, *, size: int, threads: int = 1, seconds: float = 0.2
) -> tuple[float, float]:
    """Return the GB/s of reading and of copying arrays of about *size* bytes each.

    *threads* read and write parts of them, so arrays that fit in a cache stay there.
    Copying counts the bytes read and the bytes written.
    """
    module = load_module("peak", _source(target, threads > 1))
    with _threads(threads):
        return _traffic(module, threads, seconds / 2, size)


def measure_peaks(
    target: Target, *, threads: int = 1, seconds: float = 0.5
) -> tuple[Peak, ...]:
    """Measure one thread and *threads*; again where more threads are slower.

    Of several measurements the best of each limit counts.
    """
    counts = sorted({1, threads})
    peaks = [measure_peak(target, threads=n, seconds=seconds) for n in counts]
    for _ in range(_TRIES - 1):
        if _plausible(peaks[0], peaks[-1]):
            break
        again = [measure_peak(target, threads=n, seconds=seconds) for n in counts]
        peaks = [_better(*pair) for pair in zip(peaks, again, strict=True)]
    peaks[-1] = replace(peaks[-1], reliable=_plausible(peaks[0], peaks[-1]))
    return tuple(peaks)


def _plausible(one: Peak, many: Peak) -> bool:
    """Whether *many* threads reach what *one* does; few may saturate the memory."""
    return (
        many.f32_gflops >= one.f32_gflops
        and many.f64_gflops >= one.f64_gflops
        and many.read_gbytes >= _SATURATED * one.read_gbytes
        and many.copy_gbytes >= _SATURATED * one.copy_gbytes
    )


def _better(first: Peak, second: Peak) -> Peak:
    return Peak(*map(max, astuple(first), astuple(second)))


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Use *count* threads for a while, as far as Numba has them."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, before))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _best(run: Callable[[], Any], seconds: float) -> float:
    """Return the shortest time of a call, after one to compile and warm up."""
    run()
    best, end = float("inf"), perf_counter() + seconds
    while True:
        start = perf_counter()
        run()
        now = perf_counter()
        best = min(best, now - start)
        if now > end:
            return best


def _flops(
    entry: Any, target: Target, dtype: DType, threads: int, seconds: float
) -> float:
    rounds = 200_000
    sink = np.zeros((threads, 2 * target.lanes(dtype)), dtype.numpy)
    time = _best(lambda: entry(sink, rounds, threads), seconds)
    work = 2 * _CHAINS * 2 * target.lanes(dtype) * rounds * threads
    return work / time / 1e9


def _traffic(
    module: Any, threads: int, seconds: float, size: int
) -> tuple[float, float]:
    chunk = max(64, size // 4 // threads // 64 * 64)
    count = chunk * threads
    rounds = max(1, _FAR // (4 * count))
    source, copy = np.ones(count, np.float32), np.zeros(count, np.float32)
    sink = np.zeros((threads, 16), np.float32)
    place = (chunk, threads, rounds)
    read = _best(lambda: module.read(source, sink, *place), seconds)
    copied = _best(lambda: module.copy(source, copy, *place), seconds)
    moved = 4 * count * rounds
    return moved / read / 1e9, 2 * moved / copied / 1e9


_HEAD = '''"""Loops that reach the limits of a core, generated by tdsl."""

from numba import njit, prange
from numba import float32 as f32, float64 as f64, int64 as i64
from tdsl.backends.simd import add, fma, splat, vector
from tdsl.backends.simd_memory import address, load, store

f32x16 = vector("f32", 16)
'''
_FMA = """

{token} = vector("{dtype}", {lanes})


@njit(cache=True, nogil=True, error_model="numpy"{option})
def fma_{dtype}(sink, rounds, threads):
    base = address(sink)
    for number in {loop}(threads):
        thread = i64(number)
        x = splat(0.999, {token})
        y = splat(0.001, {token})
{body}
"""
_TRAFFIC = """

@njit(cache=True, nogil=True, error_model="numpy"{option})
def read(source, sink, chunk, threads, rounds):
    base = address(source)
    out = address(sink)
    for number in {loop}(threads):
        thread = i64(number)
        a = splat(0.0, f32x16)
        b = splat(0.0, f32x16)
        c = splat(0.0, f32x16)
        d = splat(0.0, f32x16)
        for _ in range(rounds):
            for i in range(thread * chunk, (thread + 1) * chunk, 64):
                a = add(a, load(base, i, f32x16))
                b = add(b, load(base, i + 16, f32x16))
                c = add(c, load(base, i + 32, f32x16))
                d = add(d, load(base, i + 48, f32x16))
        store(out, thread * 16, add(add(a, b), add(c, d)))


@njit(cache=True, nogil=True, error_model="numpy"{option})
def copy(source, target, chunk, threads, rounds):
    base = address(source)
    out = address(target)
    for number in {loop}(threads):
        thread = i64(number)
        for _ in range(rounds):
            for i in range(thread * chunk, (thread + 1) * chunk, 32):
                store(out, i, load(base, i, f32x16))
                store(out, i + 16, load(base, i + 16, f32x16))
"""


def _source(target: Target, parallel: bool) -> str:
    settings = {
        "loop": "prange" if parallel else "range",
        "option": ", parallel=True" if parallel else "",
    }
    parts = [_HEAD]
    for dtype in (f32, f64):
        lanes = 2 * target.lanes(dtype)
        token = f"{dtype.name}_lanes"
        parts.append(
            _FMA.format(
                token=token,
                dtype=dtype.name,
                lanes=lanes,
                body=_chains(token, lanes),
                **settings,
            )
        )
    return "".join([*parts, _TRAFFIC.format(**settings)])


def _chains(token: str, lanes: int) -> str:
    """Return a loop of independent multiply-adds, whose results are kept."""
    names = [f"a{number}" for number in range(_CHAINS)]
    lines = [f"{each} = splat({n}.0, {token})" for n, each in enumerate(names)]
    lines.append("for _ in range(rounds):")
    lines += [f"    {each} = fma({each}, x, y)" for each in names]
    lines.append(f"store(base, thread * {lanes}, {_sum(names)})")
    return "\n".join(f"        {line}" for line in lines)


def _sum(names: list[str]) -> str:
    total = names[0]
    for each in names[1:]:
        total = f"add({total}, {each})"
    return total
