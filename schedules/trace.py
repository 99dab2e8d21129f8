"""Steps: the record of one primitive with its arguments, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from numbers import Integral
from types import GenericAlias, MappingProxyType, NoneType, UnionType
from typing import Any, get_args, get_origin

from ..errors import ScheduleError
from ..ir.given import shown
from ..ir.nodes import Function
from .checks import did_you_mean, quoted, written
from .enclosing import enclose
from .expansion import expand
from .index_sets import cut, tighten
from .loops import fission, fuse, reorder
from .memory import cache_read, cache_write
from .merging import merge
from .parallel import parallelize, unroll, vectorize
from .rearrangement import rearrange
from .reduction import rfactor
from .shifts import shift, skew
from .stages import compute_at, inline
from .tiles import split, tile

Value = str | int | None | tuple["Value", ...]
"""What JSON can hold and a hash can cover."""

PRIMITIVES: Mapping[str, Callable[..., Function]] = MappingProxyType(
    {
        primitive.__name__: primitive
        for primitive in (
            split,
            tile,
            reorder,
            fuse,
            fission,
            skew,
            shift,
            merge,
            enclose,
            cut,
            tighten,
            expand,
            rearrange,
            unroll,
            vectorize,
            parallelize,
            cache_read,
            cache_write,
            compute_at,
            inline,
            rfactor,
        )
    }
)

_SIGNATURES: Mapping[str, Signature] = MappingProxyType(
    {
        name: Signature(
            list(signature(primitive, eval_str=True).parameters.values())[1:]
        )
        for name, primitive in PRIMITIVES.items()
    }
)


@dataclass(frozen=True, slots=True)
class Step:
    """One primitive and its arguments by name; defaults are left out."""

    primitive: str
    arguments: tuple[tuple[str, Value], ...]

    def apply(self, function: Function) -> Function:
        """Return *function* rewritten by this step."""
        positional, named = self._call()
        return PRIMITIVES[self.primitive](function, *positional, **named)

    def __str__(self) -> str:
        positional, named = self._call()
        parts = [written(value) for value in positional]
        parts += [f"{name}={written(value)}" for name, value in named.items()]
        return f"{self.primitive}({', '.join(parts)})"

    def _call(self) -> tuple[list[Value], dict[str, Value]]:
        given = dict(self.arguments)
        positional: list[Value] = []
        named: dict[str, Value] = {}
        for name, parameter in _SIGNATURES[self.primitive].parameters.items():
            if name not in given:
                continue
            value = given[name]
            if parameter.kind is Parameter.VAR_POSITIONAL:
                assert isinstance(value, tuple)
                positional.extend(value)
            elif parameter.kind is Parameter.KEYWORD_ONLY:
                named[name] = value
            else:
                positional.append(value)
        return positional, named


def step(primitive: str, arguments: Mapping[str, object]) -> Step:
    """Return the step of that primitive, or refuse unknown names and values."""
    if primitive not in PRIMITIVES:
        raise ScheduleError(unknown_primitive(primitive))
    check_argument_names(primitive, arguments)
    parameters = _SIGNATURES[primitive].parameters
    kept: list[tuple[str, Value]] = []
    for name, parameter in parameters.items():
        if name not in arguments:
            if parameter.kind is Parameter.VAR_POSITIONAL:
                kept.append((name, ()))
            elif parameter.default is Parameter.empty:
                raise ScheduleError(
                    f'{primitive} needs the argument "{name}"; its arguments are '
                    f"{quoted(parameters)}"
                )
            continue
        value = _value(primitive, name, arguments[name])
        wanted = _wanted(parameter)
        if not _fits(value, wanted):
            raise ScheduleError(
                f"{primitive}: {name}={written(value)}; {name} is {_described(wanted)}"
            )
        if parameter.default is Parameter.empty or value != parameter.default:
            kept.append((name, value))
    return Step(primitive, tuple(kept))


def parameters_of(primitive: str) -> Mapping[str, Parameter]:
    """Return the parameters of *primitive* by name, without the function itself."""
    return _SIGNATURES[primitive].parameters


def unknown_primitive(name: str) -> str:
    """Return the message for a primitive that does not exist."""
    return (
        f'no primitive "{name}"; the primitives are {quoted(PRIMITIVES)}'
        f"{did_you_mean(name, PRIMITIVES)}"
    )


def check_argument_names(primitive: str, names: Iterable[str]) -> None:
    """Refuse arguments that *primitive* does not have."""
    parameters = _SIGNATURES[primitive].parameters
    for name in names:
        if name not in parameters:
            raise ScheduleError(
                f'{primitive} has no argument "{name}"; its arguments are '
                f"{quoted(parameters)}{did_you_mean(name, parameters)}"
            )


def check_call(
    primitive: str, positional: Sequence[object], named: Mapping[str, object]
) -> None:
    """Refuse arguments that do not fit the signature of *primitive*."""
    check_argument_names(primitive, named)
    try:
        _SIGNATURES[primitive].bind(*positional, **named)
    except TypeError as error:
        names = quoted(_SIGNATURES[primitive].parameters)
        raise ScheduleError(
            f"{primitive}: {error}; its arguments are {names}"
        ) from None


def _value(primitive: str, name: str, value: object) -> Value:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_value(primitive, name, item) for item in value)
    raise ScheduleError(
        f"{primitive}: {name}={shown(value)}; "
        "arguments are strings, integers and tuples of those"
    )


def _wanted(parameter: Parameter) -> Any:
    """Return the type of what a step keeps for *parameter*."""
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return GenericAlias(tuple, (parameter.annotation,))
    return parameter.annotation


def _fits(value: Value, wanted: Any) -> bool:
    """Whether *value* has the annotated type; lengths are for the primitive to check.

    A sequence of any kind is a tuple here.
    """
    if isinstance(wanted, UnionType):
        return any(_fits(value, each) for each in get_args(wanted))
    if get_origin(wanted) is None:
        return isinstance(value, wanted)
    item = get_args(wanted)[0]
    return isinstance(value, tuple) and all(_fits(each, item) for each in value)


_WORDS: Mapping[Any, str] = MappingProxyType(
    {str: "a string", int: "an integer", NoneType: "None"}
)


def _described(wanted: Any) -> str:
    """Return what `_fits` accepts, in words: `a tuple of strings or None`."""
    if isinstance(wanted, UnionType):
        return " or ".join(_described(each) for each in get_args(wanted))
    if get_origin(wanted) is None:
        return _WORDS[wanted]
    return f"a tuple of {_WORDS[get_args(wanted)[0]].split()[1]}s"
