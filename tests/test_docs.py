"""What the documents show is what the commands and the examples print.

A fenced block below one of these HTML comments is checked:

    <!-- example: NAME -->            Python that runs after the other examples of its
                                      page, in one process with one namespace
    <!-- prints -->                   all that the example just above it prints; an
                                      error of tdsl at its end counts as printed. An
                                      example without such a block prints nothing.
    <!-- code: NAME.py -->            saved as NAME.py beside the repository's folders
    <!-- output: COMMAND -->          what COMMAND prints
    <!-- output: COMMAND | from 'A' until 'B' -->   the lines from the first that
                                      contains A to before the next that contains B;
                                      either part may be left out
    <!-- output: COMMAND | contains WORD -->  an example: other machines print other
                                              text, and WORD must be in both
    <!-- output: COMMAND | loop with WORD --> the same, for the innermost loop of
                                              assembly that contains WORD

All Python on a page of docs/ is in such a block.
`python -m pytest tests/test_docs.py --update-golden` rewrites the blocks.
"""

from __future__ import annotations

import platform
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from .pages import (
    REPOSITORY,
    Block,
    Example,
    blocks,
    examples,
    printed_by_examples,
    read,
    rewrite,
)

PAGES = tuple(
    f"docs/{page.name}" for page in sorted((REPOSITORY / "docs").glob("*.md"))
)
DOCUMENTS = ("README.md", *PAGES)
PROGRAMS = {
    "tdsl": [sys.executable, "-m", "tdsl.cli"],
    "python": [sys.executable],
}


def outputs(document: str) -> Iterator[Block]:
    return (block for block in blocks(document) if block.what == "output")


def split_argument(output: Block) -> tuple[str, str]:
    """Return the command and the selection of a block that shows output."""
    command, _, selection = output.argument.partition(" | ")
    return command, selection


@cache
def printed(folder: Path, command: str) -> str:
    """Run *command* in *folder* and return its standard output."""
    name, *arguments = shlex.split(command)
    finished = subprocess.run(
        [*PROGRAMS[name], *arguments], cwd=folder, capture_output=True, text=True
    )
    assert finished.returncode == 0, f"{command}\n{finished.stderr}"
    return finished.stdout


def selected(text: str, selection: str) -> str:
    """Return the part of *text* that a block shows."""
    match shlex.split(selection):
        case []:
            return text
        case ["from", first]:
            return between(text, first, None)
        case ["until", end]:
            return between(text, None, end)
        case ["from", first, "until", end]:
            return between(text, first, end)
        case ["contains", word]:
            assert word in text
            return text
        case ["loop", "with", word]:
            return innermost_loop(text, word)
    raise AssertionError(f"unknown selection {selection!r}")


def between(text: str, first: str | None, end: str | None) -> str:
    """Return some lines of *text*, without empty lines around and indentation."""
    lines = text.splitlines()
    start = 0 if first is None else place(lines, first, 0)
    stop = len(lines) if end is None else place(lines, end, start + 1)
    return textwrap.dedent("\n".join(lines[start:stop])).strip("\n") + "\n"


def place(lines: list[str], word: str, start: int) -> int:
    for number in range(start, len(lines)):
        if word in lines[number]:
            return number
    raise AssertionError(f"no line contains {word!r}")


