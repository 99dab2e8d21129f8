"""The page docs/errors.md: every message of the package, with an example of each.

Messages come from the code, examples from the tests that compare them word by word; so
`python -m pytest tests/errors/test_catalogue.py --update-golden` writes the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from .templates import HOLE, REPOSITORY, Template, sites, stated

PAGE = REPOSITORY / "docs" / "errors.md"
_ESCAPED = re.compile(r"\\([^\w\s])")
_FEWEST_WORDS = 10
"""How many characters of a message are fixed, at least, for a text to be one of it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: the messages of some modules, and what they mean."""

    title: str
    modules: tuple[str, ...]
    meaning: str


SECTIONS = (
    Section(
        "Language",
        ("tdsl/frontend/",),
        "Raised where a kernel is defined, as `KernelSyntaxError` (the text is "
        "outside the language) or `KernelTypeError` (names, ranks or dtypes do not "
        "fit). Python shows the line and marks the part that is meant: change that "
        "part as the message says, and define the kernel again.",
    ),
    Section(
        "Arguments",
        (
            *("tdsl/arguments.py", "tdsl/binding.py", "tdsl/kernel.py", "tdsl/ir/"),
            *("backends/faults.py", "backends/reference.py"),
        ),
        "Raised at a call, or where a dim or a kernel is made, mostly as "
        "`ArgumentError`: what was passed does not fit the signature. Nothing has "
        "run and no array has changed, except after a `SubscriptError`, which "
        "comes from the running kernel and leaves its results undefined.",
    ),
    Section(
        "Schedules",
        ("schedules/",),
        "Raised by a scheduling step, as `ScheduleError`: the step was not applied "
        "and the schedule before it is as it was. The first word is the primitive; "
        "the last line of the message names the step. [schedules.md](schedules.md) "
        "shows each primitive before and after.",
    ),
    Section(
        "Proofs",
        ("tdsl/analysis/", "tdsl/kernel_faults.py"),
        "Part of a `ProofError` (a schedule is refuted, or could not be decided) "
        "or of a `KernelFaultError` (the kernel itself is at fault, whatever its "
        "schedule). *Refuted* comes with sizes and iterations at which results "
        "would differ: leave out or change the step that moved these iterations. "
        "*Unknown* means that nothing wrong was found and nothing was proved: use "
        "a simpler schedule.",
    ),
    Section(
        "Backends",
        ("backends/", "tdsl/target.py", "tdsl/executable.py"),
        "Raised while code is made, as `BackendError`, or where results are "
        "compared, as `CheckError`. The kernel is right and its schedule proved, "
        "but no code can be made of it: change the schedule as the message says.",
    ),
    Section(
        "Tuning",
        ("tuner/", "tdsl/entries.py", "tdsl/paths.py"),
        "Raised by `tdsl.tune` and `tdsl tune`: as `ArgumentError` before anything "
        "has run, as `CacheError` where a file cannot be read or written, and as "
        "`TuningError` where a job measured nothing. A candidate that is refused "
        "or fails is no error: the report counts it under the words given here.",
    ),
    Section(
        "Testing",
        ("tdsl/testing/",),
        "Raised by the functions of `tdsl.testing`. A `FailedCheck` is a wrong "
        "result: it shows the smallest case and the shortest schedule that fail, "
        "and the lines that repeat it.",
    ),
    Section(
        "Command line",
        ("tdsl/cli/",),
        "Printed by the commands after `tdsl: `, without a traceback; the exit status "
        "is then 2. Errors of the other sections are printed in the same way.",
    ),
)
HEAD = f"""\
# Messages

Every error of tdsl is a subclass of `tdsl.TdslError`; [language.md](language.md#errors)
lists the classes. The message says what was given, what is allowed and what to write
instead. This page lists all messages, by what raises them: search it for a few words of
yours. `{HOLE}` stands for what varies, and examples are from the tests. The page is
made by a test from the code, and fails where a message has no example.
"""


def examples_of(template: Template) -> list[str]:
    """Return the texts in the tests that are this message, word by word."""
    if sum(map(len, template.parts)) < _FEWEST_WORDS:
        whole = len(template.parts) == 1 and template.text in stated()
        return [template.text] if whole else []
    before = ".*" if template.module.startswith("tdsl/analysis/") else ""
    if template.module.startswith("tdsl/cli/"):
        before = "(tdsl: (error: )?)?"
    after = r"( \(in .*\))?" if "frontend" in template.module else "\n?"
    pattern = re.compile(before + template.pattern.pattern + after, re.DOTALL)
    fixed = max(template.parts, key=len)
    found = [each for each in stated() if fixed in each and pattern.fullmatch(each)]
    return sorted(found, key=lambda text: (HOLE in text, "\\" in text, len(text)))


@cache
def messages() -> dict[str, Template]:
    """Return the messages of the package by their texts, each once."""
    found = sorted(each for site in sites() for each in site.templates)
    return {each.text: each for each in reversed(found)}


def without_example() -> Iterator[Template]:
    """Yield the messages that no test compares word by word."""
    return (each for each in messages().values() if not examples_of(each))


def page() -> str:
    """Return the text of docs/errors.md."""
    parts = [HEAD]
    for section in SECTIONS:
        parts += [f"\n## {section.title}\n\n{_wrapped(section.meaning)}\n\n"]
        found = [
            each
            for each in messages().values()
            if section_of(each) is section and _says_something(each)
        ]
        parts += [_entry(each) for each in sorted(found, key=lambda each: each.text)]
    return "".join(parts)


def section_of(template: Template) -> Section:
    """Return the most exact section of the module of *template*."""
    fitting = [
        (len(prefix), number)
        for number, section in enumerate(SECTIONS)
        for prefix in section.modules
        if template.module.startswith(prefix)
    ]
    assert fitting, f"{template.module} belongs to no section of the page"
    return SECTIONS[max(fitting)[1]]


def _entry(template: Template) -> str:
    examples = examples_of(template)
    lines = [f"- {_code(template.text)}"]
    if examples and len(template.parts) > 1 and HOLE not in examples[0]:
        # Some tests have a message as a pattern.
        plain = _ESCAPED.sub(r"\1", examples[0])
        lines.append(f"  for example {_code(plain)}")
    return "\n".join(lines) + "\n"


def _says_something(template: Template) -> bool:
    """Whether *template* has words, and not only a place for those of others."""
    fixed = "".join(template.parts)
    return (
        len(template.parts) == 1
        or len(fixed) >= _FEWEST_WORDS
        or bool(examples_of(template))
    )


def _code(text: str) -> str:
    """Return *text* as code, on one line."""
    line = " ".join(text.split())
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def _wrapped(text: str) -> str:
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) > 87:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])
