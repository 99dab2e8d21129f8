"""A page for browsers: what a run of the suite measured, as plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..report import machine
from .contenders import OURS
from .measure import Row, means, threads_text

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto;
       padding: 0 1rem; color: #1b1f24; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h3 { font-size: .95rem; margin: 1.1rem 0 .2rem; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; border-bottom: 1px solid #d0d7de; }
td, th { padding: .1rem .5rem; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.bar { width: 45%; background: linear-gradient(#8c959f, #8c959f)
         var(--one) 0 / 1px 100% no-repeat; }
td.bar span { display: block; height: .8rem; border-radius: 2px; background: #b6bec8; }
tr.ours td.bar span { background: #1f6feb; } tr.ours td { font-weight: 600; }
td.slow { color: #b42318; }
"""
_WIDEST = 3.0  # ratios beyond this one are cut off in plots, and marked


def page(rows: Sequence[Row]) -> str:
    """Return *rows* as HTML that needs nothing from elsewhere."""
    families = dict.fromkeys(row.family for row in rows)
    sections = [
        _section(family, [row for row in rows if row.family == family])
        for family in families
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<title>tdsl: kernels and libraries</title>"
        f"<style>{_STYLE}</style></head><body>"
        "<h1>tdsl: kernels and libraries</h1>"
        f"<p>{escape(machine())}. A bar is the time of the fastest library over that "
        "of the contender: longer is faster, and the line marks the fastest library. "
        "<em>Of roof</em> is the share of the machine's own limits.</p>"
        f"{_overview(rows)}{''.join(sections)}</body></html>\n"
    )


def _overview(rows: Sequence[Row]) -> str:
    body = [
        _cells(
            [contender, family],
            [f"{mean:.2f}", f"{worst.ratio:.2f}"],
            [f"{worst.case}, {threads_text(worst.threads)}"],
        )
        for contender in OURS
        for family, (mean, worst) in means(rows, contender).items()
    ]
    head = (
        '<tr><th>contender</th><th>family</th><th class="number">geometric mean</th>'
        '<th class="number">worst</th><th>of</th></tr>'
    )
    return f"<table>{head}{''.join(f'<tr>{line}</tr>' for line in body)}</table>"


def _cells(texts: Iterable[str], numbers: Iterable[str], more: Iterable[str]) -> str:
    cells = [f"<td>{escape(text)}</td>" for text in texts]
    cells += [f'<td class="number">{number}</td>' for number in numbers]
    return "".join([*cells, *(f"<td>{escape(text)}</td>" for text in more)])


def _section(family: str, rows: Sequence[Row]) -> str:
    races = dict.fromkeys((row.case, row.threads) for row in rows)
    tables = [
        f"<h3>{escape(case)}, {threads_text(threads)}</h3>"
        + _race([r for r in rows if (r.case, r.threads) == (case, threads)])
        for case, threads in races
    ]
    return f"<h2>{escape(family)}</h2>{''.join(tables)}"


def _race(rows: Sequence[Row]) -> str:
    head = (
        '<tr><th>contender</th><th></th><th class="number">ratio</th>'
        '<th class="number">ms</th><th class="number">quartiles</th>'
        '<th class="number">of roof</th><th class="number">error</th></tr>'
    )
    return f"<table>{head}{''.join(map(_line, rows))}</table>"


def _line(row: Row) -> str:
    ratio = row.ratio or 0.0
    width = min(ratio, _WIDEST) / _WIDEST
    numbers = [
        f"{row.seconds * 1e3:.3f}",
        f"{row.seconds_low * 1e3:.3f} to {row.seconds_high * 1e3:.3f}",
        "" if row.roof is None else f"{row.roof:.0%}",
        f"{row.error:.0e}",
    ]
    ours = row.contender in OURS
    slow = " slow" if ours and ratio < 1 else ""
    return (
        f'<tr class="{"ours" if ours else "theirs"}"><td>{escape(row.contender)}</td>'
        f'<td class="bar" style="--one: {1 / _WIDEST:.1%}">'
        f'<span style="width: {width:.1%}"></span></td>'
        f'<td class="number{slow}">{ratio:.2f}{"+" if ratio > _WIDEST else ""}</td>'
        + "".join(f'<td class="number">{number}</td>' for number in numbers)
        + "</tr>"
    )
