"""`tdsl tune` and `tdsl.tune` with options that mean nothing: words, no traceback."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tdsl
from tdsl import f32
from tdsl.cli import main
from tdsl.errors import ArgumentError

from .conftest import FILE

KERNEL = f"{FILE}:matmul"
SIZES = ["M=8", "N=8", "K=8"]
NINES = "9" * 5000
_LONG = f"'{'9' * 76}..."
_DURATION = "is not a duration; write seconds or minutes, as in 45s or 2m"
_BUDGETS = {
    **{
        text: f"'{text}' {_DURATION}"
        for text in ("", "-1s", "nan", "inf", "1e9s", "10d", "1s 2s", "45S")
    },
    "1000001": "'1000001' is more than 1000000 seconds",
    "0": "'0' is less than 0.001 seconds; write a time as in 45s or 2m",
    "0s": "'0s' is less than 0.001 seconds; write a time as in 45s or 2m",
    "0.0001s": "'0.0001s' is less than 0.001 seconds; write a time as in 45s or 2m",
    NINES: f"{_LONG} is more than 1000000 seconds",
}
_THREADS = {
    **{
        text: f"'{text}' is not a whole number from 1 to 1024"
        for text in ("", "0", "-1", "1.5", "two", "nan", "1025", "0x2")
    },
    NINES: f"{_LONG} is not a whole number from 1 to 1024",
}
_SEEDS = {
    **{
        text: f"'{text}' is not a whole number from 0 to 2147483647"
        for text in ("", "-1", "1.5", "one", "nan", "2147483648", "0x10")
    },
    NINES: f"{_LONG} is not a whole number from 0 to 2147483647",
}
_CHOICE = "invalid choice: '{}' (choose from {})"
OPTIONS: dict[str, dict[str, str]] = {
    "budget": _BUDGETS,
    "threads": _THREADS,
    "seed": _SEEDS,
    "numerics": {
        text: _CHOICE.format(text, "'bitwise', 'reassoc', 'fast'")
        for text in ("", "exact", "BITWISE")
    },
    "target": {text: _CHOICE.format(text, "'cpu'") for text in ("", "gpu", "avx512")},
}
WRONG_OPTIONS = [
    (option, text, message)
    for option, table in OPTIONS.items()
    for text, message in table.items()
]


@pytest.mark.parametrize(("option", "text", "message"), WRONG_OPTIONS)
def test_a_wrong_option(
    option: str, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["tune", KERNEL, *SIZES, f"--{option}={text}"])
    assert caught.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"tdsl tune: error: argument --{option}: {message}"


WRONG_DIMS: dict[str, tuple[list[str], str]] = {
    "missing": (["M=8"], "matmul needs a size for K, N; add K=512 N=512"),
    "twice": ([*SIZES, "M=8"], "M is given twice"),
    "unknown": ([*SIZES, "Q=1"], "matmul has no dim 'Q'; its dims are M, K, N"),
    "lower case": (["m=8"], "matmul has no dim 'm'; its dims are M, K, N"),
    "no name": (["=8"], "'=8' is not DIM=VALUE, as in M=512"),
    "no value": (["M="], "'M=': '' is not a whole number, as in M=512"),
    "two equal signs": (["M==8"], "'M==8': '=8' is not a whole number, as in M=512"),
    "a list": (["M=8,N=8"], "'M=8,N=8': '8,N=8' is not a whole number, as in M=512"),
    "a colon": (["M:8"], "'M:8' is not DIM=VALUE, as in M=512"),
    "a number": (["8"], "'8' is not DIM=VALUE, as in M=512"),
    "empty": ([""], "'' is not DIM=VALUE, as in M=512"),
    "a float": (["M=8.0"], "'M=8.0': '8.0' is not a whole number, as in M=512"),
    "an exponent": (["M=1e3"], "'M=1e3': '1e3' is not a whole number, as in M=512"),
    "hexadecimal": (["M=0x8"], "'M=0x8': '0x8' is not a whole number, as in M=512"),
    "negative": (["M=-3", "N=8", "K=8"], "M=-3: matmul assumes at least 1"),
    "zero": (["M=0", "N=8", "K=8"], "M=0: matmul assumes at least 1"),
    "huge": ([f"M={10**30}", "N=8", "K=8"], f"M={10**30}: matmul assumes at most 4096"),
    "digits without end": (
        [f"M={NINES}"],
        f"'M={'9' * 74}...: {_LONG} is not a whole number, as in M=512",
    ),
    "broken text": (["\udcff=3"], "'\\udcff=3' is not DIM=VALUE, as in M=512"),
}


@pytest.mark.parametrize("case", WRONG_DIMS)
def test_a_wrong_dim(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    dims, message = WRONG_DIMS[case]
    assert main(["tune", KERNEL, *dims]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"tdsl: {message}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budget"], "argument --budget: expected one argument"),
        (["--ledger"], "argument --ledger: expected one argument"),
        (["--jsn"], "unrecognized arguments: --jsn; did you mean --json?"),
        (["--M=8"], "unrecognized arguments: --M=8"),
    ],
)
def test_wrong_words(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["tune", KERNEL, *SIZES, *words])
    assert caught.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"tdsl tune: error: {message}"


M = tdsl.dim("M", max=64)


@tdsl.kernel
def double(x: f32[M]) -> f32[M]:
    y = tdsl.empty((M,), f32)
    for i in range(M):
        y[i] = 2 * x[i]
    return y


def _of_main(x: Any) -> Any:
    """Stand for a function of the script that runs."""
    return x


_of_main.__module__ = "__main__"
sys.modules["__main__"]._of_main = _of_main  # type: ignore[attr-defined]
_SENT = (
    "which another process cannot import: pass a function at the top level of a module "
    "other than the script that runs, as numpy.matmul is"
)
_SPAN = "but it is a number of seconds from 0.001 to 1000000"
_COUNT = "but it is None or a whole number from 1 to 1024"
_SEED = "but it is a whole number from 0 to 2147483647"
_SIZE = "a size is a whole number, as in M=512"
WRONG_ARGUMENTS: tuple[tuple[str, Any, str], ...] = (
    ("budget_s", "60s", f"tune: budget_s is '60s', {_SPAN}"),
    ("budget_s", float("nan"), f"tune: budget_s is nan, {_SPAN}"),
    ("budget_s", float("inf"), f"tune: budget_s is inf, {_SPAN}"),
    ("budget_s", -1, f"tune: budget_s is -1, {_SPAN}"),
    ("budget_s", True, f"tune: budget_s is True, {_SPAN}"),
    ("budget_s", None, f"tune: budget_s is None, {_SPAN}"),
    ("threads", 0, f"tune: threads is 0, {_COUNT}"),
    ("threads", 2.0, f"tune: threads is 2.0, {_COUNT}"),
    ("threads", 10**400, f"tune: threads is a very large int, {_COUNT}"),
    ("seed", -1, f"tune: seed is -1, {_SEED}"),
    ("seed", None, f"tune: seed is None, {_SEED}"),
    ("seed", 2**31, f"tune: seed is 2147483648, {_SEED}"),
    (
        "numerics",
        "exact",
        "tune: numerics is 'exact', but it is None or one of bitwise, reassoc, fast",
    ),
    (
        "numerics",
        ["fast"],
        "tune: numerics is ['fast'], but it is None or one of bitwise, reassoc, fast",
    ),
    ("ledger", 3, "tune: ledger is 3, but it is None or a pathlib.Path"),
    ("target", "avx512", "tune: target is 'avx512', but it is None or a Target"),
    ("inputs", 3, "tune: inputs is 3, but it is None or a function of the dims"),
    ("listen", 3, "tune: listen is 3, but it is a function of what is shown"),
    ("contender", 3, "tune: contender is 3, but it is None or a function"),
    (
        "contender",
        lambda x: x,
        "tune: contender is <lambda>, which another process cannot import: pass a "
        "function at the top level of a module other than the script that runs, as "
        "numpy.matmul is",
    ),
    ("contender", partial(max, _of_main), f"tune: contender is a partial, {_SENT}"),
    ("contender", _of_main, f"tune: contender is _of_main, {_SENT}"),
    ("dims", 8, 'double: dims are 8; name a size for each: {"M": 512}'),
    ("dims", {"M": 8.0}, "M=8.0: a size is a whole number, as in M=512"),
    ("dims", {"M": "8"}, f"M='8': {_SIZE}"),
    ("dims", {"M": True}, f"M=True: {_SIZE}"),
    ("dims", {"M": None}, f"M=None: {_SIZE}"),
    ("dims", {}, "double needs a size for M; add M=512"),
    ("dims", {3: 3}, "double has no dim 3; its dims are M"),
    ("dims", {"M": 10**400}, "M=a very large int: double assumes at most 64"),
    ("kernel", 3, "tune: 3 is no kernel: pass what @tdsl.kernel made of a function"),
)


@pytest.mark.parametrize(("name", "value", "message"), WRONG_ARGUMENTS)
def test_a_wrong_argument_of_tune(
    name: str, value: Any, message: str, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"kernel": double, "dims": {"M": 8}, name: value}
    with pytest.raises(ArgumentError) as caught:
        tdsl.tune(given.pop("kernel"), given.pop("dims"), **given)
    assert str(caught.value) == message
