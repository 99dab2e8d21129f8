"""The pytest plugin: `pytest --tdsl` checks the kernels that are marked for it.

pytest loads this module at every start, so that it loads nothing of tdsl but the
errors; the work is in `collection.py`, which `--tdsl` loads.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from .marking import Marks

_USE = re.compile(r"^\s*@(?:[\w.]+\.)?checked\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of tdsl."""
    group = parser.getgroup("tdsl", "kernels written in tdsl")
    group.addoption(
        "--tdsl",
        action="store_true",
        help="also check the kernels marked with @tdsl.testing.checked, in all Python "
        "files below the given folders, and the schedules tuned for them",
    )
    group.addoption(
        "--tdsl-examples",
        type=int,
        metavar="N",
        help="examples for each kernel (default: 100)",
    )
    group.addoption(
        "--tdsl-seed", type=int, metavar="N", help="seed of the examples (default: 0)"
    )


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """Collect a Python file that marks kernels, whatever its name."""
    if not parent.config.getoption("--tdsl") or file_path.suffix != ".py":
        return None
    try:
        text = file_path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if "tdsl" not in text or not _USE.search(text):
        return None
    collection = import_module(".collection", __package__)
    options = Marks(
        parent.config.getoption("--tdsl-examples"),
        parent.config.getoption("--tdsl-seed"),
    )
    collector: pytest.Collector = collection.KernelFile.from_parent(
        parent, path=file_path, options=options
    )
    return collector
