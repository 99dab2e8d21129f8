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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..analysis.validate import validate
from ..backends.source import emit_source
from ..errors import BackendError, ScheduleError
from ..ir.nodes import Function, Role
from ..ir.numerics import Numerics
from ..ir.printer import print_function
from ..schedules.library import default_schedule
from ..schedules.schedule import Schedule
from ..schedules.sketches import Sketch
from ..target import Target
from .candidates import Candidate, Failure, Measurement, Refused
from .contenders import ContenderSource
from .crew import COMPILE_LIMIT, INSIDE, Crew, Hand
from .final import FinalTiming
from .problem import Program, input_file, make_problem, save_problem
from .process import Worker, WorkerLost, pinned_environment
from .records import Config
from .results import Contender, Peak
from .statistics import median
from .timing import TimingLimits

CONTENDER_TURNS, CONTENDER_ROUNDS = 4, 3
CONTENDER_COMMAND = (sys.executable, "-P", "-m", "tdsl.tuner.contender")
FINAL_PROCESSES = 2
FINAL_ROUNDS = 12
"""Fresh processes, and rounds in each, of the final re-check."""

NOISE_ROUNDS = 9
"""Rounds of the default against itself."""

_PLACE = re.compile(r"  # \S+:\d+$", re.MULTILINE)
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

    @property
    def parallel(self) -> bool:
        """Whether parallel loops run on several threads."""
        return self.threads > 1


