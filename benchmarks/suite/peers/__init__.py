"""What the suite's kernels compute, stated for other libraries.

Nothing of tdsl is loaded here. A function called like a kernel states its mathematics
with an array module, so one text serves NumPy (also in double precision, as the exact
result) and JAX:

    softmax(np, x)              the statement
    numpy_softmax(np, x)        what a NumPy user writes, where that differs; without
                                `softmax`, it is the exact statement too
    jax_softmax(np, x)          the same for jax.numpy
    torch_softmax(torch, x)     with tensors; torch.compile takes it too
    numexpr_softmax             the expression, as text, with the kernel's parameters
    numba_softmax(numba)        returns compiled loops

`prepare_torch_softmax(torch, x)` puts arguments into the layout that the library likes
best, and `finish_torch_softmax(torch, y)` brings the result back: neither is timed.
`torch_nchw_conv3x3` is a second way for torch, a contender `torch-nchw`.

Arguments are the kernel's, numbers and free dims last. Functions that change their
arguments return the first one.
"""
