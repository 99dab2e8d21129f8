"""Every refusal of a primitive, with its full message."""

from __future__ import annotations

import pytest

from tdsl.analysis.validate import validate
from tdsl.errors import ScheduleError
from tdsl.schedules.schedule import Schedule

from .cases import Chain, register_tile
from .kernels import kernel

REFUSALS: tuple[tuple[str, str, Chain, str], ...] = (
    (
        "split_origin_cut",
        "two",
        lambda s: s.split("i", 4, origin=0, tail="cut"),
        "split: tail='cut' with an origin; the first and the last of such tiles may be "
        'cut short, which is tail="guard"',
    ),
    (
        "split_origin_step",
        "two",
        lambda s: s.split("i", 4).split("i_o", 2, origin=0),
        'split: loop "i_o" has step 4, so its tiles start where it does; give no '
        "origin, or split a loop of step 1",
    ),
    (
        "skew_apart",
        "jacobi",
        lambda s: s.skew("i", "j", 1),
        'skew: loop "j" is not inside loop "i"; the loops around it are "t"',
    ),
    (
        "skew_alone",
        "two",
        lambda s: s.skew("i", "i", 1),
        'skew: loop "i" is not inside loop "i"; the loops around it are none',
    ),
    (
        "skew_by_nothing",
        "jacobi",
        lambda s: s.skew("t", "j", 0),
        "skew: factor=0 changes nothing; give another integer",
    ),
    (
        "skew_lanes",
        "matmul",
        lambda s: s.split("j", 4).vectorize("j_i").skew("j_i", "k", 1),
        'skew: loop "j_i" is vectorized, so loops inside cannot depend on it; skew '
        "before vectorize",
    ),
    (
        "skew_fused",
        "matmul",
        lambda s: s.fuse("i", "j").skew("i", "j", 1),
        'skew: loop "j" is fused with the loop around it, and its bounds must not '
        "vary; skew before fuse",
    ),
    (
        "shift_product",
        "scale",
        lambda s: s.shift("i", "M*M"),
        'shift: offset="M*M" is no affine form; write sums of names and integers, '
        'with products and floor divisions by integers, as in "N - 2" or "8*(N//8)"',
    ),
    (
        "shift_unknown",
        "matmul",
        lambda s: s.shift("j", "k + i"),
        'shift: offset="k + i" uses "k"; it may use the dims and the axes around the '
        'loop: "i", "M", "N", "K"',
    ),
    (
        "merge_unlike",
        "apart",
        lambda s: s.merge("i", "j"),
        "merge: which stop of for i in range(M) and for j in range(N) is the greatest "
        "is not known; shift or cut one of them first",
    ),
    (
        "merge_backwards",
        "jacobi",
        lambda s: s.merge("j", "i"),
        'merge: loop "i" does not follow loop "j" in the same body; merge, or fission, '
        "the loops around them first",
    ),
    (
        "merge_over_others",
        "apart",
        lambda s: s.merge("i", "k"),
        'merge: other statements stand between loop "i" and loop "k"; merge neighbours '
        "one after the other",
    ),
    (
        "merge_over_a_reader",
        "layer",
        lambda s: s.merge("i0", "i2"),
        'merge: other statements stand between loop "i0" and loop "i2": the kernel has '
        'a flow dependence on "C"; merge neighbours one after the other\n'
        "with M=1, N=1, K=1:\n"
        "  C[i0, j0] = 0.0  at i0=0, j0=0 writes C[0, 0]\n"
        "  C[i, j] += (A[i, k] * B[k, j])  at i=0, j=0, k=0 updates it",
    ),
    (
        "merge_steps",
        "apart",
        lambda s: s.split("j", 4, names=("a", "b")).merge("a", "k"),
        "merge: for a in range(0, N, 4) and for k in range(2, M, 2) take different "
        "steps; merge before the splits",
    ),
    (
        "merge_kinds",
        "jacobi",
        lambda s: s.parallelize("j").merge("i", "j"),
        'merge: loop "j" is already parallel; apply merge before that step',
    ),
    (
        "merge_fused",
        "chain",
        lambda s: s.fuse("a", "b").merge("a", "i"),
        'merge: loop "a" shares its counter with "b"; merge before fuse',
    ),
    (
        "enclose_unknown",
        "two",
        lambda s: s.enclose("S2", "one"),
        'enclose: no axis or statement "S2" in two; there are "i", "S0", "S1"',
    ),
    (
        "enclose_taken",
        "two",
        lambda s: s.enclose("S1", "i"),
        'enclose: the name "i" is taken; choose another',
    ),
    (
        "enclose_fused",
        "matmul",
        lambda s: s.fuse("i", "j").enclose("j", "one"),
        'enclose: loop "j" is fused with the loop around it; enclose before fuse',
    ),
    (
        "enclose_lanes",
        "two",
        lambda s: s.split("i", 4).vectorize("i_i").enclose("S0", "one"),
        'enclose: S0 is inside the vectorized loop "i_i"; enclose before vectorize',
    ),
    (
        "cut_vectors",
        "two",
        lambda s: s.split("i", 4).vectorize("i_i").cut("i_i", 8),
        'cut: loop "i_i" is already vectorized; cut before that step',
    ),
    (
        "cut_fused",
        "matmul",
        lambda s: s.fuse("i", "j").cut("i", 3),
        'cut: loop "i" shares a counter with another loop; cut before fuse',
    ),
    (
        "cut_between_steps",
        "two",
        lambda s: s.split("i", 4).cut("i_o", 6),
        "cut: 6 is not shown to be a value of for i_o in range(0, M, 4), which takes "
        "steps of 4; cut at the start plus a multiple of the step",
    ),
    (
        "tighten_no_guard",
        "two",
        lambda s: s.tighten("i"),
        'tighten: the body of loop "i" is not one guard; fission it, so that each loop '
        "has one",
    ),
    (
        "split_unknown_axis",
        "two",
        lambda s: s.split("q", 4),
        'split: no axis "q" in two; the axes are "i"',
    ),
    (
        "compute_at_sometimes_empty",
        "inner_sums",
        lambda s: s.compute_at("S0", "k"),
        'compute_at: whether loop "k" is empty depends on i, so where the statement '
        "must stay behind has no guard; choose a loop further out",
    ),
    (
        "split_factor",
        "two",
        lambda s: s.split("i", 0),
        'split: factor=0 for axis "i"; the factor is an integer >= 1',
    ),
    (
        "split_tail",
        "two",
        lambda s: s.split("i", 4, tail="round"),
        'split: tail=\'round\'; allowed are "guard", "cut", "perfect"',
    ),
    (
        "split_name_taken",
        "matmul",
        lambda s: s.split("i", 4, names=("i_o", "k")),
        'split: the name "k" is taken; pass names=(outer, inner)',
    ),
    (
        "split_name_no_identifier",
        "matmul",
        lambda s: s.split("i", 4, names=("i o", "x")),
        'split: the name "i o" is no identifier; pass names=(outer, inner)',
    ),
    (
        "split_one_name",
        "matmul",
        lambda s: s.split("i", 4, names=("i_o",)),  # type: ignore[arg-type]
        "split: names=('i_o',); give two names, of the outer and the inner loop",
    ),
    (
        "split_perfect",
        "scale",
        lambda s: s.split("i", 8, tail="perfect"),
        "split: 8 does not provably divide the extent of for i in range(M); "
        'use tail="guard" or tail="cut", or declare tdsl.dim("M", '
        "multiple=8)",
    ),
    (
        "expand_parameter",
        "inner_product",
        lambda s: s.expand("A", "j"),
        'expand: "A" is no local tensor; the local tensors are "s"',
    ),
    (
        "expand_used_elsewhere",
        "scratch",
        lambda s: s.expand("T", "j"),
        'expand: "T" is used outside of loop "j" too, so its iterations cannot have '
        'copies of their own: an iteration of loop "i" has a flow dependence on "T"; '
        "choose a loop around all uses\nwith M=1, N=1:\n"
        "  T[j] = (X[i, j] * 2.0)  at i=0, j=0 writes T[0]\n"
        "  Y[i, k] = T[k]  at i=0, k=0 reads it",
    ),
    (
        "expand_further_out",
        "inner_product",
        lambda s: s.expand("s", "i"),
        'expand: "s" is declared further in than the body of loop "i"; expand it over '
        "the loops further in first",
    ),
    (
        "expand_registers",
        "inner_product",
        lambda s: s.expand("s", "j", memory="register"),
        "expand: registers need constant extents, and the copies have none; split the "
        'loop, or use memory="array"',
    ),
    (
        "expand_place",
        "scratch",
        lambda s: s.expand("T", "i", at=2),
        'expand: at=2; the new dimension of "T" can be at 0 to 1',
    ),
    (
        "rearrange_order",
        "two",
        lambda s: s.rearrange("i", 0, 0),
        'rearrange: order=(0, 0); loop "i" has the statements 0, 1, and each of these '
        "numbers is given once",
    ),
    (
        "split_perfect_constant",
        "scale_fixed",
        lambda s: s.split("i", 7, tail="perfect"),
        "split: 7 does not provably divide the extent of for i in range(96); "
        'use tail="guard" or tail="cut"',
    ),
    (
        "split_cut_twice",
        "scale",
        lambda s: s.split("i", 8).split("i_i", 3, tail="cut"),
        "split: for i_i in range(i_o, min(i_o + 8, M)) has several bounds, "
        'so its full tiles cannot be cut off; use tail="guard"',
    ),
    (
        "split_unrolled",
        "scale",
        lambda s: s.split("i", 8).unroll("i_i").split("i_i", 2),
        'split: loop "i_i" is already unrolled; split before that step',
    ),
    (
        "split_fused",
        "matmul",
        lambda s: s.fuse("i", "j").split("i", 2),
        'split: loop "i" is fused with "j"; split before fuse',
    ),
    (
        "split_cut_fused",
        "matmul",
        lambda s: s.fuse("i", "j").split("j", 2, tail="cut"),
        'split: loop "j" is fused with the loop around it, which leaves no '
        'place for a remainder; use tail="guard", or split before fuse',
    ),
    (
        "tile_counts",
        "matmul",
        lambda s: s.tile(("i", "j"), (4,)),
        "tile: 2 axes but 1 factors; give one for each",
    ),
    (
        "tile_default_name_taken",
        "matmul",
        lambda s: s.split("k", 4, names=("i_o", "x")).tile(("i", "j"), (4, 4)),
        'tile: the name "i_o" is taken; pass names=(...), 2 for the tile loops and 2 '
        "for the inner loops",
    ),
    (
        "tile_name_twice",
        "matmul",
        lambda s: s.tile(("i", "j"), (4, 4), names=("a", "b", "a", "c")),
        'tile: the name "a" is taken; pass names=(...), 2 for the tile loops and 2 '
        "for the inner loops",
    ),
    (
        "tile_two_names",
        "matmul",
        lambda s: s.tile(("i", "j"), (4, 4), names=("a", "b")),
        "tile: names=('a', 'b'); give 4 names, 2 for the tile loops and 2 for the "
        'inner loops, in place of "i_o", "j_o", "i_i", "j_i"',
    ),
    (
        "tile_cut",
        "matmul",
        lambda s: s.tile(("i", "j"), (4, 4), tail="cut"),
        'tile: tail="cut" leaves a remainder loop between the tiles, so they '
        'cannot be nested; use tail="guard", or split and fission step by '
        "step",
    ),
    (
        "reorder_twice",
        "matmul",
        lambda s: s.reorder("i", "i"),
        'reorder: an axis is named twice in "i", "i"; name each once',
    ),
    (
        "reorder_apart",
        "matmul",
        lambda s: s.reorder("i", "i0"),
        'reorder: loop "i0" is not perfectly nested in loop "k", which has '
        "other statements in its body or does not contain it; fission first",
    ),
    (
        "reorder_imperfect",
        "softmax",
        lambda s: s.reorder("j", "i"),
        'reorder: loop "j" is not perfectly nested in loop "i", which has '
        "other statements in its body or does not contain it; fission first",
    ),
    (
        "reorder_moving_tiles",
        "time",
        lambda s: s.skew("t", "i", 1).split("i", 4).reorder("i_o", "t"),
        'reorder: loop "i_o" cannot be around loop "t": in for i_o in range(t + 1, '
        'N + t - 1, 4) its tiles of 4 start elsewhere for each "t"; keep "t" outside, '
        "reorder before the split that made it, or split with origin=0, so that tiles "
        "start at multiples of 4",
    ),
    (
        "reorder_fused",
        "matmul",
        lambda s: s.fuse("i", "j").reorder("k", "j"),
        'reorder: loop "j" is fused with the loop around it; reorder before fuse',
    ),
    (
        "reorder_parent_of_fused",
        "matmul",
        lambda s: s.fuse("j", "k").reorder("j", "i"),
        'reorder: loop "k" is fused with "j"; reorder before fuse',
    ),
    (
        "fuse_apart",
        "matmul",
        lambda s: s.fuse("i", "k"),
        'fuse: loop "k" is not all of the body of loop "i"; reorder the '
        "loops or fission the rest away first",
    ),
    (
        "fuse_triangle",
        "triangle",
        lambda s: s.fuse("i", "j"),
        'fuse: for j in range(i + 1) depends on "i", so the two have no '
        "rectangular range; split or leave them nested",
    ),
    (
        "fuse_twice",
        "matmul",
        lambda s: s.fuse("i", "j").fuse("i", "j"),
        'fuse: loop "j" is already fused; only a serial loop can share the '
        "counter of another; apply fuse before that step",
    ),
    (
        "fuse_unrolled",
        "scale_fixed",
        lambda s: s.split("i", 4).reorder("i_o").unroll("i_i").fuse("i_o", "i_i"),
        'fuse: for i_i in range(i_o, i_o + 4) depends on "i_o", so the two '
        "have no rectangular range; split or leave them nested",
    ),
    (
        "fuse_reduction_of_parallel",
        "row_sums",
        lambda s: s.parallelize("i").fuse("i", "j"),
        'fuse: loop "j" carries a reduction into "S[i]"; rfactor("j") first, so that '
        "each iteration has a partial result\nwith M=1, N=2:\n"
        "  S[i] += A[i, j]  at i=0, j=0 updates S[0]\n"
        "  S[i] += A[i, j]  at i=0, j=1 updates it",
    ),
    (
        "fission_label",
        "two",
        lambda s: s.fission("i", after="S7"),
        'fission: no statement "S7" in loop "i"; the labels are "S0", "S1"',
    ),
    (
        "fission_empty_side",
        "two",
        lambda s: s.fission("i", after="S1"),
        'fission: a cut after 2 of the 2 statements of loop "i" leaves one side empty; '
        "after can be 1",
    ),
    (
        "fission_one_statement",
        "scale",
        lambda s: s.fission("i", after="S0"),
        'fission: a cut after 1 of the 1 statements of loop "i" leaves one side empty; '
        "one cannot be cut",
    ),
    (
        "fission_local",
        "softmax",
        lambda s: s.fission("i", after="S1"),
        'fission: local tensor "m" belongs to one iteration of "i" and is used on both '
        'sides of the cut: an iteration of loop "i" has a flow dependence on "m"; cut '
        'elsewhere, or expand("m", "i") first\nwith M=1, N=1:\n'
        "  m = X[i, 0]  at i=0 writes m\n"
        "  e = (X[i, j2] - m)  at i=0, j2=0 reads it",
    ),
    (
        "fission_fused",
        "matmul",
        lambda s: s.fuse("i", "j").fission("i", after=1),
        'fission: loop "i" shares a counter with another loop; fission before fuse',
    ),
    (
        "unroll_symbolic",
        "matmul",
        lambda s: s.unroll("k"),
        "unroll: the extent of for k in range(K) has no constant bound; "
        'split("k", factor) and unroll "k_i"',
    ),
    (
        "unroll_much",
        "matmul",
        lambda s: s.split("i", 10000).unroll("i_i"),
        'unroll: with 10000 iterations of loop "i_i" the program is 10001 statements, '
        "and more than 2048 would compile for minutes; split by a smaller factor, and "
        "unroll the inner loop",
    ),
    (
        "unroll_much_around",
        "matmul",
        lambda s: s.split("i", 70).split("j", 70).unroll("j_i").unroll("i_i"),
        'unroll: with 70 iterations of loop "i_i" the program is 4901 statements, and '
        "more than 2048 would compile for minutes; split by a smaller factor, and "
        "unroll the inner loop",
    ),
    (
        "vectorize_much",
        "matmul",
        lambda s: s.split("j", 100_000).vectorize("j_i"),
        'vectorize: with 100000 lanes of loop "j_i" the program is 6251 statements, '
        "and more than 2048 would compile for minutes; split by a smaller factor, and "
        "vectorize the inner loop",
    ),
    (
        "unroll_twice",
        "scale",
        lambda s: s.split("i", 4).unroll("i_i").unroll("i_i"),
        'unroll: loop "i_i" is already unrolled; apply unroll before that step',
    ),
    (
        "unroll_fused",
        "time",
        lambda s: s.fuse("t", "i").unroll("t"),
        'unroll: loop "t" shares its counter with "i"; unroll a loop inside '
        "them, or do not fuse",
    ),
    (
        "vectorize_symbolic",
        "matmul",
        lambda s: s.vectorize("j"),
        "vectorize: the extent of for j in range(N) has no constant bound; "
        'split("j", factor) and vectorize "j_i"',
    ),
    (
        "vectorize_step",
        "scale",
        lambda s: s.split("i", 8).split("i_i", 2).vectorize("i_i_o"),
        'vectorize: loop "i_i_o" has step 2, and lanes are neighbours; '
        "vectorize the inner loop of a split",
    ),
    (
        "vectorize_reduction",
        "row_sums",
        lambda s: s.split("j", 8).vectorize("j_i"),
        'vectorize: loop "j_i" carries a reduction into "S[i]"; rfactor("j_i") first, '
        "so that each iteration has a partial result\nwith M=1, N=2:\n"
        "  S[i] += A[i, j_i]  at i=0, j_o=0, j_i=0 updates S[0]\n"
        "  S[i] += A[i, j_i]  at i=0, j_o=0, j_i=1 updates it",
    ),
    (
        "vectorize_lengths",
        "triangle",
        lambda s: s.split("i", 4).vectorize("i_i"),
        'vectorize: for j in range(i_i + 1) depends on "i_i", so the lanes '
        'would differ in length; vectorize "j", or reorder',
    ),
    (
        "vectorize_around_vectors",
        "matmul",
        lambda s: s.split("i", 4).split("j", 4).vectorize("j_i").vectorize("i_i"),
        'vectorize: loop "i_i" contains the vectorized loop "j_i"; vectorize '
        "one loop on each path, inside the parallel one",
    ),
    (
        "vectorize_inside_vectors",
        "matmul",
        lambda s: s.split("i", 4).split("j", 4).vectorize("i_i").vectorize("j_i"),
        'vectorize: loop "j_i" is inside the vectorized loop "i_i"; '
        "vectorize one loop on each path",
    ),
    (
        "vectorize_array",
        "matmul",
        lambda s: s.split("i", 4).cache_read("A", "i_i").vectorize("i_i"),
        'vectorize: loop "i_i" declares the array "A_tile" for each lane; '
        "only registers can be declared there: inline it, or stage it "
        "outside the loop",
    ),
    (
        "vectorize_same_element",
        "time",
        lambda s: s.vectorize("t"),
        'vectorize: loop "t" carries an output dependence on "X[i]"; choose a loop '
        'that occurs in its subscripts, or make "X" local to the loop\nwith N=3:\n'
        "  X[i] = (X[i - 1] + X[i + 1])  at t=0, i=1 writes X[1]\n"
        "  X[i] = (X[i - 1] + X[i + 1])  at t=1, i=1 writes it",
    ),
    (
        "parallelize_reduction",
        "matmul",
        lambda s: s.parallelize("k"),
        'parallelize: loop "k" carries a reduction into "C[i, j]"; rfactor("k") first, '
        "so that each iteration has a partial result\nwith M=1, N=1, K=2:\n"
        "  C[i, j] += (A[i, k] * B[k, j])  at i=0, j=0, k=0 updates C[0, 0]\n"
        "  C[i, j] += (A[i, k] * B[k, j])  at i=0, j=0, k=1 updates it",
    ),
    (
        "parallelize_inside",
        "matmul",
        lambda s: s.parallelize("i").parallelize("j"),
        'parallelize: loop "j" is inside the parallel loop "i"; parallelize '
        "one outermost loop, and fuse others to it",
    ),
    (
        "parallelize_around",
        "matmul",
        lambda s: s.parallelize("j").parallelize("i"),
        'parallelize: loop "i" contains the parallel loop "j"; parallelize '
        "one of the two, and fuse the other to it",
    ),
    (
        "parallelize_twice",
        "matmul",
        lambda s: s.parallelize("i").parallelize("i"),
        'parallelize: loop "i" is already parallel; apply parallelize before that step',
    ),
    (
        "parallelize_same_element",
        "time",
        lambda s: s.parallelize("t"),
        'parallelize: loop "t" carries an output dependence on "X[i]"; choose a loop '
        'that occurs in its subscripts, or make "X" local to the loop\nwith N=3:\n'
        "  X[i] = (X[i - 1] + X[i + 1])  at t=0, i=1 writes X[1]\n"
        "  X[i] = (X[i - 1] + X[i + 1])  at t=1, i=1 writes it",
    ),
    (
        "parallelize_fused_reduction",
        "row_sums",
        lambda s: s.fuse("i", "j").parallelize("i"),
        'parallelize: loop "j" carries a reduction into "S[i]"; rfactor("j") first, so '
        "that each iteration has a partial result\nwith M=1, N=2:\n"
        "  S[i] += A[i, j]  at i=0, j=0 updates S[0]\n"
        "  S[i] += A[i, j]  at i=0, j=1 updates it",
    ),
    (
        "parallelize_registers",
        "scale_fixed",
        lambda s: s.cache_write("Y", None).parallelize("i"),
        'parallelize: loop "i" writes "Y_acc", which is in registers around '
        'it, and threads share none; declare it with memory="array"',
    ),
    (
        "cache_read_tensor",
        "matmul",
        lambda s: s.cache_read("D", "k"),
        'cache_read: no tensor "D" in matmul; the tensors are "A", "B", "C"',
    ),
    (
        "cache_read_unread",
        "matmul",
        lambda s: s.cache_read("A", "i0"),
        'cache_read: loop "i0" does not read "A"; choose a loop around its reads',
    ),
    (
        "cache_read_written",
        "two",
        lambda s: s.cache_read("Y", None),
        'cache_read: "Y" is written in two as well as read, and a copy would be out of '
        'date: an iteration of loop "i" has a flow dependence on "Y"; use cache_write, '
        "or a loop further in\nwith M=1:\n"
        "  Y[i] = (X[i] * 2.0)  at i=0 writes Y[0]\n"
        "  Z[i] = (Y[i] + 1.0)  at i=0 reads it",
    ),
    (
        "cache_read_written_later",
        "time",
        lambda s: s.cache_read("X", "i"),
        'cache_read: "X" is written in loop "i" as well as read, and a copy is not '
        "written back; use cache_write, or a loop further in",
    ),
    (
        "cache_read_written_in_place",
        "apart",
        lambda s: s.cache_read("X", "i"),
        'cache_read: "X" is written in loop "i" as well as read, and a copy is not '
        'written back: an iteration of loop "i" has an anti-dependence on "X"; use '
        "cache_write, or a loop further in\nwith M=1, N=0:\n"
        "  X[i] = (X[i] + 1.0)  at i=0 reads X[0]\n"
        "  X[i] = (X[i] + 1.0)  at i=0 writes it",
    ),
    (
        "cache_read_carried",
        "time",
        lambda s: s.cache_read("X", "t"),
        'cache_read: "X" is written in loop "t" as well as read, and a copy would be '
        'out of date: loop "i" carries a flow dependence on "X"; use cache_write, or a '
        "loop further in\nwith N=4:\n"
        "  X[i] = (X[i - 1] + X[i + 1])  at t=0, i=1 writes X[1]\n"
        "  X[i] = (X[i - 1] + X[i + 1])  at t=0, i=2 reads it",
    ),
    (
        "cache_read_updated",
        "matmul",
        lambda s: s.cache_read("C", "i"),
        'cache_read: loop "i" only writes "C"; use cache_write',
    ),
    (
        "cache_read_layout",
        "matmul",
        lambda s: register_tile(s).cache_read("B", "k_o", layout=("k_i", "j_i")),
        'cache_read: layout=("k_i", "j_i"), but B[k_i, j_i] needs the axes "j_t", '
        '"k_i", "j_i", in any order; write layout=("j_t", "k_i", "j_i")',
    ),
    (
        "cache_read_layout_of_ragged_blocks",
        "matmul",
        lambda s: (
            s.split("i", 10)
            .split("i_i", 4, names=("i_t", "i_i"))
            .cache_read("A", None, layout=("i_t", "k", "i_i"))
        ),
        'cache_read: layout=("i_t", "k", "i_i"), but A[i_i, k] needs the axes "i_o", '
        '"i_t", "i_i", "k", in any order; write layout=("i_o", "i_t", "i_i", "k")',
    ),
    (
        "cache_read_layout_without_axes",
        "into_head",
        lambda s: s.cache_read("A", "j", layout=("j",)),
        'cache_read: layout=("j",), but A[j] needs no loop below; leave layout out',
    ),
    (
        "cache_read_forms",
        "interior",
        lambda s: s.split("i", 4).cache_read("X", "i_o", layout=("i_i",)),
        'cache_read: "X" is used as X[i_i - 1] and as X[i_i + 1] over '
        "different ranges, and a layout fits one form; leave layout out to "
        "stage the box around them",
    ),
    (
        "cache_read_registers",
        "matmul",
        lambda s: s.cache_read("A", "i", memory="register"),
        "cache_read: A_tile = f32[K] cannot be in registers, which need "
        'constant extents; split the loops below, or use memory="array"',
    ),
    (
        "cache_read_memory",
        "matmul",
        lambda s: s.cache_read("A", "i", memory="stack"),
        'cache_read: memory=\'stack\'; allowed are "array" and "register"',
    ),
    (
        "cache_read_name",
        "matmul",
        lambda s: s.cache_read("A", "i", name="B"),
        'cache_read: the name "B" is taken; pass another name=',
    ),
    (
        "cache_read_fused",
        "matmul",
        lambda s: s.fuse("i", "j").cache_read("A", "i"),
        'cache_read: loop "i" shares its counter with "j", so nothing can '
        'stand between them; name "j", or cache_read before fuse',
    ),
    (
        "cache_read_vectorized",
        "matmul",
        lambda s: s.split("j", 4).vectorize("j_i").cache_read("A", "j_i"),
        'cache_read: loop "j_i" is vectorized, so its body cannot take in '
        "copies or other stages; name a loop around it",
    ),
    (
        "cache_write_unwritten",
        "matmul",
        lambda s: s.cache_write("A", "i"),
        'cache_write: loop "i" does not write "A"; choose a loop around its '
        "writes, or use cache_read",
    ),
    (
        "cache_write_unused",
        "matmul",
        lambda s: s.cache_write("A", "i0"),
        'cache_write: loop "i0" does not write "A"; choose a loop around its '
        "writes, or use cache_read",
    ),
    (
        "cache_write_registers",
        "matmul",
        lambda s: s.cache_write("C", "i"),
        "cache_write: C_acc = f32[N] cannot be in registers, which need "
        'constant extents; split the loops below, or use memory="array"',
    ),
    (
        "cache_write_local",
        "softmax",
        lambda s: s.cache_write("m", "i"),
        'cache_write: "m" is already local to loop "i"; stage it at a loop further in',
    ),
    (
        "cache_write_threads",
        "matmul",
        lambda s: s.tile(("i", "j"), (4, 4)).parallelize("i_i").cache_write("C", "j_o"),
        'cache_write: loop "i_i" inside is parallel, and threads share no '
        'registers; name a loop inside it, or use memory="array"',
    ),
    (
        "compute_at_unknown",
        "matmul",
        lambda s: s.compute_at("S9", "i"),
        'compute_at: no statement or local tensor "S9" in matmul; there are "S0", "S1"',
    ),
    (
        "compute_at_parameter",
        "matmul",
        lambda s: s.compute_at("C", "i"),
        'compute_at: "C" is a parameter; name the label of the statement '
        'that moves: "S0", "S1"',
    ),
    (
        "compute_at_update",
        "matmul",
        lambda s: s.compute_at("S1", "i0"),
        "compute_at: S1 is an update, which goes on from what is there before: the "
        'kernel has a flow dependence on "C"; name the statement that stores, or a '
        "local tensor\nwith M=1, N=1, K=1:\n"
        "  C[i0, j0] = 0.0  at i0=0, j0=0 writes C[0, 0]\n"
        "  C[i, j] += (A[i, k] * B[k, j])  at i=0, j=0, k=0 updates it",
    ),
    (
        "compute_at_inside",
        "matmul",
        lambda s: s.compute_at("S0", "i0"),
        'compute_at: S0 is already inside loop "i0"; name a loop that follows it',
    ),
    (
        "compute_at_shared",
        "two",
        lambda s: s.compute_at("S0", "i"),
        'compute_at: S0 is already inside loop "i"; name a loop that follows it',
    ),
    (
        "compute_at_copies",
        "matmul",
        lambda s: s.split("i0", 4, tail="cut").compute_at("S0", "i"),
        "compute_at: S0 stands in 2 places; move it before it is copied",
    ),
    (
        "compute_at_unrelated",
        "softmax",
        lambda s: s.compute_at("S2", "j3"),
        'compute_at: the nest that writes "z" also writes "Y"; fission first',
    ),
    (
        "compute_at_backwards",
        "chain",
        lambda s: s.compute_at("S1", "a"),
        'compute_at: S1 comes after loop "a": the kernel has a flow dependence on "T"; '
        "name a loop that follows it\nwith M=1, N=1:\n"
        "  T[a, b] = (X[a, b] * 3.0)  at a=0, b=0 writes T[0, 0]\n"
        "  Y[i, j] = (T[i, j] + 1.0)  at i=0, j=0 reads it",
    ),
    (
        "compute_at_unread",
        "blur",
        lambda s: s.cache_read("T", "y", name="U").compute_at("T", "x"),
        'compute_at: loop "x" does not read "T"; name a loop around all of its reads',
    ),
    (
        "inline_parameter",
        "matmul",
        lambda s: s.inline("C"),
        'inline: "C" is a parameter, whose values the caller sees; only '
        "local tensors go away: there is none",
    ),
    (
        "inline_updates",
        "softmax",
        lambda s: s.inline("z"),
        'inline: "z" is not written by one store alone, so it has no single value to '
        'put in its place: loop "j2" carries a reduction into "z"; use compute_at\n'
        "with M=1, N=2:\n  z += e  at i=0, j2=0 updates z\n"
        "  z += e  at i=0, j2=1 updates it",
    ),
    (
        "inline_split",
        "chain",
        lambda s: s.split("a", 4).inline("T"),
        'inline: the subscripts (a_i, b) of the store to "T" are not the '
        "axes of its nest, each once; inline before splitting",
    ),
    (
        "vectorize_scatter",
        "put",
        lambda s: s.split("i", 8).vectorize("i_i"),
        'vectorize: loop "i_i" writes Y[idx[i_i]], and lanes cannot write elements '
        "that data chooses; vectorize a loop without it",
    ),
    (
        "parallelize_scatter",
        "put",
        lambda s: s.parallelize("i"),
        'parallelize: iterations of loop "i" may write the same element Y[idx[i]], as '
        "data chooses it; if all its values differ, write "
        "tdsl.assume(tdsl.injective(idx)) in the kernel\nwith M=2, N=1:\n"
        "  Y[idx[i]] = X[i]  at i=0 writes Y[0]\n"
        "  Y[idx[i]] = X[i]  at i=1 writes it",
    ),
    (
        "cache_read_gathered",
        "take",
        lambda s: s.cache_read("X", None),
        'cache_read: data chooses which elements of "X" are used, as in X[idx[i]], so '
        "no part of it can be staged or moved; stage the other tensors, or name a loop "
        "without that access",
    ),
    (
        "cache_write_scattered",
        "put",
        lambda s: s.cache_write("Y", None, memory="array"),
        'cache_write: data chooses which elements of "Y" are used, as in Y[idx[i]], so '
        "no part of it can be staged or moved; stage the other tensors, or name a loop "
        "without that access",
    ),
    (
        "compute_at_gathered",
        "gathered_local",
        lambda s: s.compute_at("T", "j"),
        'compute_at: data chooses which elements of "T" are used, as in T[idx[j]], so '
        "no part of it can be staged or moved; stage the other tensors, or name a loop "
        "without that access",
    ),
    (
        "inline_gathered",
        "gathered_local",
        lambda s: s.inline("T"),
        'inline: data chooses which elements of "T" are used, as in T[idx[j]], so '
        "no part of it can be staged or moved; stage the other tensors, or name a loop "
        "without that access",
    ),
    (
        "inline_subscript",
        "counter",
        lambda s: s.inline("k"),
        'inline: "k" is used as a subscript, and its value is affine; write that value '
        "in the subscript of the kernel",
    ),
    (
        "rfactor_spatial",
        "matmul",
        lambda s: s.rfactor("i"),
        'rfactor: loop "i" does not run over a reduction: each of its iterations '
        "updates elements of its own, or none; choose a loop whose axis is absent "
        "from the updated subscripts",
    ),
    (
        "rfactor_fused",
        "row_sums",
        lambda s: s.fuse("i", "j").rfactor("j"),
        'rfactor: loop "j" shares the counter of the loop around it, so '
        "partial results have no place around it; rfactor before fuse",
    ),
    (
        "rfactor_registers",
        "row_sums",
        lambda s: s.rfactor("j", memory="register"),
        "rfactor: registers need constant extents, and the partial results "
        "have none; split and rfactor the inner loop, or leave memory out",
    ),
    (
        "rfactor_used_inside",
        "matmul",
        lambda s: s.compute_at("S0", "k").rfactor("k"),
        'rfactor: loop "k" also uses "C" outside of the update, so the partial results '
        'cannot be combined after it: loop "k" carries a flow dependence on "C"; '
        "fission first\nwith M=1, N=1, K=2:\n"
        "  C[i, j] = 0.0  at i=0, j=0, k=0 writes C[0, 0]\n"
        "  C[i, j] += (A[i, k] * B[k, j])  at i=0, j=0, k=1 updates it",
    ),
)


@pytest.mark.parametrize(
    ("kernel_name", "chain", "message"),
    [refusal[1:] for refusal in REFUSALS],
    ids=[refusal[0] for refusal in REFUSALS],
)
def test_refusal(kernel_name: str, chain: Chain, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        chain(Schedule(kernel(kernel_name)))
    text, _, _ = str(caught.value).partition("\n  in step ")
    assert text == message


def test_the_layouts_to_write_instead_are_accepted() -> None:
    tiled = register_tile(Schedule(kernel("matmul")))
    ragged = Schedule(kernel("matmul")).split("i", 10)
    ragged = ragged.split("i_i", 4, names=("i_t", "i_i"))
    for schedule, tensor, axis, layout in (
        (tiled, "B", "k_o", ("j_t", "k_i", "j_i")),
        (ragged, "A", None, ("i_o", "i_t", "i_i", "k")),
    ):
        packed = schedule.cache_read(tensor, axis, layout=layout)
        assert validate(schedule.original, packed.function).verdict == "proved"
