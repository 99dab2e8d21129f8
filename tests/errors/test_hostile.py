"""Whatever one passes to a public function, nothing but a TdslError comes out."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tdsl
from tdsl import testing
from tdsl.errors import TdslError
from tdsl.frontend.builtins import KernelFunction

from .hostile import USES, Use

ELSEWHERE = frozenset(
    (
        *("tdsl.tune", "Schedule.text", "Schedule.to_json", "Kernel.schedule"),
        *("Kernel.default_schedule", "Kernel.reload"),
    )
)
"""What takes no arguments, and `tune`, which has tests of its own."""


def check_message(error: TdslError) -> None:
    """Check that it is a sentence that says what to do, or what is allowed."""
    text = str(error)
    assert len(text.split()) >= 5, text
    assert any(mark in text for mark in (": ", "; ", ", but", "only")), text


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_wrong_arguments_are_refused_in_words(use: Use) -> None:
    for label, call in use.variants():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except TdslError as error:
            check_message(error)
        except Exception as error:
            pytest.fail(f"{use.name}, {label}: {type(error).__name__}: {error}")


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (tdsl, testing):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield f"{module.__name__}.{name}", value
    for owner in (tdsl.Kernel, tdsl.Schedule):
        for name, value in vars(owner).items():
            function = getattr(value, "__func__", value)
            if not name.startswith("_") and inspect.isfunction(function):
                yield f"{owner.__name__}.{name}", function


def test_every_public_function_is_tried() -> None:
    tried = {getattr(use.function, "__func__", use.function) for use in USES}
    missing = {name for name, function in public_functions() if function not in tried}
    assert missing - ELSEWHERE == set()


def test_every_function_of_kernels_says_that_it_is_one() -> None:
    for name in tdsl.__all__:
        value = getattr(tdsl, name)
        if isinstance(value, KernelFunction):
            with pytest.raises(TdslError) as caught:
                value(1.0, axis=0)
            begin = f"tdsl.{name}(...) has a meaning only inside a kernel"
            assert str(caught.value).startswith(begin)
