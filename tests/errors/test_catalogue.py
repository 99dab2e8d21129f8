"""The page of messages is complete, and every message has a test of its words."""

from __future__ import annotations

import pytest

from .catalogue import PAGE, messages, page, section_of, without_example
from .templates import sites
from .untested import UNTESTED

PASSED_ON = frozenset(
    (
        *("tdsl/cli/reduce.py", "tdsl/cli/show.py", "tdsl/cli/tune.py"),
        *("tdsl/frontend/assignments.py", "tdsl/frontend/calls.py"),
        *("tdsl/frontend/captured.py", "tdsl/frontend/expressions.py"),
        *("tdsl/frontend/inlining.py", "tdsl/frontend/names.py"),
        *(
            "tdsl/frontend/parser.py",
            "tdsl/frontend/signature.py",
            "tdsl/frontend/tensors.py",
        ),
        *(
            "tdsl/analysis/tracing.py",
            "tdsl/testing/checking.py",
            "tdsl/testing/isolation.py",
        ),
        *(
            "tdsl/testing/running.py",
            "tuner/engine.py",
            "backends/reserve.py",
        ),
    )
)
"""Modules that raise again, with a place, what says its words elsewhere."""


def test_every_message_is_found() -> None:
    unknown = {site.module for site in sites() if not site.templates}
    assert unknown <= PASSED_ON, "the words of an error are not found from its `raise`"
    assert len(messages()) > 300


def test_every_message_has_a_test_of_its_words() -> None:
    missing = {each.text: f"{each.module}:{each.line}" for each in without_example()}
    new = {text: place for text, place in missing.items() if text not in UNTESTED}
    assert new == {}, "write tests that compare these messages word by word"
    assert UNTESTED - missing.keys() == set(), "these have tests now: take them out"


def test_every_module_belongs_to_a_section() -> None:
    for each in messages().values():
        section_of(each)


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    text = page()
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text, encoding="utf-8")
    again = "python -m pytest tests/errors/test_catalogue.py --update-golden"
    assert PAGE.read_text(encoding="utf-8") == text, f"run {again}"
