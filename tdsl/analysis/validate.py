"""Translation validation: does a scheduled function compute what the user wrote?

The whole result is proved, whoever made it, in symbolic sizes: see the checks in
`bounds`, `dependence`, `instances`, `dataflow` and `reductions`. Outside what integer
sets can express, or when they take too long, the answer is *unknown*.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.nodes import Function, Role
from ..ir.numerics import Numerics
from .bounds import check_bounds
from .certificate import Certificate, Check, conclude
from .dataflow import NAME as DATAFLOW
from .dataflow import trace_dataflow
from .dependence import check_concurrent_loops
from .instances import check_once, instance_maps
from .model import Model, build_model
from .original import original_facts
from .reductions import check_reordered
from .sets import IslError, UnsupportedError, bounded

OPERATIONS = 1_000_000
"""How many elementary steps isl may take for one proof: a second or two."""


def validate(
    original: Function, scheduled: Function, numerics: Numerics = "reassoc"
) -> Certificate:
    """Prove that *scheduled* computes what *original* does, or say why not.

    Reductions may be reordered unless *numerics* is "bitwise".
    """
    checks: list[Check] = []
    try:
        with bounded(OPERATIONS):
            for check in _checks(original, scheduled, numerics):
                checks.append(check)
                if check.verdict != "proved":
                    break
    except UnsupportedError as error:
        checks.append(Check("model", "unknown", str(error)))
    except IslError as error:
        checks.append(Check("model", "unknown", _isl_reason(error)))
    return conclude(checks, checks[-1].reason.startswith("up to"))


def _checks(
    original: Function, scheduled: Function, numerics: Numerics
) -> Iterator[Check]:
    if (original.params, original.dims) != (scheduled.params, scheduled.dims):
        yield Check("signature", "refuted", "the parameters or dims differ")
        return
    facts = original_facts(original)
    yield facts.wellformed
    model = facts.model if scheduled is original else build_model(scheduled)
    yield _check_inputs(model)
    yield check_bounds(model)
    yield check_concurrent_loops(model)
    maps = instance_maps(facts, model)
    if isinstance(maps, Check):
        yield maps
        return
    yield check_once(facts, model, maps)
    flow = trace_dataflow(facts, model, maps)
    if isinstance(flow, Check):
        yield flow
    elif flow.in_order:
        yield Check(DATAFLOW, "proved")
    else:
        yield check_reordered(facts, flow, numerics)


def _check_inputs(model: Model) -> Check:
    for occurrence in model.occurrences:
        tensor = occurrence.write.tensor
        if model.storage[tensor].role is Role.INPUT:
            return Check("inputs", "refuted", f"the input {tensor} is written")
    return Check("inputs", "proved")


def _isl_reason(error: IslError) -> str:
    if "maximal number of operations" in str(error):
        return f"undecided after {OPERATIONS} steps of isl"
    text = str(error).partition(" in /")[0]  # without isl's own source file
    return f"isl failed ({text})"
