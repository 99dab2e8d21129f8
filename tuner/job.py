"""`tune`: one tuning job from a kernel and its dims to a stored schedule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from os import environ
from pathlib import Path
from time import monotonic

from ..analysis.cost import cost
from ..entries import (
    Entry,
    forget,
    store,
)
from ..errors import CacheError, TuningError
from ..executable import CpuBackend
from ..ir.numerics import Numerics
from ..kernel_faults import reject_faults
from ..paths import default_ledger
from ..schedules.sketches import Sketch, sketch
from ..target import Target, host
from .candidates import Failure, describe, rebuild
from .contenders import ContenderSource, contender_function
from .crew import INSIDE
from .expected import DERIVED
from .final import (
    FINALISTS,
    FinalTiming,
    Verdict,
    choose_finalists,
    recheck,
    same,
    unconfirmed,
)
from .fingerprint import space_version
from .journal import Journal
from .ledger import Ledger
from .problem import Inputs
from .process import Interrupted
from .records import Record
from .requests import (
    Request,
    Tunable,
    check_dims,
    check_options,
    check_parts,
    check_tunable,
)
from .results import Contender, Outcome, Peak, TuningResult, group_failures
from .scratch import scratch_folder
from .search import Found, Search, View
from .space import SearchSpace
from .statistics import Interval, median
from .stopping import StopRequest, stop_on_signals
from .workshop import CpuWorkshop, Job

FINAL_SHARE = 0.15
"""How long the final re-check times, as a part of the budget, up to FINAL_SECONDS."""
FINAL_SECONDS = 8.0
BOUND_SHARE, BOUND_SECONDS = 0.2, 20.0
"""How long error bounds may take to derive: a part of the budget, and at most."""
_MISHAPS = (KeyError, TuningError, CacheError, OSError)
"""What a step after the search may raise without taking the result with it."""


def tune(
    kernel: Tunable,
    dims: Mapping[str, int],
    *,
    budget_s: float = 60.0,
    threads: int | None = None,
    target: Target | None = None,
    numerics: Numerics | None = None,
    seed: int = 0,
    ledger: Path | None = None,
    contender: ContenderSource | Callable[..., object] | None = None,
    inputs: Inputs | None = None,
    listen: Callable[[View], None] = lambda view: None,
) -> TuningResult:
    """Search for the fastest schedule of *kernel* for *dims* and store it.

    The search stops when *budget_s* seconds are over, when every point was tried, or at
    Ctrl-C, which keeps everything; a re-check of the best few follows. *contender* is
    the same work by a library, such as `numpy.matmul`, for comparison. *inputs* takes
    the dims and returns the arguments by name, for kernels that random numbers do not
    suit (a factorisation wants a positive definite matrix). *listen* is shown the
    progress. Raise CacheError before any work if the *ledger* cannot be
    written.
    """
    if INSIDE in environ:
        raise TuningError("a process that measures for a tuning job cannot tune")
    check_tunable(kernel)
    check_options(budget_s, threads, numerics, seed, ledger)
    check_parts(target, contender, inputs, listen)
    reject_faults(kernel.function)
    chosen = target or host()
    request = Request(
        kernel.name,
        kernel.function,
        check_dims(kernel.name, kernel.function, dims),
        threads or CpuBackend().threads,
        numerics or kernel.numerics,
        chosen,
        budget_s,
        seed,
        ledger or default_ledger(),
        _source(kernel.name, contender),
        inputs,
    )
    book = Ledger.open(request.ledger, request.key)
    with stop_on_signals() as stop:
        result = _Job(request, book, stop, listen).run()
    kernel.reload()
    return result


def _source(
    kernel: str, contender: ContenderSource | Callable[..., object] | None
) -> ContenderSource | None:
    if contender is None or isinstance(contender, ContenderSource):
        return contender
    return contender_function(kernel, contender)


@dataclass(slots=True)
class _Job:
    request: Request
    ledger: Ledger
    stop: StopRequest
    listen: Callable[[View], None]
    trouble: list[str] = field(default_factory=list)
    criterion: str = DERIVED

    def run(self) -> TuningResult:
        start = monotonic()
        request = self.request
        family = sketch(request.function, request.target, request.numerics)
        space = SearchSpace(family, space_version(family.params))
        with self._workshop(family) as workshop:
            search = Search(
                space,
                workshop,
                Journal(self.ledger, space.version, request.seed),
                max(0.1, request.budget - (monotonic() - start)),
                monotonic,
                self.stop,
                self.listen,
            )
            found = search.run()
            verdict, stopped = self._finish(workshop, found)
            entry = self._file(found, verdict)  # before anything else can go wrong
            contender, peak = self._compare(workshop, verdict)
        elapsed = monotonic() - start
        return self._result(found, verdict, stopped, entry, contender, peak, elapsed)

    @contextmanager
    def _workshop(self, family: Sketch) -> Iterator[CpuWorkshop]:
        request = self.request
        with scratch_folder() as folder:
            job = Job(
                request.function,
                request.dims,
                request.threads,
                request.numerics,
                request.target,
                request.seed,
                folder,
                min(FINAL_SECONDS, FINAL_SHARE * request.budget),
                request.inputs,
                min(BOUND_SECONDS, BOUND_SHARE * request.budget),
            )
            with CpuWorkshop.open(job, family, self.stop) as workshop:
                self.criterion = workshop.criterion
                yield workshop

    def _finish(
        self, workshop: CpuWorkshop, found: Found
    ) -> tuple[Verdict | None, str]:
        """Re-check the best few; an interruption leaves the search's own verdict."""
        if found.best is None:
            return None, found.stop
        if found.stop == "interrupted":
            return self._without_recheck(found), found.stop
        records = choose_finalists(self.ledger.trials().values(), found.noise)
        rebuilt = (rebuild(workshop, record) for record in records)
        finalists = [c for c in rebuilt if c is not None]
        if not any(same(found.best, c) for c in finalists):
            finalists = [found.best, *finalists][:FINALISTS]
        try:
            verdict = recheck(workshop, found.default, finalists, found.noise)
        except Interrupted:
            return self._without_recheck(found), "interrupted"
        except _MISHAPS as error:
            self.trouble.append(f"the final re-check was not possible: {error}")
            return self._without_recheck(found), found.stop
        if verdict is None:
            self.trouble.append(
                "no finalist ran in a fresh process, so nothing is stored; the times "
                "are those of the search"
            )
            return replace(self._without_recheck(found), sure=False), found.stop
        self._record_finals(verdict)
        return verdict, found.stop

    def _without_recheck(self, found: Found) -> Verdict:
        """Return what the search believes: its incumbent won beyond the noise."""
        assert found.best is not None
        trials = self.ledger.trials()
        record = trials[found.best.identity]
        base = None if found.default is None else trials.get(found.default.identity)
        default = None if base is None else base.seconds
        ratio = found.best_ratio
        seconds = record.seconds if default is None else default * ratio
        timing = FinalTiming((seconds or 0.0,), record.max_error_over_bound)
        gain = None if same(found.best, found.default) else 1.0 / ratio
        speedup = None if gain is None else Interval(gain, gain, gain)
        return Verdict(found.best, timing, default, speedup, ())

    def _record_finals(self, verdict: Verdict) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        for candidate, timing in verdict.timings:
            blank = describe(candidate, "failed")
            record = replace(
                blank, key=self.ledger.key.digest(), kind="final", time=now
            )
            if isinstance(timing, Failure):
                record = replace(record, cause=timing.cause, detail=timing.detail)
            else:
                record = replace(
                    record,
                    status="measured",
                    samples=timing.samples,
                    seconds=median(timing.samples),
                    max_error_over_bound=timing.max_error_over_bound,
                )
            self.ledger.append(record)

    def _compare(
        self, workshop: CpuWorkshop, verdict: Verdict | None
    ) -> tuple[Contender | None, Peak | None]:
        """Time the library and the machine's limits, unless somebody is waiting."""
        contender: Contender | None = None
        peak: Peak | None = None
        if verdict is None or self.stop():
            return contender, peak
        source = self.request.contender
        try:
            if source is not None:
                contender = workshop.time_contender(source, verdict.winner)
        except Interrupted:
            return contender, peak
        except _MISHAPS as error:
            self.trouble.append(f"the library was not timed: {error!r}")
        try:
            peak = workshop.peak(verdict.winner, self.request.arithmetic)
        except Interrupted:
            pass
        except _MISHAPS as error:
            self.trouble.append(f"the machine's peak was not measured: {error!r}")
        return contender, peak

    # --- the result ------------------------------------------------------------

    def _file(self, found: Found, verdict: Verdict | None) -> Path | None:
        """Store the winner; what keeps it from being stored is trouble."""
        if verdict is None or not verdict.sure:
            return None
        try:
            return self._store(verdict, _outcome(found, verdict))
        except (CacheError, OSError) as error:
            self.trouble.append(f"the schedule could not be stored: {error}")
            return None

    def _store(self, verdict: Verdict, outcome: Outcome) -> Path | None:
        """File the winner, or drop an entry that the default beat in the re-check."""
        where = self.request.situation
        if outcome != "improved":
            if verdict.timings and verdict.default_seconds is not None:
                forget(where)
            return None
        entry = Entry(
            where,
            json.dumps(verdict.winner.schedule),
            verdict.seconds,
            verdict.default_seconds or 0.0,
            verdict.winner.proof,
            str(self.request.ledger),
        )
        return store(entry)

    def _result(
        self,
        found: Found,
        verdict: Verdict | None,
        stopped: str,
        entry: Path | None,
        contender: Contender | None,
        peak: Peak | None,
        elapsed: float,
    ) -> TuningResult:
        request, trials = self.request, list(self.ledger.trials().values())
        trouble = [*self._trouble(found, verdict), *self.trouble]
        outcome = _outcome(found, verdict)
        measured = [record for record in trials if record.status == "measured"]
        return TuningResult(
            kernel=request.name,
            dims=request.dims,
            dtype=request.dtype,
            threads=request.threads,
            numerics=request.numerics,
            target=request.target.name,
            outcome=outcome,
            stop=stopped,
            schedule=None if verdict is None else verdict.winner.schedule,
            schedule_text="" if verdict is None else verdict.winner.text,
            proof="unknown" if verdict is None else verdict.winner.proof,
            default_seconds=None if verdict is None else verdict.default_seconds,
            best_seconds=None if verdict is None else verdict.seconds,
            speedup=None if verdict is None else verdict.speedup,
            max_error_over_bound=None
            if verdict is None
            else verdict.timing.max_error_over_bound,
            trials=len(measured),
            proved=sum(record.proof == "proved" for record in measured),
            refused=sum(record.status == "refused" for record in trials),
            failed=sum(record.status == "failed" for record in trials),
            resumed=found.resumed,
            failures=group_failures(trials),
            cost=cost(request.function, request.dims),
            peak=peak,
            contender=contender,
            ledger=request.ledger,
            entry=entry,
            trouble=tuple(trouble),
            warnings=tuple(self._warnings(trials)),
            elapsed=elapsed,
            budget=request.budget,
            seed=request.seed,
            structure_rate=found.rates.get("structure"),
            size_rate=found.rates.get("size"),
            unconfirmed=unconfirmed(found, verdict),
            criterion=self.criterion,
        )

    def _trouble(self, found: Found, verdict: Verdict | None) -> list[str]:
        """Return what went wrong although there may be a result."""
        trouble = [found.trouble] if found.trouble else []
        if self.ledger.trouble:
            trouble.append(f"the ledger is incomplete: {self.ledger.trouble}")
        if found.best is not None and found.default is None:
            trouble.append("the default schedule could not be measured (see failures)")
        elif verdict is not None and verdict.default_seconds is None:
            trouble.append("the default schedule failed in the final re-check")
        return trouble

    def _warnings(self, trials: list[Record]) -> Iterator[str]:
        """Yield what the user should know besides the result."""
        if self.ledger.corruption is not None:
            yield str(self.ledger.corruption)
        wrong = sum(record.cause == "wrong result" for record in trials)
        if wrong:
            yield (
                f"{wrong} proved candidate(s) gave wrong results, a bug in code "
                "generation; please report it with the ledger"
            )


def _outcome(found: Found, verdict: Verdict | None) -> Outcome:
    if verdict is None:
        return "nothing"
    return "default" if same(verdict.winner, found.default) else "improved"
