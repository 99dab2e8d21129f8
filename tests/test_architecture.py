"""Layers point down, heavy packages have one owner, and names explain themselves."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

# Where the packages live, as in pyproject.toml.
FOLDERS = {
    "tdsl": "tdsl",
    "tdsl.schedules": "schedules",
    "tdsl.tuner": "tuner",
    "tdsl.backends": "backends",
}

# Lowest first. A module imports from lower rows and from its own entry; entries of one
# row are siblings and do not import one another.
LAYERS = (
    ("tdsl.errors", "tdsl.limits", "tdsl.notices"),
    ("tdsl.paths",),
    ("tdsl.ir",),
    ("tdsl.target",),
    ("tdsl.entries",),
    ("tdsl.analysis",),
    ("tdsl.frontend", "tdsl.schedules", "tdsl.backends", "tdsl.kernel_faults"),
    ("tdsl.argument_advice",),
    ("tdsl.arguments",),
    ("tdsl.dispatch_text", "tdsl.memory_order"),
    ("tdsl.plans",),
    ("tdsl.binding", "tdsl.dispatch", "tdsl.executable"),
    ("tdsl.kernel",),
    ("tdsl.testing",),
    ("tdsl.tuner",),
    ("tdsl.cli",),
    ("tdsl",),
)

# (importer, imported): tdsl imports that may stand inside a function, because they
# load a heavy package that most uses of the importer do not need.
DEFERRED: set[tuple[str, str]] = set()

# Third-party packages, and the only modules (with their submodules) that import them.
OWNERS = {
    "sympy": ("tdsl.ir.dims",),
    "islpy": ("tdsl.analysis.sets",),
    "numba": ("tdsl.backends",),
    "llvmlite": ("tdsl.backends", "tdsl.target"),
    "optuna": ("tdsl.tuner",),
    "ml_dtypes": ("tdsl.ir.dtypes",),
    "hypothesis": ("tdsl.testing.strategies",),
    "pytest": ("tdsl.testing.pytest_plugin", "tdsl.testing.collection"),
}

FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "core"}

FILE_LINES, FUNCTION_LINES = 450, 60


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module: by whom, where, and whether inside a function."""

    importer: str
    imported: str
    place: str
    relative: bool
    deferred: bool


