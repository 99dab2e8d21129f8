"""Wrong command lines: exit code 2, and a message that says what to write."""

from __future__ import annotations

import email
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tdsl.cli import main
from tdsl.cli.arguments import make_parser, seconds

FILE = Path(__file__).with_name("matmul_file.py")
KERNEL = f"{FILE}:matmul"


def message(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    error = capsys.readouterr().err.removeprefix("loaded\n")
    return error.removeprefix("tdsl: ").rstrip()


def test_no_such_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert message(capsys, "tune", "missing.py:matmul", "M=1") == (
        "no such file: missing.py; name a kernel as FILE.py:KERNEL"
    )


@pytest.mark.parametrize("name", ["no_package.kern", "json.no_module", "sys", "a b"])
def test_no_such_module(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert message(capsys, "show", f"{name}:f") == (
        f"no such file or module: {name}; name a kernel as FILE.py:KERNEL, or as "
        "MODULE:KERNEL"
    )


def test_no_such_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert message(capsys, "tune", f"{FILE}:matmull", "M=1") == (
        f"{FILE} holds no kernel 'matmull'; it holds: matmul, double"
    )


def test_which_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert message(capsys, "show", str(FILE)) == (
        f"{FILE} holds several kernels: matmul, double; write {FILE}:NAME"
    )


def test_no_kernel(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "empty.py"
    file.write_text("x = 1\n")
    assert message(capsys, "show", f"{file}:f") == (
        f"{file} holds no kernel; decorate a function with @tdsl.kernel"
    )


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        (["M=8"], "matmul needs a size for K, N; add K=512 N=512"),
        (["M=8", "Q=8"], "matmul has no dim 'Q'; its dims are M, K, N"),
        (["M=x"], "'M=x': 'x' is not a whole number, as in M=512"),
        (["M=1.5"], "'M=1.5': '1.5' is not a whole number, as in M=512"),
        (["M"], "'M' is not DIM=VALUE, as in M=512"),
        (["M=8", "M=9"], "M is given twice"),
        (["M=0", "N=8", "K=8"], "M=0: matmul assumes at least 1"),
        (["M=-3", "N=8", "K=8"], "M=-3: matmul assumes at least 1"),
        (["M=8", "N=8", "K=5000"], "K=5000: matmul assumes at most 4096"),
        (["--budget", "45s", "M=8"], "matmul needs a size for K, N; add K=512 N=512"),
        (["--seed=1", "M=8", "--threads", "1", "M=9"], "M is given twice"),
    ],
)
def test_dims(
    capsys: pytest.CaptureFixture[str], dims: list[str], expected: str
) -> None:
    assert message(capsys, "tune", KERNEL, *dims) == expected


UNBOUNDED = """\
import tdsl
M = tdsl.dim("M", min=1)

@tdsl.kernel
def shorten(x: tdsl.f32[M]) -> tdsl.f32[M - 3]:
    y = tdsl.empty((M - 3,), tdsl.f32)
    for i in range(M - 3):
        y[i] = x[i]
    return y
"""


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        ("M=3000000000", "dim M is 3000000000 (from the call), but must be at most"),
        ("M=2", "the result y[M - 3] would have the size M - 3 = -1 for M = 2"),
    ],
)
def test_sizes_that_no_call_can_have(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, dim: str, expected: str
) -> None:
    file = tmp_path / "unbounded.py"
    file.write_text(UNBOUNDED)
    assert expected in message(capsys, "tune", f"{file}:shorten", dim)


def test_the_kernel_may_stand_anywhere() -> None:
    words = ["tune", "M=1", "--json", KERNEL, "--budget", "1s", "N=2"]
    options = make_parser().parse(words)
    assert options.kernel == KERNEL
    assert options.dims == ["M=1", "N=2"]


