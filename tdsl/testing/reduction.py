"""`reduce_schedule`: the shortest part of a schedule that fails as the whole does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import BackendError, CheckError
from ..kernel import Kernel
from ..kernel_faults import reject_faults
from ..plans import prove
from ..schedules.schedule import Schedule
from .case import Case
from .failures import Engine, FailedCheck
from .isolation import Child, CrashError
from .running import Prepare, Trial, trials_apart
from .shrinking import shortest, shrunk

WRONG = "wrong result"


@dataclass(frozen=True, slots=True)
class Symptom:
    """A way to fail: its *kind*, which reduction keeps, its *text*, and where it shows.

    The kinds are "refuted", "unknown", "does not compile", "wrong result", "crash" of
    the process, and the names of exceptions that are no errors of tdsl's.
    """

    kind: str
    text: str
    case: Case
    failure: FailedCheck | None = None


@dataclass(frozen=True, slots=True)
class Reduction:
    """A minimal failing schedule, what it shows, and the schedule that it is from."""

    kernel: Kernel
    schedule: Schedule
    symptom: Symptom
    original: Schedule
    prepare: Prepare | None = None

    @property
    def engine(self) -> Engine:
        """What has to run the schedule to see it fail."""
        failed = self.symptom.failure
        return failed.failure.engine if failed else "compiled"


def symptom_of(
    kernel: Kernel,
    schedule: Schedule,
    cases: Sequence[Case],
    prepare: Prepare | None = None,
    child: Child | None = None,
) -> Symptom | None:
    """Return how *schedule* fails, or None where it is proved and right on *cases*.

    Machine code runs in *child*, if there is one, and may crash there.
    """
    certificate = prove(kernel.function, schedule, kernel.numerics)
    if certificate.verdict != "proved":
        return Symptom(certificate.verdict, str(certificate), cases[0])
    trial = Trial(kernel, schedule, "compiled", prepare, child)
    for case in cases:
        try:
            trial.run(case)
        except FailedCheck as error:
            return Symptom(WRONG, str(error), case, error)
        except CheckError as error:
            failed = trial.failed(case, str(error))
            return Symptom(WRONG, str(failed), case, failed)
        except BackendError as error:
            return Symptom("does not compile", str(error), case)
        except CrashError as error:
            return Symptom("crash", f"crash: {error}", case)
        except Exception as error:
            kind = type(error).__name__
            return Symptom(kind, f"{kind}: {error}", case)
    return None


def reduce_schedule(
    kernel: Kernel,
    schedule: Schedule,
    cases: Sequence[Case],
    prepare: Prepare | None = None,
    *,
    apart: bool = False,
) -> Reduction | None:
    """Return the shortest part of *schedule* that fails as it does, None if none does.

    Steps are left out and arguments made plainer while the kind of failure stays the
    same. A case with a wrong result is made smaller too. With *apart* machine code runs
    in a child process, where the system has forks: then it may even crash.
    """
    reject_faults(kernel.function)
    if not apart:
        return _reduced(kernel, schedule, cases, prepare, None)
    with trials_apart(kernel, prepare) as child:
        return _reduced(kernel, schedule, cases, prepare, child)


def _reduced(
    kernel: Kernel,
    schedule: Schedule,
    cases: Sequence[Case],
    prepare: Prepare | None,
    child: Child | None,
) -> Reduction | None:
    found = symptom_of(kernel, schedule, cases, prepare, child)
    if found is None:
        return None
    if found.failure is not None:
        trial = Trial(kernel, schedule, "compiled", prepare, child)
        failed = shrunk(trial, found.case, found.failure)
        least = failed.failure.schedule
        assert least is not None
        symptom = Symptom(WRONG, str(failed), failed.failure.case, failed)
        return Reduction(kernel, least, symptom, schedule, prepare)
    best = found

    def fails(candidate: Schedule) -> bool:
        nonlocal best
        symptom = symptom_of(kernel, candidate, [found.case], prepare, child)
        if symptom is None or symptom.kind != found.kind:
            return False
        best = symptom
        return True

    return Reduction(kernel, shortest(schedule, fails), best, schedule, prepare)