@cache
def modules() -> dict[str, Path]:
    """Map the dotted name of every module of tdsl to its file."""
    found: dict[str, Path] = {}
    for package, folder in FOLDERS.items():
        for file in sorted((REPOSITORY / folder).rglob("*.py")):
            parts = file.relative_to(REPOSITORY / folder).with_suffix("").parts
            if parts[-1] == "__init__":
                parts = parts[:-1]
            found[".".join((package, *parts))] = file
    return found


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def with_depth(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node below *node*, and whether it stands inside a function."""
    for child in ast.iter_child_nodes(node):
        yield child, inside
        function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from with_depth(child, inside or function)


def absolute(module: str, node: ast.ImportFrom) -> str:
    """Resolve the module part of a relative import found in *module*."""
    if not node.level:
        return node.module or ""
    package = module.split(".")
    if modules()[module].name != "__init__.py":
        package = package[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])


def imports(module: str) -> Iterator[Import]:
    """Yield the imports of *module*, `from package import module` fully resolved."""
    for node, deferred in with_depth(parsed(module)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        place = f"{modules()[module].relative_to(REPOSITORY)}:{node.lineno}"
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(module, name.name, place, False, deferred)
            continue
        source = absolute(module, node)
        for name in node.names:
            full = f"{source}.{name.name}"
            target = full if full in modules() else source
            yield Import(module, target, place, node.level > 0, deferred)


def every_import() -> Iterator[Import]:
    for module in modules():
        yield from imports(module)


def internal(name: str) -> bool:
    return name.split(".")[0] == "tdsl"


def layer(module: str) -> tuple[int, str]:
    """Return the rank of *module* and the longest entry of LAYERS that contains it."""
    best: tuple[int, str] | None = None
    for rank, row in enumerate(LAYERS):
        for entry in row:
            exact = module == entry
            inside = module.startswith(entry + ".") and entry != "tdsl"
            if (exact or inside) and (best is None or len(entry) > len(best[1])):
                best = rank, entry
    assert best, f"{module} has no place in LAYERS: give it one"
    return best


def test_every_module_has_a_layer() -> None:
    assert len(modules()) > 10
    for module in modules():
        layer(module)


def test_layers_point_down() -> None:
    wrong = []
    for found in every_import():
        if not internal(found.imported):
            continue
        above, own = layer(found.importer)
        below, other = layer(found.imported)
        if own != other and below >= above:
            wrong.append(f"{found.place}: {found.importer} imports {found.imported}")
    assert not wrong, "\n".join(wrong)


def test_no_import_cycles() -> None:
    graph: dict[str, set[str]] = {module: set() for module in modules()}
    for found in every_import():
        if internal(found.imported) and not found.deferred:
            graph[found.importer].add(found.imported)
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


def test_imports_inside_the_package_are_relative() -> None:
    wrong = [
        found.place
        for found in every_import()
        if internal(found.imported) and not found.relative
    ]
    assert not wrong, wrong


def test_no_stray_import_of_a_mapped_folder() -> None:
    """`import schedules` would load every class a second time."""
    stray = {"schedules", "tuner", "backends", "tests", "benchmarks", "examples"}
    wrong = [
        found.place for found in every_import() if found.imported.split(".")[0] in stray
    ]
    assert not wrong, wrong


def test_deferred_imports_are_listed() -> None:
    deferred = {
        (found.importer, found.imported)
        for found in every_import()
        if internal(found.imported) and found.deferred
    }
    assert deferred == DEFERRED, (
        "imports of tdsl inside a function belong in DEFERRED, with a reason"
    )


def test_other_deferred_imports_are_of_heavy_packages() -> None:
    wrong = [
        f"{found.place}: {found.imported}"
        for found in every_import()
        if found.deferred
        and not internal(found.imported)
        and found.imported.split(".")[0] not in OWNERS
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("package", sorted(OWNERS))
def test_heavy_packages_have_owners(package: str) -> None:
    wrong = [
        f"{found.place}: {found.importer} imports {found.imported}"
        for found in every_import()
        if found.imported.split(".")[0] == package
        and not any(
            found.importer == owner or found.importer.startswith(owner + ".")
            for owner in OWNERS[package]
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_names_explain_themselves() -> None:
    wrong = [
        str(file.relative_to(REPOSITORY))
        for folder in (*FOLDERS.values(), "tests", "benchmarks", "examples")
        for file in (REPOSITORY / folder).rglob("*.py")
        if FORBIDDEN_NAMES & {file.stem, file.parent.name}
    ]
    assert not wrong, wrong


def test_modules_begin_alike() -> None:
    """Every module has a docstring and postponed evaluation of annotations."""
    wrong = []
    for module, file in modules().items():
        tree = parsed(module)
        future = any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for node in tree.body
        )
        only_docstring = len(tree.body) == 1
        if not ast.get_docstring(tree) or not (future or only_docstring):
            wrong.append(str(file.relative_to(REPOSITORY)))
    assert not wrong, wrong


def code_lines(function: ast.FunctionDef) -> int:
    """Count the lines of *function* without its docstring, which may hold drawings."""
    first, last = function.lineno, function.end_lineno or function.lineno
    length = last - first + 1
    if ast.get_docstring(function):
        docstring = function.body[0]
        length -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return length


def test_size_outliers_are_noted(note: Callable[[str], None]) -> None:
    """Sizes are guides: outliers are printed at the end of the run, not refused."""
    for module, file in modules().items():
        lines = len(file.read_text(encoding="utf-8").splitlines())
        name = file.relative_to(REPOSITORY)
        if lines > FILE_LINES:
            note(f"{name}: {lines} lines (guide: {FILE_LINES})")
        for node in ast.walk(parsed(module)):
            if not isinstance(node, ast.FunctionDef):
                continue
            length = code_lines(node)
            if length > FUNCTION_LINES:
                note(
                    f"{name}:{node.lineno}: {node.name} has {length} lines "
                    f"(guide: {FUNCTION_LINES})"
                )
