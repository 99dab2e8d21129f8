"""Nests whose accesses run along different axes of memory get blocks of both."""

from __future__ import annotations

import pytest

from tdsl.analysis.validate import validate
from tdsl.ir.verify import verify
from tdsl.schedules.library import default_schedule
from tdsl.schedules.sketches import sketch
from tdsl.target import AVX2, AVX512

from ..ir_text import read_function

HEAD = """
def crossed({params}) for M, N, L:
    for i in range(M):
        for j in range(N):
"""
TEXTS = {
    "loads": HEAD.format(params="A: f32[N, M], B: f32[M, N], C: output f32[M, N]")
    + "            C[i, j] = ((A[j, i] * B[i, j]) * B[i, j])  # S0[i, j]\n",
    "store": HEAD.format(params="A: f32[N, M], B: f32[N, M], C: output f32[M, N]")
    + "            C[i, j] = ((A[j, i] * B[j, i]) * B[j, i])  # S0[i, j]\n",
    "transpose": HEAD.format(params="A: f32[N, M], C: output f32[M, N]")
    + "            C[i, j] = A[j, i]  # S0[i, j]\n",
    "layers": HEAD.format(params="A: f32[L, N, M], C: output f32[M, L, N]")
    + "            for l in range(L):\n"
    + "                C[i, l, j] = A[l, j, i]  # S0[i, j, l]\n",
    "in place": HEAD.format(params="C: inout f32[M, M]").replace("range(N)", "range(M)")
    + "            C[i, j] = C[j, i]  # S0[i, j]\n",
}
STEPS = {
    "loads": """\
split("j", 16, names=("j_o", "j_v"))
split("i", 64, names=("i_b", "i_i"))
reorder("i_b", "j_o", "i_i", "j_v")
vectorize("j_v")
fuse("i_b", "j_o")
parallelize("i_b")""",
    "store": """\
split("i", 16, names=("i_o", "i_v"))
split("j", 64, names=("j_b", "j_i"))
reorder("j_b", "i_o", "j_i", "i_v")
split("j_i", 4, names=("j_i", "j_u"))
unroll("j_u")
vectorize("i_v")
fuse("j_b", "i_o")
parallelize("j_b")""",
    "transpose": """\
split("j", 16)
split("i", 16)
reorder("j_o", "i_o", "i_i", "j_i")
fuse("j_o", "i_o")
parallelize("j_o")""",
    "layers": """\
split("j", 16)
split("i", 16)
reorder("l", "j_o", "i_o", "i_i", "j_i")
parallelize("l")""",
    "in place": "",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_default_steps(name: str) -> None:
    schedule = default_schedule(read_function(TEXTS[name]), AVX512, "reassoc")
    assert "\n".join(map(str, schedule.steps)) == STEPS[name]


@pytest.mark.parametrize("name", sorted(set(TEXTS) - {"in place"}))
@pytest.mark.parametrize("target", [AVX2, AVX512], ids=lambda target: target.name)
def test_every_point_is_proved(name: str, target: object) -> None:
    function = read_function(TEXTS[name])
    space = sketch(function, target, "bitwise")
    for param in space.params:
        for choice in param.choices:
            schedule = space.build({**space.default(), param.name: choice})
            verify(schedule.function)
            certificate = validate(function, schedule.function, "bitwise")
            assert certificate.verdict == "proved", (param, choice)
