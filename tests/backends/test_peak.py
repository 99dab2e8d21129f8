"""The measured limits are plausible, and more than the reference interpreter's."""

from __future__ import annotations

from dataclasses import replace

from tdsl.backends.peak import measure_peak
from tdsl.target import host


def test_limits_are_measured_on_one_thread() -> None:
    peak = measure_peak(host(), threads=1, seconds=0.08)
    assert peak.threads == 1
    # A core does between one and a hundred operations a nanosecond.
    assert 1 < peak.f64_gflops < 1000
    assert 1 < peak.f32_gflops < 2000
    assert 0.1 < peak.read_gbytes < 2000
    assert 0.1 < peak.copy_gbytes < 2000


def test_more_threads_than_cores_are_not_started() -> None:
    machine = replace(host(), cores=1)
    assert measure_peak(machine, threads=64, seconds=0.04).threads <= 64
