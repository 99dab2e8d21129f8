"""`mypy --strict` passes on the package.

mypy does not know `package-dir`, so the folders are put together by symbolic links.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def link_package(root: Path) -> None:
    """Lay out `root/tdsl` as a wheel would, by links to the real files."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    mapping = dict(tomllib.loads(text)["tool"]["setuptools"]["package-dir"])
    package = root / "tdsl"
    package.mkdir()
    for entry in (REPOSITORY / mapping.pop("tdsl")).iterdir():
        (package / entry.name).symlink_to(entry)
    for name, folder in mapping.items():
        (package / name.removeprefix("tdsl.")).symlink_to(REPOSITORY / folder)


def test_the_package_is_strictly_typed(tmp_path: Path) -> None:
    link_package(tmp_path)
    command = [sys.executable, "-m", "mypy", "--strict", "-p", "tdsl"]
    command += ["--config-file", str(REPOSITORY / "pyproject.toml")]
    command += ["--cache-dir", str(REPOSITORY / ".mypy_cache")]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Success" in result.stdout
