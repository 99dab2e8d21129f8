"""Public functions that are given the wrong kind of thing say what to pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tdsl
from tdsl import f32
from tdsl.errors import ArgumentError, ScheduleError

M = tdsl.dim("M")


@tdsl.kernel
def double(A: f32[M]) -> f32[M]:
    B = tdsl.empty((M,), f32)
    for i in range(M):
        B[i] = 2 * A[i]
    return B


@tdsl.kernel
def triple(A: f32[M]) -> f32[M]:
    B = tdsl.empty((M,), f32)
    for i in range(M):
        B[i] = 3 * A[i]
    return B


def plain(A: Any) -> Any:
    return A


_ALREADY = (
    "double is a kernel already: call it, or derive another with "
    "double.with_schedule(...) or double.with_numerics(...)"
)
_UNDECORATED = "plain is no kernel: decorate the function with @tdsl.kernel"
_OTHER = (
    "double: the schedule is for triple, not for this kernel: start from "
    "double.schedule()"
)
anything: Any = tdsl

CASES: tuple[tuple[Callable[[], object], str], ...] = (
    (lambda: anything.Kernel(double), f"Kernel(double): {_ALREADY}"),
    (lambda: anything.Kernel(plain), f"Kernel: {_UNDECORATED}"),
    (lambda: anything.kernel(double), f"tdsl.kernel(double): {_ALREADY}"),
    (
        lambda: anything.kernel("bitwise"),
        'tdsl.kernel("bitwise"): write tdsl.kernel(numerics="bitwise")',
    ),
    (
        lambda: anything.kernel(double.function),
        "tdsl.kernel(double): double is parsed already: write tdsl.Kernel(...)",
    ),
    (
        lambda: anything.tune(double.function, {"M": 8}),
        "tune: double is the function of a kernel: pass the kernel itself",
    ),
    (lambda: anything.tune(plain, {"M": 8}), f"tune: {_UNDECORATED}"),
    (
        lambda: tdsl.tune(double.with_schedule(double.schedule()), {"M": 8}),
        "tune: this double has an explicit schedule, which its calls run whatever is "
        "tuned; tune the kernel that with_schedule was called on",
    ),
    (
        lambda: anything.tune(double, 8),
        'double: dims are 8; name a size for each: {"M": 512}',
    ),
    (lambda: anything.dims(3), "dims(3): write names in one text: dims('M N')"),
    (
        lambda: tdsl.out(f32[()]),
        "tdsl.out(f32[()]) names no tensor type: write tdsl.out(f32[M]), and f32[1] "
        "for a single number",
    ),
)


@pytest.mark.parametrize(("use", "message"), CASES, ids=lambda each: str(each)[:40])
def test_the_wrong_kind_is_refused(use: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        use()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "use",
    [
        double.with_schedule,
        double.prove,
        double.compile,
        lambda schedule: tdsl.Kernel(double.function, schedule=schedule),
    ],
)
def test_the_schedule_of_another_kernel_is_refused(use: Callable[..., object]) -> None:
    with pytest.raises(ScheduleError) as caught:
        use(triple.schedule())
    assert str(caught.value) == _OTHER


def test_types_print_as_they_are_written() -> None:
    assert str(f32[M, 2 * M + 1]) == "f32[M, 2*M + 1]"
    assert str(f32[3]) == "f32[3]"
    assert str(f32[()]) == "f32[()]"


def test_a_renamed_kernel_keeps_what_it_runs() -> None:
    fast = double.with_schedule(double.schedule().split("i", 4)).with_numerics(
        "bitwise"
    )
    renamed = fast.renamed("quick")
    assert renamed.name == renamed.function.name == "quick"
    assert renamed.numerics == "bitwise"
    assert renamed.explicit_schedule is not None
    assert fast.explicit_schedule is not None
    assert renamed.explicit_schedule.steps == fast.explicit_schedule.steps
    assert double.renamed("other").explicit_schedule is None
    renamed.prove()
