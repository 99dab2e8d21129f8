"""The blocks of a document that the tests check, and what its examples print."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"<!-- (?P<what>code|output|example|prints)(?:: (?P<argument>.*?))? -->\n"
    r"```\w*\n(?P<text>.*?)```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block below a comment; *number* counts those of the document."""

    document: str
    number: int
    what: str
    argument: str
    text: str


@dataclass(frozen=True, slots=True)
class Example:
    """Code of a page, and the block that shows what it prints, if there is one."""

    code: Block
    prints: Block | None


def read(document: str) -> str:
    return (REPOSITORY / document).read_text(encoding="utf-8")


def blocks(document: str) -> Iterator[Block]:
    for number, match in enumerate(BLOCK.finditer(read(document))):
        argument = match["argument"] or ""
        yield Block(document, number, match["what"], argument, match["text"])


def rewrite(block: Block, text: str) -> None:
    """Put *text* in place of the text of *block*, in its document."""
    whole = read(block.document)
    start, end = list(BLOCK.finditer(whole))[block.number].span("text")
    changed = whole[:start] + text + whole[end:]
    (REPOSITORY / block.document).write_text(changed, encoding="utf-8")


def examples(document: str) -> list[Example]:
    found: list[Example] = []
    previous: Block | None = None
    for block in blocks(document):
        if block.what == "example":
            found.append(Example(block, None))
        elif block.what == "prints":
            is_below = previous is not None and previous.what == "example"
            assert is_below, f"{document}: no example just above\n{block.text}"
            found[-1] = replace(found[-1], prints=block)
        previous = block
    return found


@cache
def printed_by_examples(document: str, folder: Path) -> dict[str, str]:
    """Run the examples of *document* in order, in one process; return their output.

    Each one is saved in *folder* under its own name, for tracebacks.
    """
    names = [example.code.argument for example in examples(document)]
    assert len(set(names)) == len(names), f"{document} has equal names"
    for example in examples(document):
        (folder / f"{example.code.argument}.py").write_text(example.code.text, "utf-8")
    runner = Path(__file__).with_name("run_examples.py")
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(runner), *names],
        cwd=folder,
        env={**os.environ, "NUMBA_NUM_THREADS": "1"},  # which compiles faster
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, f"{document}\n{finished.stderr}"
    outputs: dict[str, str] = json.loads(finished.stdout)
    return {name: without_empty_end(text) for name, text in outputs.items()}


def without_empty_end(text: str) -> str:
    return text.rstrip("\n") + "\n" if text else ""
