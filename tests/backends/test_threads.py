"""Parallel loops wait briefly, so that other work on the machine cannot stall them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os
from tdsl.backends import threads
threads._launch_threads = lambda: print(os.environ.get("GOMP_SPINCOUNT"))
threads.threading_layer = lambda: "workqueue"
threads.start_threads()
threads.start_threads()
print(os.environ.get("GOMP_SPINCOUNT"))
"""


def printed(**settings: str) -> list[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**environment, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.split()


def test_threads_start_once_with_a_short_spin_and_leave_the_environment() -> None:
    assert printed() == ["1000", "None"]


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"GOMP_SPINCOUNT": "7"}, ["7", "7"]),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, ["None", "None"]),
    ],
)
def test_what_the_user_says_holds(settings: dict[str, str], seen: list[str]) -> None:
    assert printed(**settings) == seen
