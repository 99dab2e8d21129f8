"""Wrong values for every argument of every public function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tdsl
from tdsl import f32, i32, testing
from tdsl.testing.wanted import check_run

M, N = tdsl.dims("M N", max=64)
anything: Any = tdsl


@tdsl.kernel
def scaled(A: f32[M, N], a: f32, n: i32, C: tdsl.inout(f32[M, N])) -> f32[M]:
    S = tdsl.zeros((M,), f32)
    for i, j in tdsl.grid(M, N):
        S[i] += a * A[i, j] + f32(n)
        C[i, j] += A[i, j]
    return S


@tdsl.kernel
def other(A: f32[M]) -> f32[M]:
    B = tdsl.empty((M,), f32)
    for i in range(M):
        t = A[i] * 2
        B[i] = t
    return B


class Silent:
    """A value that fails at whatever one does with it."""

    def __len__(self) -> int:
        raise ZeroDivisionError

    def __index__(self) -> int:
        raise OverflowError

    def __eq__(self, _: object) -> bool:
        raise ValueError

    __hash__ = None  # type: ignore[assignment]


WRONG: dict[str, Any] = {
    "None": None,
    "True": True,
    "0": 0,
    "-3": -3,
    "2**100": 2**100,
    "2.5": 2.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "1j": 1j,
    "empty text": "",
    "text": "i",
    "odd text": "\udcff\0 x",
    "bytes": b"i",
    "list": [1, "i", None],
    "empty list": [],
    "tuple": ("i", "j"),
    "nested": ((("i",),),),
    "dict": {"i": 1},
    "other dict": {3: None},
    "set": {1},
    "lambda": lambda *_: None,
    "type": int,
    "object": object(),
    "silent": Silent(),
    "module": np,
    "dtype": f32,
    "tensor type": f32[M],
    "dim": M,
    "expression": M + N // 2,
    "numpy float": np.float32(2),
    "numpy integer": np.int64(3),
    "array": np.zeros((3, 4), np.float32),
    "empty array": np.zeros((0,), np.float32),
    "array of objects": np.array([None, {}], dtype=object),
    "array of texts": np.array(["a"]),
    "structured": np.zeros(2, dtype=[("a", "i4")]),
    "times": np.zeros(2, dtype="M8[s]"),
    "kernel": other,
    "function": other.function,
    "schedule": other.schedule(),
    "exception": ValueError("i"),
    "generator": (each for each in ()),
}


@dataclass(frozen=True, slots=True)
class Use:
    """A public function and arguments that it takes."""

    name: str
    function: Callable[..., Any]
    positional: tuple[Any, ...] = ()
    named: tuple[tuple[str, Any], ...] = ()

    def variants(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield calls with one argument replaced by a wrong value."""
        for label, wrong in WRONG.items():
            for place in range(len(self.positional)):
                changed = list(self.positional)
                changed[place] = wrong
                yield f"{place}: {label}", self._call(changed, dict(self.named))
            for name, _ in self.named:
                changed_names = {**dict(self.named), name: wrong}
                yield f"{name}: {label}", self._call(self.positional, changed_names)

    def _call(self, positional: Any, named: dict[str, Any]) -> Callable[[], Any]:
        return lambda: self.function(*positional, **named)


def _arguments() -> tuple[Any, ...]:
    return np.zeros((3, 4), np.float32), 2.0, 1, np.zeros((3, 4), np.float32)


S, PLAIN = scaled.schedule(), other.schedule()
CASE = testing.draw_case(other.function, 0)
TEXT = PLAIN.split("i", 4).to_json()

