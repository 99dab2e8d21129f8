"""The first signal asks a job to stop, the second one interrupts."""

from __future__ import annotations

import signal
import threading

import pytest

from tdsl.tuner.stopping import StopRequest, stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_a_request_and_the_second_an_interruption(
    number: signal.Signals,
) -> None:
    with stop_on_signals() as stop:
        assert not stop()
        signal.raise_signal(number)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)


def test_handlers_are_as_before_afterwards() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    with pytest.raises(ZeroDivisionError), stop_on_signals():
        assert [signal.getsignal(number) for number in numbers] != before
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in numbers] == before


def test_another_thread_changes_no_handlers() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with stop_on_signals() as stop:
            seen.append((stop, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(StopRequest(requested=False), before)]
