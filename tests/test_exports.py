"""Public names are sorted and exist, imports stay light, texts stay neutral."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

HEAVY = {"numba", "llvmlite", "optuna", "sympy", "islpy", "scipy", "sqlalchemy"}
HEAVY |= {"ml_dtypes", "numpy"}

# Spelled in pieces so that this file does not contain what it looks for.
FORBIDDEN_TEXT = {
    "a path of one machine": r"(?<![\w.])/(?:home|work|opt|root|Users|mnt)/\w",
    "a registry's address": r"pypi\."
    r"org|python"
    r"hosted|index"
    r"-url|anaconda\.org",
    "talk about who typed it": r"\b[Aa]ssis" r"tants?\b|\bchat" r"bots?\b|\bAI" r"-gen",
}


def packages() -> list[str]:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)["tool"]["setuptools"]["packages"])


def _natural(name: str) -> list[str | int]:
    """Order c64 before c128, as the linter does."""
    parts = re.split(r"(\d+)", name)
    return [int(part) if part.isdigit() else part for part in parts]


def test_every_error_is_a_public_name() -> None:
    tdsl = importlib.import_module("tdsl")
    errors = vars(importlib.import_module("tdsl.errors"))
    classes = {name for name, each in errors.items() if isinstance(each, type)}
    assert classes <= set(tdsl.__all__)


@pytest.mark.parametrize("package", packages())
def test_public_names_are_sorted_and_exist(package: str) -> None:
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", ()))
    assert names == sorted(set(names), key=_natural)
    for name in names:
        assert getattr(module, name) is not None


def test_the_root_exports_something() -> None:
    assert importlib.import_module("tdsl").__all__


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after *statement*."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in json.loads(result.stdout)}


def test_a_bare_import_is_light() -> None:
    assert not loaded_by("import tdsl") & HEAVY


def test_a_bare_import_loads_no_other_third_party_package() -> None:
    extra = loaded_by("import tdsl") - loaded_by("")
    assert extra - set(sys.stdlib_module_names) <= {"tdsl"}


def tracked_files() -> list[Path]:
    """List the files under version control, and new ones that are not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    if result.returncode:
        pytest.skip("not a git checkout")
    files = [REPOSITORY / name for name in result.stdout.split("\0") if name]
    return [file for file in files if file.is_file()]


def test_repository_texts_are_neutral() -> None:
    wrong = []
    for file in tracked_files():
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for what, pattern in FORBIDDEN_TEXT.items():
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                name = file.relative_to(REPOSITORY)
                wrong.append(f"{name}:{line}: {what}: {match.group()}")
    assert not wrong, "\n".join(wrong)
