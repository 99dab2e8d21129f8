"""pyproject.toml says the truth about the folders, extras and the command."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def folder_of(package: str, mapping: dict[str, str]) -> Path:
    """Resolve *package* as setuptools does: by the longest mapped prefix."""
    parts = package.split(".")
    for length in range(len(parts), 0, -1):
        prefix = ".".join(parts[:length])
        if prefix in mapping:
            return REPOSITORY / mapping[prefix] / Path(*parts[length:])
    raise AssertionError(f"{package} lies outside package-dir")


def packages_on_disk(mapping: dict[str, str]) -> set[str]:
    found = set()
    for package, folder in mapping.items():
        for init in (REPOSITORY / folder).rglob("__init__.py"):
            inner = init.parent.relative_to(REPOSITORY / folder).parts
            found.add(".".join((package, *inner)))
    return found


def modules_on_disk(mapping: dict[str, str]) -> set[str]:
    """List what a wheel must contain, as paths inside the wheel."""
    found = set()
    for package, folder in mapping.items():
        for file in (REPOSITORY / folder).rglob("*.py"):
            inner = file.relative_to(REPOSITORY / folder)
            found.add("/".join((*package.split("."), *inner.parts)))
    return found


def test_packages_are_the_folders(project: dict[str, Any]) -> None:
    setuptools = project["tool"]["setuptools"]
    listed = setuptools["packages"]
    assert len(listed) == len(set(listed))
    assert set(listed) == packages_on_disk(setuptools["package-dir"])


def test_every_module_lies_in_a_listed_package(project: dict[str, Any]) -> None:
    setuptools = project["tool"]["setuptools"]
    mapping = setuptools["package-dir"]
    listed = {folder_of(package, mapping) for package in setuptools["packages"]}
    for folder in mapping.values():
        for file in (REPOSITORY / folder).rglob("*.py"):
            assert file.parent in listed, f"{file} would be missing from the wheel"


def test_the_wheel_is_typed(project: dict[str, Any]) -> None:
    assert project["tool"]["setuptools"]["package-data"]["tdsl"] == ["py.typed"]
    assert (REPOSITORY / "tdsl" / "py.typed").is_file()


def test_the_command_exists(project: dict[str, Any]) -> None:
    module, _, name = project["project"]["scripts"]["tdsl"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_licence_is_shipped(project: dict[str, Any]) -> None:
    assert project["project"]["license"] == "Apache-2.0"
    for name in project["project"]["license-files"]:
        assert "Apache License" in (REPOSITORY / name).read_text(encoding="utf-8")


def test_dev_includes_the_other_extras(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    others = sorted(set(extras) - {"dev"})
    assert set(others) >= {"test", "demo", "bench"}
    (dev,) = extras["dev"]
    assert sorted(dev.removeprefix("tdsl[").removesuffix("]").split(",")) == others


def test_the_installed_version_is_this_one(project: dict[str, Any]) -> None:
    from importlib.metadata import version

    assert version("tdsl") == project["project"]["version"]


@pytest.mark.slow
def test_the_wheel_contains_every_module(
    project: dict[str, Any], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*command, "-w", str(tmp_path), str(REPOSITORY)], check=True)
    (wheel,) = tmp_path.glob("tdsl-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    modules = {name for name in names if name.endswith(".py")}
    assert modules == modules_on_disk(project["tool"]["setuptools"]["package-dir"])
    assert "tdsl/py.typed" in names
