"""Find the message of every error that the package raises, in its text.

A template is a message as the code has it: fixed words, and holes for what varies. It
is found from a `raise` backwards: through the name of a variable, the results of a
function, the values of a table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("tdsl", "schedules", "backends", "tuner")
OURS = frozenset(
    (
        *("AssertionError", "AttributeError", "KeyError", "OSError", "TypeError"),
        *("ValueError", "KeyboardInterrupt", "TypingError", "Interrupted"),
        *("EvaluationTooSlow", "NothingBuilds", "NoArgumentError", "NoTextError"),
        *("OutOfTime", "WorkerLost", "StopIteration"),
        *("IndexError", "NotImplementedError", "_ManyStatements", "with_traceback"),
    )
)
"""What is caught again before a user sees it, or is no mistake of a user."""
HOLE = "\N{HORIZONTAL ELLIPSIS}"
_DEEPEST = 4


@dataclass(frozen=True, slots=True, order=True)
class Template:
    """A message with holes, where it is raised, and the class of the error."""

    module: str
    line: int
    error: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        return HOLE.join(self.parts)

    @property
    def pattern(self) -> re.Pattern[str]:
        words = ".*".join(re.escape(part) for part in self.parts)
        return re.compile(words, re.DOTALL)


@dataclass(frozen=True, slots=True)
class Site:
    """A `raise` in a function of a module, and the messages that it may give."""

    module: str
    line: int
    error: str
    templates: tuple[Template, ...]


@cache
def modules() -> dict[str, ast.Module]:
    """Return the trees of the package by their files."""
    files = sorted(
        file for each in FOLDERS for file in (REPOSITORY / each).rglob("*.py")
    )
    return {
        file.relative_to(REPOSITORY).as_posix(): ast.parse(file.read_text("utf-8"))
        for file in files
    }


@cache
def _functions() -> dict[str, list[tuple[str, ast.FunctionDef]]]:
    """Return the functions and methods of the package by their names."""
    found: dict[str, list[tuple[str, ast.FunctionDef]]] = {}
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append((module, node))
    return found


@cache
def _constants() -> dict[str, list[ast.expr]]:
    """Return the texts of the package by the names of modules for them."""
    found: dict[str, list[ast.expr]] = {}
    for tree in modules().values():
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if isinstance(value, ast.Constant | ast.JoinedStr):
                        found.setdefault(name, []).append(value)
                case _:
                    pass
    return found


@cache
def _tables() -> dict[str, list[ast.Dict]]:
    """Return the tables of texts of the package by their names."""
    found: dict[str, list[ast.Dict]] = {}
    for tree in modules().values():
        for node in tree.body:
            value = getattr(node, "value", None)
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            if isinstance(value, ast.Dict) and isinstance(targets[0], ast.Name):
                found.setdefault(targets[0].id, []).append(value)
    return found


def sites() -> Iterator[Site]:
    """Yield every `raise` of an error that a user may see."""
    for module, tree in modules().items():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for node in _own_nodes(function):
                    if isinstance(node, ast.Raise) and node.exc is not None:
                        site = _site(module, function, node, node.exc)
                        if site.error not in OURS:
                            yield site


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of *function* outside the functions in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            waiting.extend(ast.iter_child_nodes(node))


def _site(
    module: str, function: ast.FunctionDef, node: ast.Raise, raised: ast.expr
) -> Site:
    error = _error_name(raised)
    found = {
        Template(module, node.lineno, error, parts)
        for parts in _Search(module, function).of_error(raised, 0)
    }
    return Site(module, node.lineno, error, tuple(sorted(found)))


def _error_name(raised: ast.expr) -> str:
    called = raised.func if isinstance(raised, ast.Call) else raised
    name = called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)
    known = {"type_error": "KernelTypeError", "syntax_error": "KernelSyntaxError"}
    if name in known:
        return known[name]
    returns = [each.returns for _, each in _functions().get(name, ()) if each.returns]
    return ast.unparse(returns[0]) if returns else name


@dataclass(frozen=True, slots=True)
class _Search:
    """Look for the texts that an expression in *function* may stand for."""

    module: str
    function: ast.FunctionDef

    def of_error(self, node: ast.expr, depth: int) -> Iterator[tuple[str, ...]]:
        """Yield the messages of the error that *node* makes."""
        if not isinstance(node, ast.Call):
            return
        name = _called(node)
        if name[:1].isupper() or name in ("type_error", "syntax_error"):
            values = [*node.args, *(each.value for each in node.keywords)]
            position = 1 if name in ("type_error", "syntax_error") else 0
            for value in values[position : position + 1]:
                yield from self.of_text(value, depth)
            return
        yield from self._of_function(name, depth, errors=True)

    def of_text(self, node: ast.expr, depth: int) -> Iterator[tuple[str, ...]]:
        match node:
            case ast.Constant(value=str(text)):
                yield (text,)
            case ast.JoinedStr():
                yield _parts(node)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                for first in self.of_text(left, depth):
                    for second in self.of_text(right, depth):
                        joined = first[-1] + second[0]
                        yield (*first[:-1], joined, *second[1:])
            case ast.IfExp(body=body, orelse=orelse):
                yield from self.of_text(body, depth)
                yield from self.of_text(orelse, depth)
            case ast.BoolOp(values=values):
                for value in values:
                    yield from self.of_text(value, depth)
            case ast.Name(id=name):
                for value in (*self._assigned(name), *_constants().get(name, ())):
                    yield from self.of_text(value, depth)
            case ast.Call(func=ast.Attribute(value=text, attr="format")):
                for parts in self.of_text(text, depth):
                    yield tuple("\0".join(parts).replace("{}", "\0").split("\0"))
            case ast.Subscript(value=ast.Name(id=name)):
                yield from self._of_table(name, depth)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=args
            ):
                yield from self._of_table(name, depth)
                for default in args[1:]:
                    yield from self.of_text(default, depth)
            case ast.Call(func=ast.Name(id="str"), args=[value]):
                yield from self.of_text(value, depth)
            case ast.Call():
                yield from self._of_function(_called(node), depth, errors=False)
            case _:
                return

    def _assigned(self, name: str) -> Iterator[ast.expr]:
        for node in ast.walk(self.function):
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    if target == name:
                        yield value
                case ast.NamedExpr(target=ast.Name(id=target), value=value):
                    if target == name:
                        yield value
                case _:
                    pass

    def _of_table(self, name: str, depth: int) -> Iterator[tuple[str, ...]]:
        for table in _tables().get(name, ()):
            for value in table.values:
                yield from self.of_text(value, depth)

    def _of_function(
        self, name: str, depth: int, *, errors: bool
    ) -> Iterator[tuple[str, ...]]:
        if depth == _DEEPEST:
            return
        candidates = _functions().get(name, ())
        here = [each for each in candidates if each[0] == self.module]
        for module, function in here or candidates:
            inside = _Search(module, function)
            for node in _own_nodes(function):
                if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                    if errors:
                        yield from inside.of_error(node.value, depth + 1)
                    else:
                        yield from inside.of_text(node.value, depth + 1)


def _called(node: ast.Call) -> str:
    called = node.func
    return called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)


def _parts(node: ast.JoinedStr) -> tuple[str, ...]:
    parts = [""]
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts[-1] += str(value.value)
        elif parts[-1] or len(parts) == 1:  # two holes in a row are one
            parts.append("")
    return tuple(parts)


@cache
def stated() -> tuple[str, ...]:
    """Return every text in the tests and in what the examples of the pages print."""
    found: list[str] = []
    for file in sorted((REPOSITORY / "tests").rglob("*.py")):
        if file.name == "untested.py":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.append(HOLE.join(_parts(node)))
    return tuple(dict.fromkeys(found))
