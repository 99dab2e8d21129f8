"""What to write instead of an array that a kernel cannot take, by the array's role.

An input is copied. A copy of what the kernel writes takes the result, so the advice
says where to find it.
"""

from __future__ import annotations

import numpy as np

from .ir.nodes import Function, Param, Role


def is_input(param: Param) -> bool:
    """Whether the kernel only reads the parameter."""
    return param.role is Role.INPUT


def converted(param: Param, value: object) -> str:
    """Return the expression for an array of the parameter's dtype."""
    name, dtype = param.tensor.name, param.tensor.dtype.numpy_text
    if isinstance(value, np.ndarray):
        return f"{name}.astype({dtype})"
    return f"np.array({name}, {dtype})"


def copied(param: Param, value: object) -> str:
    """Return the expression for a copy."""
    name = param.tensor.name
    return f"{name}.copy()" if isinstance(value, np.ndarray) else f"np.array({name})"


def pass_and_copy_back(
    function: Function, param: Param, value: object, copy: str
) -> str:
    """Return the advice where the array itself can take the result afterwards."""
    name = param.tensor.name
    if is_input(param):
        return f"pass {copy}"
    target = name if isinstance(value, np.ndarray) else f"np.asarray({name})"
    new, back = f"{name}_new", f"{target}[...] = {name}_new"
    if param.returned:
        call = _call(function, {name: new})
        return _lines("leave out= away and copy what the call returns", call, back)
    call = _call(function, {name: new})
    what = "pass a copy and copy the result back"
    return _lines(what, f"{new} = {copy}", call, back)


def replace(function: Function, param: Param, copy: str) -> str:
    """Return the advice where the array cannot take the result at all."""
    name = param.tensor.name
    if param.returned:
        what = "leave out= away and use what the call returns"
        return _lines(what, _call(function, {}))
    what = f"make a copy and use that as {name} from then on"
    return _lines(what, f"{name} = {copy}", _call(function, {}))


def other_memory(written: Param, other: Param) -> str:
    """Return the advice where *other* shares memory with the array *written*."""
    name, other_name = written.tensor.name, other.tensor.name
    if not is_input(other):
        return f"pass arrays for {other_name} and {name} that share none"
    instead = (
        "leave out= away" if written.returned else f"pass another array for {name}"
    )
    return f"pass {other_name}.copy(), or {instead}"


def _call(function: Function, renamed: dict[str, str]) -> str:
    """Return the text of a call without `out=`."""

    def names(returned: bool) -> str:
        chosen = [p.tensor.name for p in function.params if p.returned is returned]
        return ", ".join(renamed.get(name, name) for name in chosen)

    results = f"{names(True)} = " if names(True) else ""
    return f"{results}{function.name}({names(False)})"


def _lines(what: str, *lines: str) -> str:
    return "".join([f"{what}:", *(f"\n    {line}" for line in lines)])


def no_array(param: Param, *, may_convert: bool) -> str:
    """Return the advice for what is no array, such as a list."""
    dtype = param.tensor.dtype
    if may_convert:
        return f"pass np.asarray({param.tensor.name}, dtype={dtype.numpy_text})"
    verb = "give out=" if param.returned else "pass"
    return f"{verb} a NumPy array of dtype {dtype.numpy.name}"
