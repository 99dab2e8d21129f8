"""The page of the documentation that shows a run: `docs/performance.md`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version

from ..report import machine
from .contenders import OURS, PEERS
from .measure import Row, means, threads_text

_PACKAGES = dict.fromkeys(("numba", *(peer.package for peer in PEERS.values())))

_HEAD = """# Performance

Measured with the command below, which writes this page. Every contender had a process
of its own and all took turns; times are medians over rounds. A ratio is the time of the
fastest library over that of tdsl: above 1, tdsl is faster. *Of roof* is the time that
the operations or the memory traffic of the case would take at the speeds measured for
multiply-adds and for arrays of that size, over the time taken.

```
{command}
```

{machine}; {versions}; {day}.
"""


def document(rows: Sequence[Row], command: str) -> str:
    """Return *rows*, measured by *command*, as Markdown."""
    head = _HEAD.format(
        command=command,
        machine=machine(),
        versions=", ".join(filter(None, map(_versioned, _PACKAGES))),
        day=date.today().isoformat(),
    )
    families = dict.fromkeys(row.family for row in rows)
    tables = [
        f"## {family.capitalize()}\n\n"
        + _table([row for row in rows if row.family == family])
        for family in families
    ]
    return "\n".join([head, _overview(rows), *tables])


def _versioned(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""


def _overview(rows: Sequence[Row]) -> str:
    lines = [
        "| contender | family | geometric mean | worst | of |",
        "|---|---|--:|--:|---|",
        *(
            f"| {contender} | {family} | {mean:.2f} | {worst.ratio:.2f} "
            f"| {worst.case}, {threads_text(worst.threads)} |"
            for contender in OURS
            for family, (mean, worst) in means(rows, contender).items()
        ),
    ]
    return "\n".join([*lines, ""])


def _table(rows: Sequence[Row]) -> str:
    lines = [
        "| case | threads | tdsl ms | default ms | fastest library | its ms | ratio "
        "| default ratio | of roof | error |",
        "|---|--:|--:|--:|---|--:|--:|--:|--:|--:|",
    ]
    for case, threads in dict.fromkeys((row.case, row.threads) for row in rows):
        found = {r.contender: r for r in rows if (r.case, r.threads) == (case, threads)}
        lines.append(_line(found))
    return "\n".join([*lines, ""])


def _line(found: dict[str, Row]) -> str:
    """Return the line of one race."""
    first = next(iter(found.values()))
    peers = [row for name, row in found.items() if name not in OURS]
    best = min(peers, key=lambda row: row.seconds, default=None)
    tuned, default = (found.get(name) for name in OURS)
    shown = tuned or default
    cells = [
        first.case,
        str(first.threads),
        _milliseconds(tuned),
        _milliseconds(default),
        best.contender if best else "-",
        _milliseconds(best),
        _ratio(tuned),
        _ratio(default),
        f"{shown.roof:.0%}" if shown and shown.roof is not None else "-",
        f"{shown.error:.0e}" if shown else "-",
    ]
    return f"| {' | '.join(cells)} |"


def _milliseconds(row: Row | None) -> str:
    return "-" if row is None else f"{row.seconds * 1e3:.3f}"


def _ratio(row: Row | None) -> str:
    return "-" if row is None or row.ratio is None else f"{row.ratio:.2f}"
