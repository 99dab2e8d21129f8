"""Whether the text found for a function is the text that was imported.

A function keeps the file and the line it was read from, not its text. If the file is
edited meanwhile, other text stands there. What Python made of the function is its
bytecode: the text is right where it compiles to the same.
"""

from __future__ import annotations
import __future__

import inspect
import linecache
import os
import time
from collections.abc import Callable, Iterator
from functools import lru_cache, reduce
from importlib.machinery import SourceFileLoader
from operator import or_
from types import CodeType, FunctionType
from typing import Any

_STARTED = time.time()
_CLOCK_TICK = 2.0
"""How much coarser than ours the clock of a file system may be, in seconds."""
_FUTURES = reduce(
    or_,
    (getattr(__future__, each).compiler_flag for each in __future__.all_feature_names),
)


def edited_since_import(function: Callable[..., Any]) -> bool:
    """Whether the file of *function* now says something else in its lines.

    Text that is in no file cannot be edited. Whoever loads modules in a way of their
    own (pytest rewrites assertions) makes other bytecode of the same text: there a
    file that nobody touched since this process began is trusted.
    """
    plain: FunctionType = inspect.unwrap(function)
    code = plain.__code__
    file = code.co_filename
    if not os.path.isfile(file):
        return False
    text = "".join(linecache.getlines(file))
    if _meaning(code) in _meanings(text, code.co_flags & _FUTURES, _place(code)):
        return False
    touched = _touched(file) > _STARTED - _CLOCK_TICK
    return touched or not _is_specially_loaded(plain, file)


def _meanings(text: str, flags: int, place: tuple[str, int]) -> list[Any]:
    return [_meaning(each) for each in _codes(text, flags) if _place(each) == place]


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


@lru_cache(maxsize=8)
def _codes(text: str, flags: int) -> tuple[CodeType, ...]:
    """Return the code of all functions in a module's *text*; none if it has errors."""
    try:
        module = compile(text, "<text>", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return ()
    return tuple(_inside(module))


def _inside(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _inside(each)


def _meaning(constant: object) -> Any:
    """Return what makes two pieces of code, or constants in them, the same.

    Unlike `==` it tells 1, 1.0 and True apart, and finds that nan is nan.
    """
    if isinstance(constant, CodeType):
        names = (constant.co_names, constant.co_varnames, constant.co_freevars)
        constants = tuple(map(_meaning, constant.co_consts))
        return constant.co_code, names, constants
    if isinstance(constant, tuple):
        return tuple(map(_meaning, constant))
    if isinstance(constant, frozenset):
        return frozenset(map(_meaning, constant))
    return type(constant), repr(constant)


def _is_specially_loaded(function: FunctionType, file: str) -> bool:
    spec = function.__globals__.get("__spec__")
    return (
        spec is not None
        and spec.origin == file
        and type(spec.loader) is not SourceFileLoader
    )


def _touched(file: str) -> float:
    state = os.stat(file)
    return max(state.st_mtime, state.st_ctime)
