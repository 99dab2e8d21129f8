"""What all tests share: a private cache, the `--slow` and `--update-golden` options."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]
NOTES = pytest.StashKey[list[str]]()

# Compilation makes single examples slow, so no example has a deadline.
settings.register_profile("tdsl", deadline=None, derandomize=True, database=None)
settings.load_profile("tdsl")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run tests marked slow")
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite golden texts with what the code prints now",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Give this run, and every process it starts, an empty compile cache and ledger."""
    cache = tempfile.TemporaryDirectory(prefix="tdsl-test-cache-")
    config.add_cleanup(cache.cleanup)
    os.environ["TDSL_CACHE"] = cache.name
    config.stash[NOTES] = []


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash[NOTES]:
        terminalreporter.section("notes (not failures)")
        for line in config.stash[NOTES]:
            terminalreporter.write_line(line)


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Add a line to the notes printed at the end of the run."""
    return request.config.stash[NOTES].append


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Say whether golden texts are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that holds pyproject.toml."""
    return REPOSITORY