@pytest.mark.parametrize(
    "words", [["M=1"], [KERNEL, "M=1", "--bogus"], [KERNEL, "--budget", "x"]]
)
def test_wrong_usage_is_one_json_object(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["tune", *words, "--json"])
    assert caught.value.code == 2
    found = json.loads(capsys.readouterr().out)
    assert found["exit_code"] == 2 and found["error"]


@pytest.mark.parametrize(
    ("file", "code"), [("missing.py:f", 2), (f"{FILE}:matmull", 2)]
)
def test_errors_are_one_json_object(
    capsys: pytest.CaptureFixture[str], file: str, code: int
) -> None:
    assert main(["tune", file, "M=1", "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert found["exit_code"] == code
    assert "no" in found["error"]


def test_a_file_that_exits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "exits.py"
    file.write_text("raise SystemExit(5)\n")
    assert "ended the program while it was loaded (SystemExit 5)" in message(
        capsys, "show", f"{file}:f"
    )


def test_a_file_with_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "broken.py"
    file.write_text("1 / 0\n")
    assert message(capsys, "show", f"{file}:f") == (
        f"{file} cannot be loaded: ZeroDivisionError: division by zero, at broken.py:1"
    )
    file.write_text("def g(x):\n    return len(x)\n\nx = [g(each) for each in [1]]\n")
    assert message(capsys, "show", f"{file}:f") == (
        f"{file} cannot be loaded: TypeError: object of type 'int' has no len(), at "
        "broken.py:2, in g"
    )
    file.write_text("import math\nimport no_module_of_this_name\n")
    assert message(capsys, "show", f"{file}:f") == (
        f"{file} cannot be loaded: ModuleNotFoundError: No module named "
        "'no_module_of_this_name', at broken.py:2"
    )


def test_an_interrupt_while_a_command_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tdsl.cli.import_module", interrupted)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == (
        "tdsl: interrupted; the ledger keeps what was measured\n"
    )


INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from tdsl.cli import main
sys.exit(main(["tune", "--json", "missing.py"]))
"""


@pytest.mark.parametrize("module", ["numpy", "argparse", "tdsl.cli.tune", "numba"])
def test_an_interrupt_at_any_import(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module], capture_output=True, text=True
    )
    text = "interrupted; the ledger keeps what was measured"
    assert done.stderr == f"tdsl: {text}\n"
    assert json.loads(done.stdout) == {"error": text, "exit_code": 130}
    assert done.returncode == 130


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file with a kernel in a package inside a package."""
    inner = tmp_path / "outer_package" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("")
    (inner / "__init__.py").write_text("")
    (inner.parent / "sizes.py").write_text("N = 7\n")
    file = inner / "kern.py"
    file.write_text(
        "import tdsl\n"
        "from ..sizes import N\n"
        "@tdsl.kernel\n"
        "def scale(x: tdsl.f32[N]) -> tdsl.f32[N]:\n"
        "    y = tdsl.empty((N,), tdsl.f32)\n"
        "    for i in range(N):\n"
        "        y[i] = 2 * x[i]\n"
        "    return y\n"
    )
    monkeypatch.setattr("sys.path", [*sys.path])
    yield file
    for name in [each for each in sys.modules if each.startswith("outer_package")]:
        del sys.modules[name]


def test_a_file_in_a_package(
    packaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", f"{packaged}:scale", "--stage", "parsed"]) == 0
    assert "scale(x: f32[7], y: output f32[7])" in capsys.readouterr().out


def test_the_name_of_a_module(
    packaged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is found in the current folder, as `python -m` finds it."""
    monkeypatch.chdir(packaged.parents[2])
    name = "outer_package.inner.kern"
    for place in (f"{name}:scale", name):
        assert main(["show", place, "--stage", "parsed"]) == 0
        assert "scale(x: f32[7], y: output f32[7])" in capsys.readouterr().out
    (packaged.parent / "__init__.py").write_text("import no_module_of_this_name\n")
    del sys.modules["outer_package.inner"]
    assert message(capsys, "show", f"{name}:scale") == (
        f"{name} cannot be loaded: ModuleNotFoundError: No module named "
        "'no_module_of_this_name', at __init__.py:1"
    )


def test_a_package_whose_name_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "email"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "kern.py").write_text("")
    assert main(["show", f"{folder}/kern.py"]) == 1
    found = Path(email.__file__).parent
    assert capsys.readouterr().err == (
        f"tdsl: {folder} is the package email, but Python finds another one of that "
        f"name, in {found}: rename yours\n"
    )


def test_a_kernel_outside_the_language(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The message has the source line and carets, as Python prints them."""
    file = tmp_path / "wrong.py"
    file.write_text(
        "import tdsl\n"
        "N = tdsl.dim('N')\n"
        "@tdsl.kernel\n"
        "def f(x: tdsl.f32[N]) -> tdsl.f32[N]:\n"
        "    while True:\n"
        "        pass\n"
    )
    assert main(["show", f"{file}:f"]) == 1
    error = capsys.readouterr().err
    assert f'File "{file}", line 5' in error
    assert "while True:" in error
    assert "^" in error


@pytest.mark.parametrize(
    ("text", "value"),
    [("45s", 45), ("45", 45), ("2m", 120), ("1.5m", 90), ("1h", 3600)],
)
def test_budgets(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "x", "2x", "-5s", "s"])
def test_wrong_budgets(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        make_parser().parse_args(["tune", KERNEL, f"--budget={text}"])
    assert caught.value.code == 2
    assert (
        f"argument --budget: {text!r} is not a duration; write seconds or minutes, as "
        "in 45s or 2m"
    ) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["tune", KERNEL, "M=8", "--budgt", "45s"],
            "tdsl tune: error: unrecognized arguments: --budgt; did you mean --budget?",
        ),
        (
            ["check", KERNEL, "H=10"],
            "tdsl check: error: unrecognized arguments: H=10; check draws the sizes "
            "itself, so leave them out",
        ),
        (["doctor", "x"], "tdsl doctor: error: unrecognized arguments: x"),
    ],
)
def test_unknown_words(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The usage is that of the command."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"usage: tdsl {words[0]} ")
    assert error.endswith(f"\n{expected}\n")


OUT_OF_BOUNDS = """\
import tdsl
M = tdsl.dim("M", min=1)

@tdsl.kernel
def shift(x: tdsl.f32[M]) -> tdsl.f32[M]:
    y = tdsl.empty((M,), tdsl.f32)
    for i in range(M):
        y[i] = x[i + 1]
    return y
"""


def test_commands_agree_on_a_fault_of_the_kernel(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "bad.py"
    file.write_text(OUT_OF_BOUNDS)
    said = set()
    for words in (["check"], ["tune", "M=100"], ["show"], ["show", "--stage=source"]):
        assert main([words[0], f"{file}:shift", *words[1:]]) == 1
        said.add(capsys.readouterr().err)
    (error,) = said
    assert f'File "{file}", line 8' in error
    assert "\n           ^^^^^^^^\n" in error
    assert "the kernel reads x[1] outside x[M] for M=1" in error


@pytest.mark.parametrize("text", ["0", "-1", "two"])
def test_wrong_threads(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        make_parser().parse_args(["tune", KERNEL, f"--threads={text}"])
    assert caught.value.code == 2
    assert f"{text!r} is not a whole number from 1 to 1024" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["tune"], ["show"], ["check"], ["doctor"]])
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert all(len(line) <= 88 for line in text.splitlines())
    if command == ["tune"]:
        for word in ("FILE.py:KERNEL", "DIM=VALUE", "--budget", "--seed", "--ledger"):
            assert word in text


def test_an_unwritable_ledger(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "ledger.jsonl"
    arguments = ["tune", KERNEL, "M=8", "N=8", "K=8", "--ledger", str(path)]
    assert main(arguments) == 1
    assert "cannot create the folder" in capsys.readouterr().err