def innermost_loop(assembly: str, word: str) -> str:
    """Return the loop with most *word*s among those that jump back without a label."""
    lines = assembly.splitlines()
    loops: list[list[str]] = []
    for number, line in enumerate(lines):
        label = line.split("#")[0].strip()
        if not label.endswith(":"):
            continue
        body = [line]
        for follower in lines[number + 1 :]:
            if follower.split("#")[0].strip().endswith(":"):
                break
            body.append(follower)
            if re.search(rf"\bj\w+\s+{re.escape(label[:-1])}$", follower.strip()):
                loops.append(body)
                break
    assert loops, "no loop in the assembly"
    best = max(loops, key=lambda loop: sum(word in line for line in loop))
    assert any(word in line for line in best), f"no loop contains {word}"
    return "\n".join(best) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the code blocks of all documents, and links to the repository."""
    scratch = tmp_path_factory.mktemp("documents")
    for entry in ("examples", "benchmarks"):
        (scratch / entry).symlink_to(REPOSITORY / entry)
    for document in DOCUMENTS:
        (scratch / "pages" / document).mkdir(parents=True)
        for block in blocks(document):
            if block.what == "code":
                (scratch / block.argument).write_text(block.text, "utf-8")
    return scratch


def described(block: Block | Example) -> str:
    if isinstance(block, Example):
        block = block.code
    return f"{block.document}: {block.argument}"


@pytest.mark.parametrize(
    "output", [o for d in DOCUMENTS for o in outputs(d)], ids=described
)
def test_blocks_are_true(output: Block, folder: Path, update_golden: bool) -> None:
    command, selection = split_argument(output)
    if "--stage asm" in command and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the page shows x86 code")
    actual = selected(printed(folder, command), selection)
    if update_golden:
        rewrite(output, actual)
        return
    match selection.split():
        case ["contains", word] | ["loop", "with", word]:
            assert word in output.text
        case _:
            assert output.text == actual


@pytest.mark.parametrize(
    "example", [e for d in DOCUMENTS for e in examples(d)], ids=described
)
def test_examples_print_what_is_shown(
    example: Example, folder: Path, update_golden: bool
) -> None:
    document = example.code.document
    printed = printed_by_examples(document, folder / "pages" / document)
    actual = printed[example.code.argument]
    if update_golden and example.prints is not None:
        rewrite(example.prints, actual)
        return
    assert actual == (example.prints.text if example.prints else "")


@pytest.mark.parametrize("page", PAGES)
def test_all_python_of_a_page_is_checked(page: str) -> None:
    lines = read(page).splitlines()
    checked = re.compile(r"<!-- (example|code|output)")
    for above, line in zip(["", *lines], lines, strict=False):
        assert line != "```python" or checked.match(above), f"{page}: {above!r}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_files_and_functions_exist(document: str) -> None:
    """`folder/file.py` exists, and `folder/file.py:name` defines that name."""
    for path, _, name in re.findall(r"`([\w/]+\.py)(:(\w+))?`", read(document)):
        file = REPOSITORY / path
        assert file.is_file(), f"{document} names {path}"
        if name:
            defined = re.compile(rf"^\s*(def|class) {name}\b|^{name}\b", re.MULTILINE)
            assert defined.search(file.read_text(encoding="utf-8")), f"{path}:{name}"


@pytest.mark.parametrize("document", [*DOCUMENTS, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(document: str) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", read(document)):
        file = (REPOSITORY / document).parent / target if target else document
        assert (REPOSITORY / file).exists(), target
        if anchor:
            assert anchor in anchors(str(file)), f"{target}#{anchor}"


def anchors(document: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of *document*."""
    headings = re.findall(r"^#+ (.*)$", read(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_the_readme_holds_both_commands() -> None:
    """`.ci/run` reads the second one from there."""
    text = read("README.md")
    for name, parts in {
        "main": ("pip install", "tdsl tune examples/01_matmul.py:matmul", "02_digits"),
        "test": ("pip install", "pytest"),
    }.items():
        match = re.search(rf"^<!-- command: {name} -->\n```sh\n(.*)\n```$", text, re.M)
        assert match, f"README.md has no one-line block for the command {name}"
        for part in parts:
            assert part in match[1]


def test_the_innermost_loop_is_found() -> None:
    assembly = "\tnop\n.LB1:\n\tadd\n.LB2:\n\tvfmadd\n\tjne\t.LB2\n\tjmp\t.LB1\n"
    assert innermost_loop(assembly, "vfmadd") == ".LB2:\n\tvfmadd\n\tjne\t.LB2\n"
