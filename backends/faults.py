"""Subscripts out of range: where a program checks them, and what a call then says."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from ..errors import SubscriptError
from ..ir.nodes import Cast, Expr, Gather, Scatter, Span
from ..ir.printer import print_expr

WORDS = 3
"""A fault is the number of a site, the subscript, and the size of the dimension."""


@dataclass(frozen=True, slots=True)
class Site:
    """One subscript that is checked while a kernel runs: of which tensor, and where."""

    kernel: str
    tensor: str
    position: int
    subscript: Expr
    span: Span | None


def site_of(kernel: str, access: Gather | Scatter, position: int) -> Site:
    """Return the site of the subscript of *access* at *position*."""
    part = access.index[position]
    return Site(kernel, access.tensor, position, part, part.span or access.span)


def out_of_range(site: Site, value: int, size: int) -> SubscriptError:
    """Return the error that *value* at *site* causes, where *size* elements exist.

    *value* has 64 bits: whether the first of them is a sign, the subscript's type says.
    """
    text = _source_text(site.span) or print_expr(_uncast(site.subscript))
    if not _as_written(site.subscript).dtype.signed:
        value %= 2**64
    allowed = f"from 0 to {size - 1}" if size > 0 else "none, as it is empty"
    where = ""
    if site.span is not None:
        where = f" in {PurePath(site.span.file).name}:{site.span.line}"
    message = (
        f"{site.kernel}: the subscript `{text}` of `{site.tensor}`{where} is {value}, "
        f"but the size there is {size}: allowed are {allowed}"
    )
    if value < 0:
        message += "; negative subscripts do not count from the end"
    return SubscriptError(f"{message}. What the call has written is undefined")


def checked_entry(
    entry: Callable[..., None], sites: Sequence[Site]
) -> Callable[..., None]:
    """Return *entry* with a fault word for each call, which is looked at afterwards."""

    def run(*values: Any) -> None:
        fault = np.zeros(WORDS, np.int64)
        entry(*values, fault)
        number, value, size = fault.tolist()
        if number:
            raise out_of_range(sites[number - 1], value, size)

    return run


def _uncast(expr: Expr) -> Expr:
    return expr.operand if isinstance(expr, Cast) else expr


def _as_written(subscript: Expr) -> Expr:
    """Return *subscript* without the cast to i64 that is not in the user's text."""
    if isinstance(subscript, Cast) and subscript.operand.span == subscript.span:
        return subscript.operand
    return subscript


def _source_text(span: Span | None) -> str:
    """Return the user's text at *span*, where it is one line that can be read."""
    if span is None or span.line != span.end_line:
        return ""
    line = linecache.getline(span.file, span.line)
    return line[span.column : span.end_column].strip()
