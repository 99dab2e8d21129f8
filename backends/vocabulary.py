"""The operations that generated code calls, by name, without importing Numba."""

from __future__ import annotations

_SIMD = """
    add sub mul div neg floordiv mod fma minimum maximum select
    lt le gt ge eq ne logical_and logical_or logical_not
    convert splat iota first_lanes mask_where extract insert any_lane
    reduce_add reduce_mul reduce_min reduce_max vector
"""
_MEMORY = """
    address keep load load_splat load_masked store store_masked
"""
_SCATTERED = """
    load_strided load_strided_masked store_strided store_strided_masked
    load_reversed load_reversed_masked
    gather gather_masked scatter scatter_masked store_pairs store_quads
"""
_CHECKS = "within load_if report_fault"
_RESERVE = "bytes_of reserve is_missing require new_word raise_reported"
_MATH = """
    exp exp2 expm1 log log2 log1p sqrt rsqrt sin cos tanh erf sigmoid floor ceil
"""

FUNCTIONS = {"abs": "absolute", **{name: name for name in _MATH.split()}}
"""The operation in `vector_math` of each function of the kernel language."""

OFFERED = {
    "dealing": frozenset({"dealing_step"}),
    "reserve": frozenset(_RESERVE.split()),
    "simd": frozenset(_SIMD.split()),
    "simd_memory": frozenset(_MEMORY.split()),
    "simd_scattered": frozenset(_SCATTERED.split()),
    "simd_checks": frozenset(_CHECKS.split()),
    "vector_math": frozenset({*FUNCTIONS.values(), "power", "power_half"}),
}
"""What each module beside this one offers to generated code."""

OPERATIONS = frozenset[str]().union(*OFFERED.values())
