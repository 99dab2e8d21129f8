"""Each example runs, and gives what its lesson says."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / name), run_name="example")


def run(name: str, arguments: Sequence[str] = ()) -> Any:
    main: Callable[..., Any] = load(name)["main"]
    return main(arguments) if arguments else main()


def test_matmul() -> None:
    assert 0 <= run("01_matmul.py") < 1e-3


def test_the_digits_have_the_labels_of_scikit_learn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    accuracy = run("02_digits.py", ["--budget", "0"])
    assert accuracy == pytest.approx(0.98218, abs=1e-5)
    assert "898 digits, labels the same as scikit-learn's" in capsys.readouterr().out


def test_ties_are_noticed() -> None:
    is_ambiguous = load("02_digits.py")["is_ambiguous"]
    labels = np.array([1, 2, 3, 4])
    clear = np.array([[1.0, 2.0, 3.0, 4.0]])
    tied = np.array([[1.0, 2.0, 3.0, 3.0]])
    assert not is_ambiguous(clear, labels)
    assert is_ambiguous(tied, labels)
    assert not is_ambiguous(tied, np.array([1, 2, 3, 3]))


def test_the_photo_has_the_pixels_of_scipy(tmp_path: Path) -> None:
    output = tmp_path / "photo.png"
    assert 0 < run("03_photo.py", [str(output)]) <= 1
    with Image.open(output) as image:
        assert image.format == "PNG"
        assert image.size == (3 * 512, 512)
        pixels = np.asarray(image)
    photo, blurred, outline = np.hsplit(pixels, 3)
    assert np.std(np.diff(blurred.astype(float))) < np.std(np.diff(photo.astype(float)))
    assert outline.max() == 255


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda f: f.stem)
def test_every_example_is_a_lesson(file: Path) -> None:
    """It is numbered, says what one learns, shows its loops and has a `main`."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstring = ast.get_docstring(tree)
    number = int(file.name.split("_")[0])
    assert docstring
    assert docstring.startswith(f"Lesson {number}: ")
    assert "What you learn: " in docstring
    assert "    for " in docstring
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    assert "main" in functions


def test_every_example_is_tested() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for file in EXAMPLES.glob("*.py"):
        assert f'"{file.name}"' in text
