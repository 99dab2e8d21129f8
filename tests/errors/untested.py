"""Messages whose words no test compares; take out what you write a test for."""

from __future__ import annotations

UNTESTED = frozenset(
    [
        "Kernel: …",
        (
            "Numba could not compile … for … (…): …; this is a fault of tdsl, and "
            "another schedule may avoid it"
        ),
        "`%` of complex numbers: only real numbers have a remainder",
        "`**` of complex numbers: write products, `x * x`",
        "`*` is not in the kernel language: write out the arguments",
        "`//` of complex numbers: it rounds, and only real numbers can be",
        "`await` is not in the kernel language",
        "`max` of complex numbers, which have no order: compare `abs(x)`",
        "`min` of complex numbers, which have no order: compare `abs(x)`",
        "`nonlocal` is not in the kernel language: return a tensor",
        "`…` cannot be called here",
        "`…` cannot be updated",
        "`…` is a dim and also a parameter: rename the parameter",
        "`…` is not in the kernel language",
        "`…` is read here before anything is written to it",
        "`…` is …",
        "`…` of a complex number: complex are only …",
        "`…` …",
        "a cast of a complex number to …: write `…(real(x))`, or `imag` or `abs`",
        "a chain of copies has no closed form",
        "a chain of copies is longer than …",
        "a command is missing: …",
        "a kernel loops over `range(...)` or `tdsl.grid(...)`",
        "a process that measures for a tuning job cannot tune",
        (
            "cannot create the folder …: …; set TDSL_CACHE to a folder that can be "
            "written"
        ),
        "cannot lock …: …",
        "cannot lock …: …; set TDSL_CACHE to a folder on another file system",
        "cannot read …, which is therefore not rewritten: …",
        "cannot write to the folder …; set TDSL_CACHE to another one",
        "cannot write to …: …; make room, or set TMPDIR to another folder",
        "cannot write …: …",
        "cannot … the ledger …: …; choose another with --ledger PATH",
        "complex numbers have no order: compare `abs(x)`, or `real(x)`",
        (
            'compute_at: "…" is also written outside loop "…" (by …), where … '
            'must come first; choose a loop around both, or use tail="guard"'
        ),
        (
            'compute_at: "…" is computed from its own elements, so a part of it '
            "cannot be computed alone"
        ),
        (
            'compute_at: "…" is written in the nest of loop "…" itself; name the '
            "label of its initialisation, or fission first"
        ),
        (
            'compute_at: loop "…" has several starts, so its first iteration, '
            "where … would run, has no simple guard"
        ),
        (
            'compute_at: loop "…" of "…" is … and would lose its constant '
            "extent; compute_at before that step"
        ),
        (
            'compute_at: the subscript "…" that writes "…" is not one axis of '
            "step one; move it before it is split"
        ),
        (
            "compute_at: the subscripts (…) of … are not different axes; move it "
            "before it is split"
        ),
        (
            "compute_at: … is not alone in its nest, or is guarded; fission it into "
            "a nest of its own first"
        ),
        "compute_at: … stands in … places; move it before it is copied",
        (
            "data chooses elements of …, which is in registers; stage it with "
            'memory="array"'
        ),
        "draw_case: …",
        "ended with exit code … while its code ran",
        'expand: loop "…" is inside a vectorized loop; expand before vectorize',
        (
            "expand: … has no start and extent of its own for a dimension of the "
            'buffer; split "…" first'
        ),
        "gathers from …, whose dimension … has another size than that of …",
        'inline: "…" is computed from its own old value; use compute_at',
        (
            'inline: the value of "…" reads "…", which is declared further in; '
            "inline that first"
        ),
        "its iteration … cannot be solved for",
        "killed by … while its code ran",
        "no code",
        "no proof",
        (
            "no such file: …; the schedule is a .json or .py file, such as `tdsl "
            "show` prints"
        ),
        "no worker process can start: …",
        "not a Python file: …; kernels are read from FILE.py",
        "refused",
        "refuted by the proof",
        (
            "rfactor: dimension … of the partial results has no known extent inside "
            'loop "…"; reorder its loops outside first'
        ),
        ('rfactor: loop "…" has no known extent; split it and rfactor the inner loop'),
        (
            'rfactor: the loops over "…" inside loop "…" depend on it; reorder '
            "them outside first"
        ),
        "several statements write what the kernel reads there",
        "the CPU backend has no function …; it has …",
        "the CPU backend has no … on …",
        "the annotation cannot be evaluated: …",
        "the arrays of … for … do not fit in memory: …",
        (
            "the code of … is nested too deep for Python (…): split fewer loops, or "
            "give parts of long expressions to variables"
        ),
        "the default schedule has no proof: …",
        (
            "the lanes of a vectorized loop all write one element of …; use rfactor, "
            "or vectorize another loop"
        ),
        "the original has two statements …",
        (
            "the range of loop … differs between the lanes of the vectorized loop "
            "around it; vectorize another loop, or reorder"
        ),
        "the text of … is no longer what was imported: start Python again",
        "the vectorized loop … stands inside another one",
        ("the … loop … has …: its range is (…) to (…); split it by a constant first"),
        "this process compiles for its own CPU, not for …; start Python with …",
        "tune: …",
        "…\n  in …: …",
        "… accesses an element outside its tensor at …",
        "… cannot be run: …: …",
        (
            "… ended the program while it was loaded (SystemExit …); put its main "
            'part under `if __name__ == "__main__":`'
        ),
        "… is a …: …",
        (
            "… is accessed outside its shape: a subscript takes values from … to … "
            "where 0 to … exist"
        ),
        "… is not declared around its uses",
        (
            "… is not well-formed: …; a schedule made of primitives is, so write "
            "what this step did as primitives"
        ),
        "… is used outside its loop",
        (
            "… makes no schedule: its last line, or its variable `schedule`, is …; "
            "write ….schedule().split(...)"
        ),
        "… refused",
        "… … is a …: pass a NumPy array to write into",
        "…, and …",
        (
            "…: all examples had a subscript out of range: …; state what holds with "
            "tdsl.assume, or pass prepare=, which may change the random arguments"
        ),
        (
            "…: an example takes … even at the smallest sizes: make large extents "
            "dims (tdsl.dim), so that small examples exist, or compare chosen sizes "
            "with tdsl.testing.run_case"
        ),
        (
            "…: no sizes with a product of at most … were found that satisfy the "
            "dims' assumptions and give no negative extent; weaken the assumptions, "
            "or compare chosen sizes with run_case"
        ),
        (
            '…: the part of dimension … of "…" that the body touches has no known '
            "extent: its subscripts there are …; split the loops below, or stage at "
            "another loop"
        ),
        "…: the result … is … of dtype …: pass an array of numbers",
        "…: …",
        (
            "…: … has no start and extent of its own for a dimension of the buffer; "
            'split "…" first'
        ),
        "…: … … would have shape …: a dim may not exceed 2**31 - 1",
        "…: …=…; … is …",
    ]
)
