"""The real workshop: sketch, proof and source here, compilation and timing in workers.

Two workers compile side by side through the shared disk cache; then only one of them
runs while candidates are timed, so nothing disturbs the clock but the machine itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from ..analysis.validate import validate
from ..backends.comments import without_places
from ..backends.source import emit_source
from ..errors import BackendError, ScheduleError, TuningError
from ..ir.canonical import canonical_text
from ..ir.nodes import Function, Role
from ..ir.numerics import Numerics
from ..schedules.library import default_schedule
from ..schedules.schedule import Schedule
from ..schedules.sketches import Sketch
from ..target import Target
from .candidates import COMPILE_LIMIT, Candidate, Failure, Measurement, Refused
from .contenders import ContenderSource
from .crew import INSIDE, Crew
from .expected import DERIVED
from .final import FinalTiming
from .finalists import Finalists, rounds_message
from .problem import Inputs, Program, input_file, make_problem, save_problem
from .process import Worker, WorkerLost, pinned_environment
from .records import Config
from .results import Contender, Peak
from .scratch import unwritable
from .statistics import median
from .timing import DECISIVE, LONG_CALL, TimingLimits, limits_for

CONTENDER_TURNS, CONTENDER_ROUNDS = 4, 3
CONTENDER_COMMAND = (sys.executable, "-P", "-m", "tdsl.tuner.contender")
NOISE_ROUNDS = 9
"""Rounds of the default against itself."""

_REFUSAL = re.compile(r"in step \d+ of \d+: (\w+)\(")


@dataclass(frozen=True, slots=True)
class Job:
    """What the workshop works on."""

    function: Function
    dims: dict[str, int]
    threads: int
    numerics: Numerics
    target: Target
    seed: int
    folder: Path
    final_seconds: float = 3.0
    inputs: Inputs | None = None
    patience: float = inf

    @property
    def parallel(self) -> bool:
        """Whether parallel loops run on several threads."""
        return self.threads > 1


@dataclass(frozen=True, slots=True)
class _Checked:
    """What the run on poisoned outputs showed, besides that all was well."""

    max_error_over_bound: float
    seconds: float


@dataclass(slots=True)
class CpuWorkshop:
    """Builds candidates in this process, compiles and measures them in workers."""

    job: Job
    sketch: Sketch
    crew: Crew
    criterion: str = DERIVED
    _checked: dict[str, _Checked] = field(default_factory=dict, init=False)

    @staticmethod
    @contextmanager
    def open(
        job: Job, sketch: Sketch, should_stop: Callable[[], bool]
    ) -> Iterator[CpuWorkshop]:
        """Start the workers, evaluate the reference, and close them in the end."""
        crew = Crew(job.threads, job.target, job.folder, should_stop)
        try:
            try:
                crew.start()
                problem = make_problem(
                    job.function,
                    job.dims,
                    job.numerics,
                    job.seed,
                    job.target,
                    job.inputs,
                    job.patience,
                )
                save_problem(problem, job.folder)
            except OSError as error:
                raise unwritable(job.folder, error) from error
            except MemoryError as error:
                sizes = " ".join(f"{name}={size}" for name, size in job.dims.items())
                raise TuningError(
                    f"the arrays of {job.function.name} for {sizes} do not fit in "
                    f"memory: {error}"
                ) from error
            yield CpuWorkshop(job, sketch, crew, problem.criterion)
        finally:
            crew.close()

    @property
    def parallel(self) -> int:
        """How many programs are compiled at once."""
        return min(2, os.cpu_count() or 1)

    # --- build -----------------------------------------------------------------

    def build(self, config: Config) -> Candidate:
        """Schedule, prove and emit the program of a point; raise Refused."""
        job = self.job
        try:
            schedule = self._schedule(config)
        except ScheduleError as error:
            raise _refusal(error) from error
        function = schedule.function
        proof = validate(job.function, function, job.numerics)
        if proof.verdict != "proved":  # a kernel would not run it either
            cause = "refuted by the proof" if proof.verdict == "refuted" else "no proof"
            raise Refused(cause, str(proof), proof.verdict)
        try:
            source = emit_source(
                function,
                numerics=job.numerics,
                parallel=job.parallel,
                runtime_sizes=True,
            )
        except BackendError as error:
            raise Refused("no code", str(error), proof.verdict) from error
        text = without_places(source.text)
        structure = hashlib.sha256(text.encode()).hexdigest()[:16]
        return Candidate(
            config,
            structure,
            source.sizes,
            json.loads(schedule.to_json()),
            hashlib.sha256(canonical_text(function).encode()).hexdigest()[:16],
            proof.verdict,
            str(schedule),
            function,
        )

    def _schedule(self, config: Config) -> Schedule:
        if config:
            return self.sketch.build(config)
        job = self.job
        return default_schedule(job.function, job.target, job.numerics)

    # --- compile and measure ---------------------------------------------------

    def compile(
        self, candidates: Sequence[Candidate], limit: float
    ) -> list[float | Failure]:
        """Compile what is not loaded yet, two programs at a time."""
        wanted = {c.structure: self._program_file(c) for c in candidates}
        done = self.crew.load(wanted, limit)
        return [done[candidate.structure] for candidate in candidates]

    def measure(
        self, candidate: Candidate, rival: Candidate, noise: float
    ) -> Measurement | Failure:
        """Check *candidate* on poisoned outputs, then time it beside *rival*."""
        both = {c.structure: self._program_file(c) for c in (rival, candidate)}
        try:
            for result in self.crew.load(both, COMPILE_LIMIT).values():
                if isinstance(result, Failure):
                    return result
            checked = self._check(candidate)
            if isinstance(checked, Failure):
                return checked
            timed = self.crew.ask(
                {
                    "do": "pair",
                    "rival": _call(rival),
                    "candidate": _call(candidate),
                    "limits": asdict(self._limits(candidate, rival, noise, checked)),
                }
            )
        except WorkerLost as lost:
            return Failure(lost.cause, lost.detail)
        if "cause" in timed:
            return Failure(timed["cause"], timed["detail"])
        self.crew.call_seconds = min(timed["rival"])
        return Measurement(
            tuple(timed["candidate"]),
            tuple(timed["rival"]),
            checked.max_error_over_bound,
            timed["stopped"],
        )

    def _check(self, candidate: Candidate) -> _Checked | Failure:
        """Run *candidate* twice on poisoned outputs, once a job."""
        if candidate.identity not in self._checked:
            reply = self.crew.ask({"do": "check", **_call(candidate)})
            if "cause" in reply:
                return Failure(reply["cause"], reply["detail"])
            self._checked[candidate.identity] = _Checked(
                float(reply["max_error_over_bound"]), float(reply.get("seconds", 0.0))
            )
        return self._checked[candidate.identity]

    def _limits(
        self, candidate: Candidate, rival: Candidate, noise: float, checked: _Checked
    ) -> TimingLimits:
        """Return how long to time; how noisy equals are takes a few rounds more."""
        limits = limits_for(checked.seconds, noise)
        if candidate.identity != rival.identity:
            return limits
        rounds = DECISIVE if checked.seconds >= LONG_CALL else NOISE_ROUNDS
        return replace(limits, min_rounds=rounds, hopeless_at_once=float("inf"))

    # --- the end of a job ------------------------------------------------------

    def time_finalists(
        self, candidates: Sequence[Candidate]
    ) -> list[FinalTiming | Failure]:
        """Time *candidates* with constant sizes in fresh processes, interleaved."""
        files = [self._program_file(c, final=True) for c in candidates]
        programs = {path.stem: path for path in files}
        timings = Finalists(self.crew, programs, self.job.final_seconds).time()
        return [timings[path.stem] for path in files]

    def time_contender(self, source: ContenderSource, winner: Candidate) -> Contender:
        """Time a library in a process of its own, in turns with the *winner*."""
        environment = pinned_environment(self.job.threads) | {INSIDE: "1"}
        worker = Worker(
            environment, CONTENDER_COMMAND, self.crew.should_stop, self.job.folder
        )
        name = self._program_file(winner, final=True).stem
        samples: list[float] = []
        slow = (self.crew.call_seconds or 0.0) >= LONG_CALL
        turns, rounds = (2, 1) if slow else (CONTENDER_TURNS, CONTENDER_ROUNDS)
        try:
            worker.start()
            for message in source.requests(self._inputs()):
                reply = worker.ask(message, self.crew.limits)
                if "cause" in reply:
                    return Contender(source.name, None, f"{reply['detail']}")
            for _ in range(turns):
                # One call of ours warms the machine for both.
                self.crew.ask(rounds_message([name], 1, TimingLimits()))
                time.sleep(0.05)  # idle threads of either library spin for a while
                message = rounds_message([source.kernel], rounds, TimingLimits())
                reply = worker.ask(message, self.crew.limits)
                if "cause" in reply:
                    return Contender(source.name, None, f"{reply['detail']}")
                samples += reply["samples"][0]
        except WorkerLost as lost:
            return Contender(source.name, None, str(lost))
        finally:
            worker.close()
        return Contender(source.name, median(samples))

    def peak(self, winner: Candidate, dtype: str) -> Peak | None:
        """Measure the machine's limits for *dtype* with the threads in use."""
        message = {
            "do": "peak",
            "program": str(self._program_file(winner)),
            "threads": self.job.threads,
            "dtype": dtype,
        }
        try:
            reply = self.crew.ask(message)
        except WorkerLost:
            return None
        if "cause" in reply:
            return None
        return Peak(reply["gflops"], reply["gigabytes"], reply["reliable"])

    def _inputs(self) -> list[Path]:
        inputs = [p for p in self.job.function.params if p.role is not Role.OUTPUT]
        return [input_file(self.job.folder, p.tensor.name) for p in inputs]

    def _program_file(self, candidate: Candidate, *, final: bool = False) -> Path:
        """Pickle the program of *candidate* for the workers, once."""
        name = candidate.identity + ".final" if final else candidate.structure
        path = self.job.folder / f"{name}.pickle"
        if not path.exists():
            program = Program(
                candidate.program,
                self.job.target,
                self.job.numerics,
                self.job.parallel,
                runtime_sizes=not final,
            )
            whole = path.with_suffix(".part")  # a full disk may cut it short
            whole.write_bytes(pickle.dumps(program))
            whole.replace(path)
        return path


def _call(candidate: Candidate) -> dict[str, Any]:
    return {"name": candidate.structure, "sizes": list(candidate.sizes)}


def _refusal(error: ScheduleError) -> Refused:
    """Return the refusal of a primitive, grouped by which one it was."""
    notes = "\n".join(getattr(error, "__notes__", ()))
    found = _REFUSAL.search(notes)
    cause = f"{found[1]} refused" if found else "refused"
    return Refused(cause, "\n".join(part for part in (str(error), notes) if part))
