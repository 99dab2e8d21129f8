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
        "the CPU backend has no … on …",
        (
            "data chooses elements of …, which is in registers; stage it with "
            'memory="array"'
        ),
    )
)
"""What an earlier check refuses today: kept for Python, or a step, that is to come."""

UNTESTED = FRAMES | GUARDS
