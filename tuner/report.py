"""The closing table of a tuning job, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .results import FailureGroup, TuningResult

_HEAD = ("", "time", "speed", "of peak", "against default")


def report(result: TuningResult) -> str:
    """Return the closing report: table, counts, failures, where things are."""
    return "\n".join([*_title(result), *_table(result), "", *_story(result)]) + "\n"


def duration(seconds: float) -> str:
    """Return *seconds* with a unit that suits their size."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _title(result: TuningResult) -> Iterator[str]:
    dims = " ".join(f"{name}={size}" for name, size in result.dims.items())
    threads = "1 thread" if result.threads == 1 else f"{result.threads} threads"
    parts = [result.kernel, dims, result.dtype, threads, f"numerics {result.numerics}"]
    yield "  ".join(part for part in parts if part)
    yield ""


def _table(result: TuningResult) -> Iterator[str]:
    rows: list[Sequence[str]] = [_HEAD]
    default = result.default_seconds
    if default is not None:
        rows.append(_row(result, "default", default, "1.00x"))
    if result.best_seconds is not None and result.outcome == "improved":
        speedup = "" if result.speedup is None else str(result.speedup)
        rows.append(_row(result, "best", result.best_seconds, speedup))
    elif result.best_seconds is not None:
        rows.append(_row(result, "best", result.best_seconds, "the default"))
    rival = result.contender
    if rival is not None and rival.seconds is not None:
        against = "" if default is None else f"{default / rival.seconds:.2f}x"
        rows.append(_row(result, rival.name, rival.seconds, against))
    if len(rows) == 1:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    for row in rows:
        first = row[0].ljust(widths[0])
        rest = [
            cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)
        ]
        yield "  ".join([f"  {first}", *rest]).rstrip()


def _row(
    result: TuningResult, name: str, seconds: float, against: str
) -> Sequence[str]:
    speed = result.speed(seconds)
    share = "" if speed.share is None else f"{speed.share:.0%}"
    return name, duration(seconds), f"{speed.value:.4g} {speed.unit}", share, against


def _story(result: TuningResult) -> Iterator[str]:
    resumed = f" ({result.resumed} by earlier jobs)" if result.resumed else ""
    candidates = "1 candidate" if result.trials == 1 else f"{result.trials} candidates"
    yield (
        f"{candidates} measured{resumed}, {result.proved} proved; "
        f"{result.refused} refused, {result.failed} failed; {result.elapsed:.0f} s, "
        f"ended by: {result.stop}"
    )
    yield from (_group(group) for group in result.failures)
    if result.max_error_over_bound is not None:
        yield (
            f"Largest error: {result.max_error_over_bound:.2g} of the "
            f"{result.criterion}; schedule {result.proof}."
        )
    if result.peak is not None:
        gflops = result.peak.gflops
        rate = "" if gflops is None else f"{gflops:.0f} GFLOP/s, "
        yield (
            f"Peak measured on this machine: {rate}{result.peak.gigabytes:.0f} GB/s."
        )
    yield from _omissions(result)
    if result.contender is not None and result.contender.trouble:
        yield f"{result.contender.name} was not timed: {result.contender.trouble}"
    for text in (*result.trouble, *result.warnings):
        yield f"Warning: {text}"
    if result.unconfirmed is not None:
        yield (
            f"A candidate looked {result.unconfirmed:.2f}x faster during the search "
            "but was not confirmed; the machine may have been busy."
        )
    yield _verdict(result)
    yield f"Ledger: {result.ledger}"


def _omissions(result: TuningResult) -> Iterator[str]:
    """Yield why times of the table have no share of the peak, each reason once."""
    rival = result.contender and result.contender.seconds
    times = (result.default_seconds, result.best_seconds, rival)
    reasons = [result.speed(time).omitted for time in times if time]
    for reason in dict.fromkeys(filter(None, reasons)):
        yield f"Share of peak left out: {reason}."


def _group(group: FailureGroup) -> str:
    example = " ".join(group.example.split())
    shown = example if len(example) <= 160 else example[:157] + "..."
    return f"  {group.count} {group.status}: {group.cause}" + (
        f", for example: {shown}" if shown else ""
    )


def _verdict(result: TuningResult) -> str:
    match result.outcome:
        case "improved" if result.entry is not None:
            return f"A better schedule is stored: {result.entry}"
        case "improved":
            return f"A better schedule was found, NOT stored:\n{result.schedule_text}"
        case "default" if result.trials <= 1:
            return f"{_no_rival(result)}; nothing was compared with the default."
        case "default" if result.stop == "interrupted":
            return "Interrupted before anything was confirmed: the default stays."
        case "default":
            return "The default schedule is confirmed as the best one found."
        case "nothing":
            return (
                "NOTHING WAS MEASURED: no schedule, not even the default, has a time."
            )


def _no_rival(result: TuningResult) -> str:
    if result.failed:
        counts = f"{result.refused} refused, {result.failed} failed"
        return f"No other candidate could be measured: {counts}"
    if result.refused:
        return f"No other candidate could be built: {result.refused} refused"
    return "No other candidate was tried"
