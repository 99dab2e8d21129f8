"""What was given where something else is wanted, in the words of messages."""

from __future__ import annotations

from ..errors import ArgumentError

_LONGEST = 80


def shown(value: object) -> str:
    """Return *value* as code if that is short and plain, else what it is: `a list`.

    Only values of Python itself are asked for their text, as others may fail at that.
    """
    kind = type(value)
    if kind in (str, bytes, int, float, complex, bool) or value is None:
        if kind is int and int(value).bit_length() > 256:  # type: ignore[call-overload]
            return "a very large int"
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    if kind in (tuple, list) and len(value) <= 8:  # type: ignore[arg-type]
        items = [shown(each) for each in value]  # type: ignore[attr-defined]
        inner = ", ".join(items) + ("," if kind is tuple and len(items) == 1 else "")
        text = f"({inner})" if kind is tuple else f"[{inner}]"
        if len(text) <= _LONGEST:
            return text
    return kind_of(value)


def kind_of(value: object) -> str:
    """Return the type of *value* with its article: `a list`, `an array`."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def check_option(
    use: str,
    option: str,
    value: object,
    kinds: type | tuple[type, ...],
    wanted: str,
    *,
    least: float | None = None,
    most: float | None = None,
) -> None:
    """Refuse a *value* of another kind, below *least* or above *most*.

    A bool is no number here, and NaN is neither above nor below anything.
    """
    is_bool = isinstance(value, bool) and kinds is not bool
    fits = isinstance(value, kinds) and not is_bool
    above = least is None or (fits and value >= least)  # type: ignore[operator]
    below = most is None or (fits and value <= most)  # type: ignore[operator]
    if fits and above and below:
        return
    raise ArgumentError(f"{use}: {option} is {shown(value)}, but it is {wanted}")