USES: tuple[Use, ...] = (
    Use("dim", tdsl.dim, ("M",), (("min", 0), ("max", 8), ("multiple", 4))),
    Use("dims", tdsl.dims, ("M N",), (("min", 0), ("max", 8))),
    Use("out", tdsl.out, (f32[M],)),
    Use("inout", tdsl.inout, (f32[M],)),
    Use("kernel", tdsl.kernel, (len,), ()),
    Use("kernel(...)", lambda n: anything.kernel(numerics=n)(len), ("bitwise",)),
    Use("inline", tdsl.inline, (len,)),
    Use(
        "Kernel",
        tdsl.Kernel,
        (other.function,),
        (("numerics", "bitwise"), ("schedule", PLAIN), ("backend", None)),
    ),
    Use("scaled", scaled, _arguments()),
    Use("scaled(...)", scaled, (), (*zip("AanC", _arguments(), strict=True), ("M", 3))),
    Use("out=", scaled, _arguments(), (("out", np.zeros(3, np.float32)),)),
    Use("other", other, (np.zeros(4, np.float32),)),
    Use("exp", tdsl.exp, (2.0,), (("out", 1),)),
    Use("bind", other.bind, ((np.zeros(4, np.float32),), {})),
    Use("with_schedule", other.with_schedule, (PLAIN,)),
    Use("with_numerics", other.with_numerics, ("bitwise",)),
    Use("renamed", other.renamed, ("another",)),
    Use("prove", other.prove, (PLAIN,)),
    Use("compile", other.compile, (PLAIN,)),
    Use("Schedule", tdsl.Schedule, (other, ())),
    Use("apply", PLAIN.apply, (PLAIN.split("i", 2).steps[0],)),
    Use("replay", PLAIN.replay, (other,)),
    Use("from_json", tdsl.Schedule.from_json, (other, TEXT)),
    Use("split", S.split, ("i", 4), (("names", ("a", "b")), ("tail", "cut"))),
    Use(
        "tile",
        S.tile,
        (("i", "j"), (2, 4)),
        (("names", ("a", "b", "c", "d")), ("tail", "guard")),
    ),
    Use("reorder", S.reorder, ("j", "i")),
    Use("fuse", S.fuse, ("i", "j")),
    Use("fission", S.fission, ("j",), (("after", "S1"),)),
    Use("skew", S.skew, ("i", "j", 1)),
    Use("shift", S.shift, ("i", 2)),
    Use("shift by a form", S.shift, ("i", "2*M")),
    Use("merge", S.merge, ("S_i", "i")),
    Use("enclose", S.enclose, ("i", "t"), (("at", 0),)),
    Use("cut", S.cut, ("i", 2)),
    Use("tighten", S.tighten, ("i",)),
    Use("expand", PLAIN.expand, ("t", "i"), (("memory", "array"),)),
    Use("rearrange", S.rearrange, ("j", 1, 0)),
    Use("unroll", S.split("j", 4).unroll, ("j_i",)),
    Use("vectorize", S.split("j", 4).vectorize, ("j_i",)),
    Use("parallelize", S.parallelize, ("i",)),
    Use(
        "cache_read",
        S.cache_read,
        ("A", "i"),
        (("layout", ("j",)), ("name", "B"), ("memory", "array")),
    ),
    Use(
        "cache_write",
        S.cache_write,
        ("S", "i"),
        (("layout", ()), ("name", "B"), ("memory", "register")),
    ),
    Use("compute_at", S.compute_at, ("S0", "i")),
    Use("schedule.inline", PLAIN.inline, ("t",)),
    Use("rfactor", S.rfactor, ("j",), (("name", "P"), ("memory", "array"))),
    Use("check", testing.check, (3,), (("examples", 1), ("seed", 0))),
    Use(
        "check_schedule",
        testing.check_schedule,
        (3, PLAIN),
        (("examples", 1), ("seed", 0)),
    ),
    Use("check_run", check_run, ("f", other), (("seed", 0), ("prepare", None))),
    Use("checked", testing.checked, (other,)),
    Use(
        "run_case",
        testing.run_case,
        (other, CASE),
        (("schedule", PLAIN), ("engine", "interpreted")),
    ),
    Use(
        "assert_within_bound",
        testing.assert_within_bound,
        (np.zeros(3, np.float32), other, {"A": np.zeros(3, np.float32)}),
    ),
    Use("draw_case", testing.draw_case, (other.function, 0)),
    Use("strategies.dims", testing.dims, (other,), (("largest", 9),)),
    Use("strategies.cases", testing.cases, (other,)),
    Use("strategies.arrays", testing.arrays, (other, {"M": 3})),
    Use("strategies.inputs", testing.inputs, (other,)),
    Use("strategies.schedules", testing.schedules, (other,), (("moves", 1),)),
)
