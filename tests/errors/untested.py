"""Messages without a test of their words, and why: each has its reason."""

from __future__ import annotations

FRAMES = frozenset(
    (
        *("Kernel: …", "draw_case: …", "tune: …", "…: …", "…, and …", "… is …: …"),
        *("`…` is …", "`…` …", "… refused", "…: …=…; … is …", "…\n  in …: …"),
    )
)
"""Places around the words of another message, which has its own test."""

GUARDS = frozenset(
    (
        "`…` cannot be updated",
        "`…` is not in the kernel language",
        "… is not written as a plain `def`",
        "… is not declared around its uses",
        "… is used outside its loop",
        "the CPU backend has no … on …",
        "the CPU backend has no function …; it has …",
        (
            "data chooses elements of …, which is in registers; stage it with "
            'memory="array"'
        ),
    )
)
"""What an earlier check refuses today: kept for Python, or a step, that is to come."""

UNPROVOKED = frozenset(
    (
        "a chain of copies has no closed form",
        "a chain of copies is longer than …",
        "no code",
        "no worker process can start: …",
        "refuted by the proof",
        (
            "rfactor: dimension … of the partial results has no known extent inside "
            'loop "…"; reorder its loops outside first'
        ),
        (
            'rfactor: the loops over "…" inside loop "…" depend on it; reorder '
            "them outside first"
        ),
        "the arrays of … for … do not fit in memory: …",
        "the default schedule has no proof: …",
        (
            '…: the part of dimension … of "…" that the body touches has no known '
            "extent: its subscripts there are …; split the loops below, or stage at "
            "another loop"
        ),
    )
)
"""What no small program or job is known to provoke."""

UNTESTED = FRAMES | GUARDS | UNPROVOKED
