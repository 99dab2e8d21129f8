"""The loops of `examples/polybench` as one writes them for Numba.

A function has the name of the kernel's module and takes the kernel's arguments by
name, then its results as arrays to fill, then dims that no array has. It is compiled
twice with fastmath, serial and parallel; `prange` stands at the outermost loop that may
run in parallel. Where that takes other statements there is a second function, NAME and
`_parallel`. Functions without `prange` have no parallel variant: their loops have none.
"""
