"""Schedules that must be accepted, print as recorded, and compute the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tdsl.schedules.schedule import Schedule

Chain = Callable[[Schedule], Schedule]


@dataclass(frozen=True)
class Case:
    """A kernel and the steps applied to it."""

    name: str
    kernel: str
    chain: Chain

    def __str__(self) -> str:
        return self.name


def register_tile(s: Schedule) -> Schedule:
    """Split matmul for packing, with a small register tile."""
    return (
        s.split("i", 12)
        .split("i_i", 4, names=("i_t", "i_i"))
        .split("j", 8, names=("j_t", "j_i"))
        .split("k", 5)
        .reorder("k_o", "i_o", "j_t", "i_t", "k_i", "i_i", "j_i")
        .unroll("i_i")
        .vectorize("j_i")
    )


def packed(s: Schedule) -> Schedule:
    """Pack both operands and accumulate in registers."""
    return (
        register_tile(s)
        .cache_write("C", "i_t")
        .compute_at("S0", "i_t")
        .cache_read("B", "k_o", layout=("j_t", "k_i", "j_i"))
        .cache_read("A", "i_o", layout=("i_t", "k_i", "i_i"))
        .parallelize("i_o")
        .parallelize("j_t_B_pack")
        .vectorize("j_i_B_pack")
        .unroll("i_i_A_pack")
    )


def merged_jacobi(s: Schedule) -> Schedule:
    """Merge the two sweeps of a time step, the second one behind the first."""
    return s.shift("j", 1).merge("i", "j").skew("t", "i", 2)


def triangle_tile(s: Schedule) -> Schedule:
    """Make register tiles of a nest in which bounds depend on one another."""
    return (
        s.split("i", 6)
        .split("i_i", 3, names=("i_t", "i_i"))
        .reorder("i_o", "i_t", "j", "k", "i_i")
        .split("j", 8, names=("j_t", "j_i"))
        .reorder("i_o", "i_t", "j_t", "k", "i_i", "j_i")
        .vectorize("j_i")
        .unroll("i_i")
    )


CASES = (
    Case("split_guard", "scale", lambda s: s.split("i", 32)),
    Case("split_names", "scale", lambda s: s.split("i", 4, names=("a", "b"))),
    Case("split_cut", "scale", lambda s: s.split("i", 4, tail="cut")),
    Case("split_cut_interior", "interior", lambda s: s.split("i", 4, tail="cut")),
    Case("split_fixed", "scale_fixed", lambda s: s.split("i", 32)),
    Case("split_perfect", "scale_multiple", lambda s: s.split("i", 8, tail="perfect")),
    Case(
        "split_twice",
        "scale",
        lambda s: s.split("i", 12).split("i_i", 4).split("i_o", 2),
    ),
    Case("split_after_cut", "matmul", lambda s: s.split("j", 4, tail="cut")),
    Case("tile", "matmul", lambda s: s.tile(("i", "j"), (4, 8))),
    Case(
        "tile_names",
        "matmul",
        lambda s: s.tile(("i", "j"), (4, 8), names=("i", "j", "y", "x")),
    ),
    Case("reorder", "matmul", lambda s: s.reorder("k", "i")),
    Case("reorder_triangle", "triangle", lambda s: s.reorder("j", "i")),
    Case(
        "reorder_triangle_back",
        "triangle",
        lambda s: s.reorder("j", "i").reorder("i", "j"),
    ),
    Case("fuse", "matmul", lambda s: s.fuse("i", "j").parallelize("i")),
    Case("fission", "two", lambda s: s.fission("i", after="S0")),
    Case("fission_position", "two", lambda s: s.fission("i", after=1)),
    Case("expand", "inner_product", lambda s: s.expand("s", "j")),
    Case(
        "expand_tile",
        "inner_product",
        lambda s: (
            s.split("j", 8)
            .expand("s", "j_i")
            .fission("j_i", after="S0")
            .fission("j_i_2", after="S1")
            .reorder("k", "j_i_2")
            .vectorize("j_i_2")
        ),
    ),
    Case(
        "expand_scratch",
        "scratch",
        lambda s: s.expand("T", "i").fission("i", after="S0").parallelize("i_2"),
    ),
    Case(
        "expand_lanes",
        "scratch",
        lambda s: s.split("i", 8).expand("T", "i_i", at=1).vectorize("i_i"),
    ),
    Case(
        "rearrange",
        "fields",
        lambda s: s.rearrange("t", 1, 0, 2),
    ),
    Case(
        "triangle_lower",
        "syrk",
        lambda s: (
            triangle_tile(s)
            .cache_write("C", "j_t")
            .parallelize("i_o")
            .cache_read("A", None, layout=("j_t", "k", "j_i"))
            .vectorize("j_i_A_pack")
        ),
    ),
    Case(
        "triangle_upper",
        "upper",
        lambda s: triangle_tile(s).compute_at("S0", "j_t").cache_write("C", "j_t"),
    ),
    Case(
        "triangle_in_place",
        "trmm",
        lambda s: (
            triangle_tile(s)
            .cache_write("B", "j_t")
            .cache_read("B", "i_o", layout=("j_t", "k", "j_i"))
        ),
    ),
    Case(
        "kinds",
        "matmul",
        lambda s: (
            s.split("j", 8)
            .split("i", 4)
            .unroll("i_i")
            .vectorize("j_i")
            .parallelize("i_o")
        ),
    ),
    Case(
        "cache_read_box",
        "conv2d",
        lambda s: s.tile(("y", "x"), (4, 8)).cache_read("X", "x_o"),
    ),
    Case(
        "cache_read_tiles_of_blocks",
        "matmul",
        lambda s: register_tile(s).cache_read("A", "k_o", layout=("i_t", "k_i", "i_i")),
    ),
    Case(
        "cache_read_blocks",
        "matmul",
        lambda s: register_tile(s).cache_read(
            "A", "k_o", layout=("i_o", "i_t", "k_i", "i_i")
        ),
    ),
    Case(
        "cache_read_whole",
        "matmul",
        lambda s: s.split("j", 8).cache_read("B", None, layout=("j_o", "k", "j_i")),
    ),
    Case(
        "cache_read_windows",
        "conv2d",
        lambda s: (
            s.split("x", 8)
            .reorder("y", "x_o", "r", "s", "x_i")
            .cache_read("X", "x_o", layout=("r", "s", "x_i"), name="columns")
        ),
    ),
    Case(
        "cache_read_stencil",
        "interior",
        lambda s: s.split("i", 8).cache_read("X", "i_o"),
    ),
    Case("cache_write", "matmul", lambda s: register_tile(s).cache_write("C", "i_t")),
    Case(
        "cache_write_array",
        "matmul",
        lambda s: register_tile(s).cache_write(
            "C", "j_t", memory="array", layout=("j_i", "i_t", "i_i")
        ),
    ),
    Case(
        "cache_write_scalar",
        "matmul",
        lambda s: s.compute_at("S0", "j").cache_write("C", "j"),
    ),
    Case(
        "cache_write_box",
        "time",
        lambda s: s.split("i", 6).cache_write("X", "i_o", memory="array"),
    ),
    Case("compute_at", "matmul", lambda s: register_tile(s).compute_at("S0", "i_t")),
    Case(
        "compute_at_outer", "matmul", lambda s: register_tile(s).compute_at("S0", "i_o")
    ),
    Case(
        "compute_at_then_cache_write",
        "matmul",
        lambda s: register_tile(s).compute_at("S0", "i_t").cache_write("C", "i_t"),
    ),
    Case(
        "one_reduction_block",
        "matmul",
        lambda s: (
            s.tile(("i", "j"), (4, 8))
            .reorder("i_o", "j_o", "k", "i_i", "j_i")
            .compute_at("S0", "j_o")
            .cache_write("C", "j_o")
        ),
    ),
    Case(
        "compute_at_local",
        "blur",
        lambda s: s.tile(("y", "x"), (4, 8)).compute_at("T", "x_o"),
    ),
    Case("compute_at_rows", "blur", lambda s: s.compute_at("T", "y")),
    Case(
        "compute_at_split_producer",
        "chain",
        lambda s: s.split("a", 4).split("b", 4).compute_at("T", "i"),
    ),
    Case("compute_at_scalar", "softmax", lambda s: s.compute_at("m", "j2")),
    Case("inline", "chain", lambda s: s.inline("T")),
    Case("inline_scalar", "softmax", lambda s: s.inline("e")),
    Case("inline_stencil", "blur", lambda s: s.inline("T")),
    Case(
        "rfactor", "row_sums", lambda s: s.split("j", 8).rfactor("j_i").vectorize("j_i")
    ),
    Case(
        "rfactor_init_inside",
        "row_sums",
        lambda s: s.compute_at("S0", "i").split("j", 8).rfactor("j_i").vectorize("j_i"),
    ),
    Case(
        "rfactor_scalar",
        "softmax",
        lambda s: s.split("j", 4).rfactor("j_i").vectorize("j_i"),
    ),
    Case(
        "rfactor_own_elements",
        "into_head",
        lambda s: s.split("j", 4).rfactor("j_i").vectorize("j_i"),
    ),
    Case(
        "rfactor_parallel",
        "row_sums",
        lambda s: (
            s.split("j", 8)
            .reorder("j_o", "i", "j_i")
            .rfactor("j_o", name="P")
            .parallelize("j_o")
        ),
    ),
    Case("packed_matmul", "matmul", packed),
    Case(
        "tiled_conv2d",
        "conv2d",
        lambda s: (
            s.tile(("y", "x"), (2, 8))
            .reorder("y_o", "x_o", "r", "s", "y_i", "x_i")
            .unroll("y_i")
            .vectorize("x_i")
            .compute_at("S0", "x_o")
            .cache_write("Y", "x_o")
            .parallelize("y_o")
        ),
    ),
    Case(
        "packed_batched",
        "batched",
        lambda s: (
            s.split("i", 4, names=("i_t", "i_i"))
            .split("j", 8, names=("j_t", "j_i"))
            .reorder("z", "j_t", "i_t", "k", "i_i", "j_i")
            .unroll("i_i")
            .vectorize("j_i")
            .compute_at("S0", "i_t")
            .cache_write("C", "i_t")
            .cache_read("B", "z", layout=("j_t", "k", "j_i"))
            .parallelize("z")
        ),
    ),
    Case(
        "packed_channels",
        "channels",
        lambda s: (
            s.split("o", 2, names=("o_t", "o_i"))
            .split("x", 4, names=("x_t", "x_i"))
            .reorder("y", "x_t", "o_t", "c", "r", "s", "o_i", "x_i")
            .unroll("o_i")
            .vectorize("x_i")
            .compute_at("S0", "o_t")
            .cache_write("Y", "o_t")
            .cache_read("F", None, layout=("o_t", "c", "r", "s", "o_i"))
            .cache_read("X", "x_t", layout=("c", "r", "s", "x_i"))
            .parallelize("y")
        ),
    ),
    Case(
        "layer_tiles",
        "layer",
        lambda s: (
            s.tile(("i2", "j2"), (4, 8)).compute_at("C", "j2_o").reorder("k", "i", "j")
        ),
    ),
    Case(
        "compute_at_output",
        "two",
        lambda s: s.fission("i", after="S0").split("i_2", 4).compute_at("S0", "i_2_o"),
    ),
    Case(
        "compute_at_box",
        "batched",
        lambda s: s.split("j", 5, tail="cut").compute_at("S0", "z"),
    ),
    Case(
        "rfactor_twice",
        "conv2d",
        lambda s: s.reorder("r", "y").split("s", 2).rfactor("s_i").rfactor("r"),
    ),
    Case(
        "cache_write_rows",
        "softmax",
        lambda s: (
            s.split("i", 3).split("j3", 2).cache_write("Y", "i_i", memory="array")
        ),
    ),
    Case(
        "compute_at_leftover",
        "row_sums",
        lambda s: s.split("j", 8).reorder("j_o", "i", "j_i").compute_at("S0", "i"),
    ),
    Case("reorder_tiles", "scale", lambda s: s.split("i", 4).reorder("i_i", "i_o")),
    Case("split_origin", "interior", lambda s: s.split("i", 4, origin=0)),
    Case("split_origin_other", "interior", lambda s: s.split("i", 4, origin=3)),
    Case("skew", "time", lambda s: s.skew("t", "i", 1)),
    Case("skew_back", "time", lambda s: s.skew("t", "i", -2)),
    Case("skew_exchange", "time", lambda s: s.skew("t", "i", 2).reorder("i", "t")),
    Case(
        "skew_exchange_threads",
        "plane",
        lambda s: (
            s.skew("i", "j", 1)
            .reorder("j", "i")
            .split("i", 4, origin=0)
            .parallelize("i_o")
        ),
    ),
    Case("shift", "scale", lambda s: s.shift("i", "2*M - 1")),
    Case("shift_tiles", "scale", lambda s: s.split("i", 4).shift("i_i", "3 - i_o")),
    Case(
        "merge",
        "chain",
        lambda s: s.merge("a", "i").merge("b", "j"),
    ),
    Case(
        "merge_tiles",
        "two",
        lambda s: (
            s.fission("i", after=1).split("i", 4).split("i_2", 4).merge("i_o", "i_2_o")
        ),
    ),
    Case("merge_jacobi", "jacobi", merged_jacobi),
    Case(
        "merge_fields",
        "fields",
        lambda s: (
            s.enclose("j0", "i")
            .merge("i", "i1")
            .shift("i2", 1)
            .merge("i", "i2")
            .merge("j0", "j1")
            .merge("j0", "j2")
            .skew("t", "i", 1)
            .tile(("t", "i"), (2, 3), origin=0)
        ),
    ),
    Case("enclose_statement", "two", lambda s: s.enclose("S1", "one", at="i - 1")),
    Case("cut", "interior", lambda s: s.cut("i", "M - 3")),
    Case("cut_guards", "jacobi", lambda s: merged_jacobi(s).cut("i", "N + 2*t - 1")),
    Case("cut_nest", "triangle", lambda s: s.cut("i", 4).cut("j_2", "i_2 - 1")),
    Case("cut_tiles", "scale", lambda s: s.split("i", 4).cut("i_o", 8)),
    Case(
        "tighten",
        "jacobi",
        lambda s: (
            merged_jacobi(s)
            .tile(("t", "i"), (2, 4), origin=0)
            .fission("i_i", after="S0")
            .tighten("i_i")
            .tighten("i_i_2")
        ),
    ),
    Case(
        "skew_tiles_back",
        "chain",
        lambda s: (
            s.skew("a", "b", 2)
            .tile(("a", "b"), (2, 4), origin=0)
            .skew("a_o", "b_o", -2)
            .reorder("b_o", "a_o")
        ),
    ),
    Case("tighten_guarded", "guarded", lambda s: s.tighten("j").tighten("i")),
    Case("tighten_tiles", "guarded", lambda s: s.split("j", 3).tighten("j_i")),
    Case(
        "time_tiles",
        "jacobi",
        lambda s: merged_jacobi(s).tile(("t", "i"), (2, 4), origin=0),
    ),
    Case(
        "wavefront",
        "jacobi",
        lambda s: (
            merged_jacobi(s)
            .tile(("t", "i"), (2, 4), origin=0)
            .skew("t_o", "i_o", 2)
            .reorder("i_o", "t_o")
            .parallelize("t_o")
        ),
    ),
    Case(
        "plane_tiles",
        "plane",
        lambda s: (
            s.skew("t", "i", 1)
            .skew("i", "j", 1)
            .tile(("t", "i", "j"), (2, 3, 4), origin=0)
            .split("j_i", 2)
        ),
    ),
)
