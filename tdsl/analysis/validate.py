"""Translation validation: does a scheduled function compute what the user wrote?

The whole result is proved, whoever made it, in symbolic sizes: that it is well-formed
(`ir.verify`), on which the model relies, and then the checks in `overflow`, `bounds`,
`dependence`, `instances`, `dataflow` and `reductions`. Outside what integer sets can
express, or when they take too long, the answer is *unknown*.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

from ..ir.nodes import Function
from ..ir.numerics import Numerics
from ..ir.verify import verify
from ..ir.walk import chosen_accesses
from .bounds import check_bounds
from .building import build_model
from .certificate import KERNEL, Certificate, Check, conclude
from .dataflow import NAME as DATAFLOW
from .dependence import check_concurrent_loops
from .instances import check_once, instance_maps
from .model import Model
from .order import tensors_in_order
from .original import Original, original_facts
from .overflow import check_overflow
from .recent import Recent
from .reductions import check_reordered
from .sets import IslError, Map, UnsupportedError, bounded
from .strips import with_strips_joined
from .tracing import trace_dataflow

OPERATIONS = 1_000_000
"""How many elementary steps isl may take for one proof: a second or two."""


LOCK = threading.Lock()
"""One proof at a time: isl's context, its limits and our caches are not for threads."""


def validate(
    original: Function, scheduled: Function, numerics: Numerics = "reassoc"
) -> Certificate:
    """Prove that *scheduled* computes what *original* does, or say why not.

    Reductions may be reordered unless *numerics* is "bitwise".
    """
    joined = with_strips_joined(scheduled)
    if joined is not scheduled:
        certificate = _certificate(original, scheduled, joined, numerics)
        if certificate.verdict == "proved":
            return certificate
    return _certificate(original, scheduled, scheduled, numerics)


def _certificate(
    original: Function, scheduled: Function, modelled: Function, numerics: Numerics
) -> Certificate:
    """Return what follows from the model of *modelled*, for *scheduled*."""
    checks: list[Check] = []
    try:
        with LOCK, bounded(OPERATIONS):
            for found in _checks(original, scheduled, modelled, numerics):
                check = _unless_chosen(found, original, scheduled)
                checks.append(check)
                if check.verdict != "proved":
                    break
    except UnsupportedError as error:
        checks.append(Check("model", "unknown", str(error)))
    except IslError as error:
        checks.append(Check("model", "unknown", _isl_reason(error)))
    return conclude(checks, checks[-1].reason.startswith("up to"))


def _checks(
    original: Function, scheduled: Function, modelled: Function, numerics: Numerics
) -> Iterator[Check]:
    if _signature(original) != _signature(scheduled):
        yield Check("signature", "refuted", "the parameters or dims differ")
        return
    yield from _KERNELS.about(original)
    yield _check_form(scheduled, "well-formed")
    yield check_overflow(scheduled)
    facts = original_facts(original)
    yield facts.wellformed
    model = facts.model if modelled is original else build_model(modelled)
    yield check_bounds(model)
    yield check_concurrent_loops(model)
    maps = instance_maps(facts, model)
    if isinstance(maps, Check):
        yield maps
        return
    yield check_once(facts, model, maps)
    yield _check_dataflow(facts, model, maps, numerics)


def _check_dataflow(
    original: Original, model: Model, maps: dict[str, Map], numerics: Numerics
) -> Check:
    """Prove that every read sees what it must: where order is not kept, by tracing."""
    settled = tensors_in_order(original, model, maps)
    check = _check_reads(original, model, maps, numerics, settled)
    if settled and check.verdict != "proved":
        check = _check_reads(original, model, maps, numerics, frozenset())
    return check


def _check_reads(
    original: Original,
    model: Model,
    maps: dict[str, Map],
    numerics: Numerics,
    settled: frozenset[str],
) -> Check:
    """Prove that reads of all but the *settled* tensors see what they must."""
    flow = trace_dataflow(original, model, maps, settled)
    if isinstance(flow, Check):
        return flow
    if flow.in_order:
        return Check(DATAFLOW, "proved")
    return check_reordered(original, flow, numerics)


def _unless_chosen(check: Check, original: Function, scheduled: Function) -> Check:
    """Call a refutation unknown where only data can tell whether it applies.

    A gather counts as reading, and a scatter as writing, more than it does.
    """
    if check.verdict != "refuted" or check.witness is None or check.name != DATAFLOW:
        return check
    chosen = {
        access.tensor
        for function in (original, scheduled)
        for access in chosen_accesses(function)
    }
    if check.witness.element.partition("[")[0] not in chosen:
        return check
    reason = f"{check.reason}, if data chooses that element"
    return replace(check, verdict="unknown", reason=reason)


def _signature(function: Function) -> tuple[object, ...]:
    return function.params, function.dims, function.assumptions


def _check_form(function: Function, name: str) -> Check:
    """Check what the model relies on: names are unique, and used in their scopes."""
    try:
        verify(function)
    except AssertionError as error:
        malformed = "is malformed: " if name == KERNEL else ""
        return Check(name, "refuted", f"{malformed}{error}")
    return Check(name, "proved")


def _check_kernel(function: Function) -> tuple[Check, ...]:
    form = _check_form(function, KERNEL)
    if form.verdict != "proved":
        return (form,)
    return form, check_overflow(function, KERNEL)


_KERNELS = Recent(_check_kernel)


def _isl_reason(error: IslError) -> str:
    if "maximal number of operations" in str(error):
        return f"undecided after {OPERATIONS} steps of isl"
    text = str(error).partition(" in /")[0]  # without isl's own source file
    return f"isl failed ({text})"