@dataclass(slots=True)
class CpuWorkshop:
    """Builds candidates in this process, compiles and measures them in workers."""

    job: Job
    sketch: Sketch
    crew: Crew
    _undecided: bool | None = field(default=None, init=False)

    @staticmethod
    @contextmanager
    def open(
        job: Job, sketch: Sketch, should_stop: Callable[[], bool]
    ) -> Iterator[CpuWorkshop]:
        """Start the workers, evaluate the reference, and close them in the end."""
        crew = Crew(job.threads, job.target, job.folder, should_stop)
        try:
            crew.start()
            problem = make_problem(job.function, job.dims, job.numerics, job.seed)
            save_problem(problem, job.folder)
            yield CpuWorkshop(job, sketch, crew)
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
        if self._undecided is None:  # the default, which is built first
            self._undecided = proof.verdict == "unknown"
        if proof.verdict == "refuted" or (
            proof.verdict == "unknown" and not self._undecided
        ):
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
        text = _PLACE.sub("", source.text)
        structure = hashlib.sha256(text.encode()).hexdigest()[:16]
        return Candidate(
            config,
            structure,
            source.sizes,
            json.loads(schedule.to_json()),
            hashlib.sha256(print_function(function).encode()).hexdigest()[:16],
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
        limits = asdict(TimingLimits(noise=noise))
        if candidate.identity == rival.identity:  # how noisy are equals?
            limits["min_rounds"] = NOISE_ROUNDS
        try:
            for result in self.crew.load(both, COMPILE_LIMIT).values():
                if isinstance(result, Failure):
                    return result
            checked = self.crew.ask({"do": "check", **_call(candidate)})
            if "cause" in checked:
                return Failure(checked["cause"], checked["detail"])
            timed = self.crew.ask(
                {
                    "do": "pair",
                    "rival": _call(rival),
                    "candidate": _call(candidate),
                    "limits": limits,
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
            checked["max_error_over_bound"],
            timed["stopped"],
        )

    # --- the end of a job ------------------------------------------------------

    def time_finalists(
        self, candidates: Sequence[Candidate]
    ) -> list[FinalTiming | Failure]:
        """Time *candidates* with constant sizes in fresh processes, interleaved."""
        files = [self._program_file(c, final=True) for c in candidates]
        names = [path.stem for path in files]
        samples: dict[str, list[float]] = {name: [] for name in names}
        errors: dict[str, float] = {}
        with self.crew.fresh(FINAL_PROCESSES) as hands:
            programs = dict(zip(names, files, strict=True))
            compiled = self.crew.load(programs, COMPILE_LIMIT)
            failures = {n: r for n, r in compiled.items() if isinstance(r, Failure)}
            for hand in hands:
                alive = {n: f for n, f in programs.items() if n not in failures}
                self._time_once(hand, alive, samples, errors, failures)
        return [
            failures.get(name) or FinalTiming(tuple(samples[name]), errors[name])
            for name in names
        ]

    def _time_once(
        self,
        hand: Hand,
        programs: Mapping[str, Path],
        samples: dict[str, list[float]],
        errors: dict[str, float],
        failures: dict[str, Failure],
    ) -> None:
        """Check and time *programs* in one fresh process, adding to what is known."""
        running = []
        for name, path in programs.items():
            result = _checked(hand, name, path, self.crew.limits)
            if isinstance(result, Failure):
                failures[name] = result
            else:
                errors[name] = max(result, errors.get(name, 0.0))
                running.append(name)
        running = [name for name in running if name in hand.loaded]
        if not running:
            return
        try:
            timed = hand.ask(_rounds(running, FINAL_ROUNDS), self.crew.limits)
        except WorkerLost as lost:
            failures.update({n: Failure(lost.cause, lost.detail) for n in running})
            return
        for name, values in zip(running, timed["samples"], strict=True):
            samples[name] += values

    def time_contender(self, source: ContenderSource, winner: Candidate) -> Contender:
        """Time a library in a process of its own, in turns with the *winner*."""
        environment = pinned_environment(self.job.threads) | {INSIDE: "1"}
        worker = Worker(environment, CONTENDER_COMMAND, self.crew.should_stop)
        name = self._program_file(winner, final=True).stem
        samples: list[float] = []
        try:
            worker.start()
            for message in source.requests(self._inputs()):
                reply = worker.ask(message, self.crew.limits)
                if "cause" in reply:
                    return Contender(source.name, None, f"{reply['detail']}")
            for _ in range(CONTENDER_TURNS):
                self.crew.ask(_rounds([name], 1))  # what warms the machine for both
                time.sleep(0.05)  # idle threads of either library spin for a while
                message = _rounds([source.kernel], CONTENDER_ROUNDS)
                reply = worker.ask(message, self.crew.limits)
                samples += reply["samples"][0]
        except WorkerLost as lost:
            return Contender(source.name, None, str(lost))
        finally:
            worker.close()
        return Contender(source.name, median(samples))

    def peak(self, winner: Candidate, dtype: str) -> Peak | None:
        """Measure the machine's limits with the threads in use."""
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
        return None if "cause" in reply else Peak(reply["gflops"], reply["gigabytes"])

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
            path.write_bytes(pickle.dumps(program))
        return path


def _checked(
    hand: Hand, name: str, path: Path, limits: Mapping[str, float]
) -> float | Failure:
    """Load and check a program; return its error over the bound."""
    try:
        loaded = hand.load(name, path, COMPILE_LIMIT)
        if isinstance(loaded, Failure):
            return loaded
        reply = hand.ask({"do": "check", "name": name, "sizes": []}, limits)
    except WorkerLost as lost:
        return Failure(lost.cause, lost.detail)
    if "cause" in reply:
        return Failure(reply["cause"], reply["detail"])
    return float(reply["max_error_over_bound"])


def _rounds(names: Sequence[str], rounds: int) -> dict[str, Any]:
    programs = [{"name": name, "sizes": []} for name in names]
    limits = asdict(TimingLimits())
    return {"do": "rounds", "programs": programs, "rounds": rounds, "limits": limits}


def _call(candidate: Candidate) -> dict[str, Any]:
    return {"name": candidate.structure, "sizes": list(candidate.sizes)}


def _refusal(error: ScheduleError) -> Refused:
    """Return the refusal of a primitive, grouped by which one it was."""
    notes = "\n".join(getattr(error, "__notes__", ()))
    found = _REFUSAL.search(notes)
    cause = f"{found[1]} refused" if found else "refused"
    return Refused(cause, "\n".join(part for part in (str(error), notes) if part))
