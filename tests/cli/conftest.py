"""Run the command line as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("matmul_file.py")
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def tdsl(tmp_path: Path) -> Command:
    """Return a function that runs `tdsl` with its own cache, in an empty folder."""

    def run(
        *arguments: str, environment: Mapping[str, str] = {}
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tdsl.cli", *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "TDSL_CACHE": str(tmp_path / "cache"), **environment},
        )

    return run
