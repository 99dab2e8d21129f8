"""The measured limits are plausible, and more than the reference interpreter's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tdsl.backends import peak as peaks
from tdsl.backends.peak import Peak, measure_peak, measure_peaks, measure_traffic
from tdsl.target import Target, host


def test_limits_are_measured_on_one_thread() -> None:
    peak = measure_peak(host(), threads=1, seconds=0.08)
    assert peak.threads == 1
    # A core does between one and a hundred operations a nanosecond.
    assert 1 < peak.f64_gflops < 1000
    assert 1 < peak.f32_gflops < 2000
    assert 0.1 < peak.read_gbytes < 2000
    assert 0.1 < peak.copy_gbytes < 2000


def test_small_arrays_are_in_a_cache() -> None:
    near = measure_traffic(host(), size=host().l1 // 4, seconds=0.1)
    far = measure_traffic(host(), size=1 << 26, seconds=0.1)
    assert near > far


def test_more_threads_than_cores_are_not_started() -> None:
    machine = replace(host(), cores=1)
    assert measure_peak(machine, threads=64, seconds=0.04).threads <= 64


def measured(monkeypatch: pytest.MonkeyPatch, *gflops: float) -> tuple[Peak, ...]:
    """Return the peaks measured as *gflops*, on one and two threads in turn."""
    values = list(gflops)

    def measure(target: Target, *, threads: int, seconds: float) -> Peak:
        return Peak(threads, values.pop(0), 1.0, 1.0, 1.0)

    monkeypatch.setattr(peaks, "measure_peak", measure)
    found = measure_peaks(host(), threads=2)
    assert not values
    return found


def test_a_plausible_peak_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = measured(monkeypatch, 50.0, 90.0)
    assert (one.f32_gflops, two.f32_gflops) == (50.0, 90.0)
    assert one.threads == 1 and two.threads == 2 and two.reliable


def test_threads_below_one_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all measurements the best of each counts."""
    one, two = measured(monkeypatch, 50.0, 40.0, 30.0, 95.0)
    assert (one.f32_gflops, two.f32_gflops, two.reliable) == (50.0, 95.0, True)


def test_a_busy_machine_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = measured(monkeypatch, 50.0, 40.0, 50.0, 45.0, 50.0, 30.0)
    assert one.reliable and not two.reliable
    assert two.f32_gflops == 45.0
