"""Schedules are values: immutable, comparable, replayable, and read back exactly."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tdsl.errors import ArgumentError, ScheduleError
from tdsl.ir.printer import print_function
from tdsl.kernel import Kernel
from tdsl.schedules.schedule import Schedule
from tdsl.schedules.tiles import split
from tdsl.schedules.trace import PRIMITIVES, Step, step

from .cases import packed
from .kernels import kernel


def test_a_method_returns_a_new_schedule() -> None:
    first = Schedule(kernel("scale"))
    second = first.split("i", 4)
    assert first.steps == () and first.function == kernel("scale")
    assert second.steps == (Step("split", (("axis", "i"), ("factor", 4))),)
    assert second.function == split(kernel("scale"), "i", 4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        second.steps = ()  # type: ignore[misc]


def test_equality_and_hash_are_of_original_and_steps() -> None:
    one = Schedule(kernel("scale")).split("i", 4)
    same = Schedule(kernel("scale")).split("i", 4, tail="guard")
    other = Schedule(kernel("scale")).split("i", 5)
    assert one == same and hash(one) == hash(same)
    assert one != other
    assert len({one, same, other}) == 2


def test_every_primitive_has_a_method_of_the_same_signature() -> None:
    for name, primitive in PRIMITIVES.items():
        mine = dict(primitive.__annotations__)
        theirs = dict(getattr(Schedule, name).__annotations__)
        del mine["function"]
        assert {**mine, "return": ""} == {**theirs, "return": ""}, name


def test_every_primitive_draws_before_and_after() -> None:
    for name, primitive in PRIMITIVES.items():
        assert "\n    Before, and after `" in (primitive.__doc__ or ""), name


def test_prints_as_the_python_that_makes_it() -> None:
    schedule = Schedule(kernel("matmul")).split("i", 8, names=("a", "b"))
    schedule = schedule.cache_read("B", None, layout=("k", "j")).reorder("k", "j")
    assert str(schedule) == (
        'schedule.split("i", 8, names=("a", "b"))'
        '.cache_read("B", None, layout=("k", "j")).reorder("k", "j")'
    )


def test_what_a_session_shows() -> None:
    schedule = Schedule(kernel("scale")).split("i", 8)
    assert repr(schedule) == 'schedule.split("i", 8)'
    assert f"{schedule.text()}\n" == print_function(schedule.function)


ALL = (
    '"split", "tile", "reorder", "fuse", "fission", "skew", "shift", "merge", '
    '"enclose", "cut", "tighten", "expand", "rearrange", "unroll", "vectorize", '
    '"parallelize", "cache_read", "cache_write", "compute_at", "inline", "rfactor"'
)


@pytest.mark.parametrize(
    ("misspell", "message"),
    [
        (
            lambda s: s.split("i", factr=4),
            'split has no argument "factr"; its arguments are "axis", "factor", '
            '"names", "tail", "origin"; did you mean "factor"?',
        ),
        (
            lambda s: s.split("i"),
            "split: missing a required argument: 'factor'; its arguments are "
            '"axis", "factor", "names", "tail", "origin"',
        ),
        (
            lambda s: s.paralelize("i"),
            f'no primitive "paralelize"; the primitives are {ALL}; did you mean '
            '"parallelize"?',
        ),
        (
            lambda s: s.unroll("I"),
            'unroll: no axis "I" in scale; the axes are "i"; did you mean "i"?\n'
            '  in step 1: unroll("I")',
        ),
    ],
)
def test_misspelt(misspell: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        misspell(Schedule(kernel("scale")))
    assert str(caught.value) == message


def test_an_unknown_attribute_is_also_an_attribute_error() -> None:
    schedule = Schedule(kernel("scale")).split("i", 8)
    assert not hasattr(schedule, "paralelize")
    assert copy.deepcopy(schedule) == pickle.loads(pickle.dumps(schedule)) == schedule


def test_every_method_names_the_function_that_shows_it() -> None:
    for name, primitive in PRIMITIVES.items():
        where = f"`{primitive.__module__}.{name}`"
        assert where in (getattr(Schedule, name).__doc__ or ""), name


def test_json_is_versionless_plain_data() -> None:
    schedule = Schedule(kernel("matmul")).tile(("i", "j"), (2, 3)).unroll("i_i")
    loops = print_function(kernel("matmul"))
    stamp = hashlib.sha256(loops.encode()).hexdigest()[:16]
    assert schedule.to_json() == (
        f'{{"function": "matmul", "program": "{stamp}", '
        '"steps": [{"primitive": "tile", "arguments": {"axes": ["i", "j"], '
        '"factors": [2, 3]}}, {"primitive": "unroll", '
        '"arguments": {"axis": "i_i"}}]}'
    )


def test_json_of_another_program_is_refused() -> None:
    text = Schedule(kernel("scale")).split("i", 8).to_json()
    instead = (
        "pass that kernel, or from_json(..., same_program=False) to apply the steps "
        "all the same"
    )
    other = replace(kernel("scale_fixed"), name="scale")
    for given, message in (
        (
            kernel("scale_fixed"),
            "this schedule is for the kernel scale, and scale_fixed is given",
        ),
        (
            other,
            "this schedule is for another version of the kernel scale, whose program "
            "or dims differ",
        ),
    ):
        with pytest.raises(ScheduleError) as caught:
            Schedule.from_json(given, text)
        assert str(caught.value) == f"{message}: {instead}"
        applied = Schedule.from_json(given, text, same_program=False)
        assert applied == Schedule(given).split("i", 8)


def test_json_without_its_program_is_read() -> None:
    steps = '{"steps": [{"primitive": "unroll", "arguments": {"axis": "i"}}]}'
    fixed = kernel("scale_fixed")
    assert Schedule.from_json(fixed, steps) == Schedule(fixed).unroll("i")


def test_a_kernel_will_do_for_its_function() -> None:
    function = kernel("scale")
    whole = Kernel(function)
    schedule = Schedule(function).split("i", 8)
    assert Schedule(whole).split("i", 8) == schedule
    assert schedule.replay(whole) == schedule
    assert Schedule.from_json(whole, schedule.to_json()) == schedule


def test_no_program_is_refused() -> None:
    schedule = Schedule(kernel("scale")).split("i", 8)
    instead = "pass what @tdsl.kernel made of a function"
    for use, message in (
        (lambda: Schedule(3), f"Schedule: 3 is no kernel: {instead}"),  # type: ignore[arg-type]
        (lambda: schedule.replay(()), f"replay: () is no kernel: {instead}"),  # type: ignore[arg-type]
        (
            lambda: Schedule.from_json(len, schedule.to_json()),  # type: ignore[arg-type]
            "from_json: len is no kernel: decorate the function with @tdsl.kernel",
        ),
        (
            lambda: Schedule(schedule),  # type: ignore[arg-type]
            "Schedule: a Schedule is no kernel: pass the kernel, or "
            "schedule.function to go on from the loops of a schedule",
        ),
    ):
        with pytest.raises(ArgumentError) as caught:
            use()
        assert str(caught.value) == message


def test_replays_on_another_function() -> None:
    schedule = Schedule(kernel("scale")).split("i", 8)
    again = schedule.replay(kernel("scale_fixed"))
    assert again.original == kernel("scale_fixed")
    assert "range(i_o, i_o + 8)" in print_function(again.function)


def test_a_replay_that_fails_names_the_step() -> None:
    schedule = Schedule(kernel("matmul")).split("i", 8).reorder("k", "i_i")
    with pytest.raises(ScheduleError) as caught:
        schedule.replay(kernel("scale"))
    assert str(caught.value) == (
        'reorder: no axis "k" in scale; the axes are "i_o", "i_i"\n'
        '  in step 2 of 2: reorder("k", "i_i")'
    )


BAD_JSON = (
    (
        "[",
        "this is not the JSON of a schedule: Expecting value: line 1 column 2 (char 1)"
        "; pass what to_json returned",
    ),
    ("[]", 'this is not the JSON of a schedule: it needs an object with "steps"'),
    (
        '{"steps": [3]}',
        'step 1 is 3; a step is an object with "primitive" and "arguments"',
    ),
    (
        '{"steps": [{"primitive": "melt", "arguments": {}}]}',
        'no primitive "melt"; the primitives are "split", "tile", "reorder", "fuse", '
        '"fission", "skew", "shift", "merge", "enclose", "cut", "tighten", '
        '"expand", "rearrange", "unroll", "vectorize", "parallelize", '
        '"cache_read", "cache_write", '
        '"compute_at", "inline", "rfactor"',
    ),
    (
        '{"steps": [{"primitive": "fuse", "arguments": {"outer": "i", "in": "j"}}]}',
        'fuse has no argument "in"; its arguments are "outer", "inner"',
    ),
    (
        '{"steps": [{"primitive": "fuse", "arguments": {"outer": "i"}}]}',
        'fuse needs the argument "inner"; its arguments are "outer", "inner"',
    ),
    (
        '{"steps": [{"primitive": "unroll", "arguments": {"axis": 1.5}}]}',
        "unroll: axis=1.5; arguments are strings, integers and tuples of those",
    ),
    (
        '{"steps": [{"primitive": "reorder", "arguments": {"axes": "ij"}}]}',
        'reorder: axes="ij"; axes is a tuple of strings',
    ),
)


@pytest.mark.parametrize(("text", "message"), BAD_JSON)
def test_json_that_is_no_schedule(text: str, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        Schedule.from_json(kernel("matmul"), text)
    assert str(caught.value) == message


def test_a_step_leaves_out_defaults() -> None:
    arguments = {"axis": "i", "factor": 4, "tail": "guard", "names": None}
    assert str(step("split", arguments)) == 'split("i", 4)'


def test_the_packed_matmul_reads_back() -> None:
    schedule = packed(Schedule(kernel("matmul")))
    again = Schedule.from_json(kernel("matmul"), schedule.to_json())
    assert print_function(again.function) == print_function(schedule.function)


@pytest.mark.parametrize(
    ("primitive", "arguments", "fault"),
    [
        ("split", {"axis": "i", "factor": "4"}, 'factor="4"; factor is an integer'),
        ("split", {"axis": None, "factor": 4}, "axis=None; axis is a string"),
        (
            "split",
            {"axis": "i", "factor": 4, "names": 3},
            "names=3; names is a tuple of strings or None",
        ),
        (
            "split",
            {"axis": "i", "factor": 4, "names": ["a", ["b"]]},
            'names=("a", ("b",)); names is a tuple of strings or None',
        ),
        (
            "tile",
            {"axes": None, "factors": [4]},
            "axes=None; axes is a tuple of strings",
        ),
        (
            "tile",
            {"axes": ["i"], "factors": 3},
            "factors=3; factors is a tuple of integers",
        ),
        ("fission", {"axis": "i", "after": None}, "after is a string or an integer"),
        ("fission", {"axis": "i", "after": []}, "after is a string or an integer"),
        ("reorder", {"axes": ["i", 3]}, "axes is a tuple of strings"),
        (
            "cache_read",
            {"tensor": "A", "axis": "i", "layout": 3},
            "layout=3; layout is a tuple of strings or None",
        ),
        (
            "cache_write",
            {"tensor": "C", "axis": "i", "name": 3},
            "name=3; name is a string or None",
        ),
    ],
)
def test_arguments_of_another_type(
    primitive: str, arguments: dict[str, Any], fault: str
) -> None:
    function = kernel("matmul")
    text = json.dumps({"steps": [{"primitive": primitive, "arguments": arguments}]})
    with pytest.raises(ScheduleError) as caught:
        Schedule.from_json(function, text)
    assert fault in str(caught.value)
    method = getattr(Schedule(function), primitive)
    variadic = arguments["axes"] if primitive == "reorder" else ()
    named = {} if primitive == "reorder" else arguments
    with pytest.raises(ScheduleError) as caught:
        method(*variadic, **named)
    assert fault in str(caught.value)


def test_whole_numbers_of_numpy_are_integers() -> None:
    copy = Schedule(kernel("scale"))
    given = copy.split("i", np.int64(4))
    assert given == copy.split("i", 4)
    assert given.to_json() == copy.split("i", 4).to_json()
