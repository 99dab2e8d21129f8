"""The generated text: a golden module, the constructs allowed, lifted sizes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tdsl.backends.source import emit_source
from tdsl.backends.vocabulary import OPERATIONS
from tdsl.backends.worth import LEAST
from tdsl.ir.nodes import Span, Store
from tdsl.ir.walk import rewrite

from ..ir_text import read_function
from .programs import in_double
from .scheduled import AXPY, FIXED, KERNELS, PACKED_MATMUL, TWO_STAGES

GOLDEN = Path(__file__).parents[1] / "golden" / "axpy_source.py.txt"
CHOSEN_ROWS = """
def chosen_rows(T: f32[V, N], idx: i64[M], Y: output f32[M, N]) for M, N, V:
    for i in range(M):
        for j_o in range(0, N, 8):
            for j in range(j_o, min(j_o + 8, N)):  # vectorized
                Y[i, j] = T[idx[i], j]
"""
STATEMENTS = (
    ast.Module,
    ast.FunctionDef,
    ast.arguments,
    ast.arg,
    ast.Import,
    ast.ImportFrom,
    ast.alias,
    ast.For,
    ast.If,
    ast.Assign,
    ast.Expr,
    ast.Return,
)
EXPRESSIONS = (
    ast.Name,
    ast.Load,
    ast.Store,
    ast.Constant,
    ast.Call,
    ast.keyword,
    ast.Attribute,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.BoolOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.FloorDiv,
    ast.Mod,
    ast.BitAnd,
    ast.USub,
    ast.And,
    ast.Lt,
    ast.LtE,
    ast.Dict,
)
CALLS = {"range", "prange", "min", "max", "njit"}
CALLS |= {"f32", "f64", "i32", "i64", "boolean"} | OPERATIONS


def check_allowed(text: str) -> None:
    """Accept only constructs that Numba is known to treat right."""
    tree = ast.parse(text)
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    for node in ast.walk(tree):
        assert isinstance(node, STATEMENTS + EXPRESSIONS), ast.dump(node)
        if isinstance(node, ast.Return):
            assert node.value is None  # a part of a loop that ends early
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called in CALLS | functions | {"np.empty"}, called
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node) in ("np.empty", "np.uint8"), ast.unparse(node)
        if isinstance(node, ast.For) and "prange" in ast.unparse(node.iter):
            # One call a parallel loop: nothing of it for Numba to fuse or reduce.
            (call,) = node.body
            assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
            assert ast.unparse(call.value.func) in functions
            first = ast.unparse(call.value.args[0])
            assert first == f"i64({ast.unparse(node.target)})"


@pytest.mark.parametrize("runtime_sizes", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_only_known_constructs_are_emitted(kernel: str, runtime_sizes: bool) -> None:
    function = read_function(KERNELS[kernel][0])
    check_allowed(emit_source(function, runtime_sizes=runtime_sizes).text)


def test_golden_module(request: pytest.FixtureRequest) -> None:
    text = emit_source(read_function(AXPY)).text
    if request.config.getoption("--update-golden"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_comments_name_the_users_lines() -> None:
    span = Span("folder/kernels.py", 7, 0, 7, 20)
    function = rewrite(
        read_function(AXPY),
        lambda s: (
            type(s)(s.tensor, s.index, s.value, None, span=span)
            if isinstance(s, Store)
            else s
        ),
    )
    assert "# kernels.py:7\n" in emit_source(function).text


def test_schedules_that_differ_in_outer_tiles_share_their_text() -> None:
    large = PACKED_MATMUL.replace("[(N + 15)//16, 16, 16]", "[(N + 15)//16, 32, 16]")
    large = large.replace("range(0, K, 16)", "range(0, K, 32)")
    large = large.replace("k_o + 16", "k_o + 32").replace("[2, 16, 4]", "[3, 32, 4]")
    large = large.replace("range(0, M, 8)", "range(0, M, 12)")
    large = large.replace("i_o + 8", "i_o + 12")
    one = emit_source(read_function(PACKED_MATMUL), runtime_sizes=True)
    two = emit_source(read_function(large), runtime_sizes=True)
    assert one.text == two.text
    assert (one.sizes, two.sizes) == ((16, 8, 16, 2, 16), (32, 12, 32, 3, 32))
    fixed = emit_source(read_function(PACKED_MATMUL))
    assert fixed.sizes == () and fixed.text != emit_source(read_function(large)).text


def test_a_block_of_one_tile_shares_the_text_of_larger_ones() -> None:
    """That its size equals the divisor of what is counted from it is a coincidence."""
    single = PACKED_MATMUL.replace("range(0, M, 8)", "range(0, M, 4)")
    single = single.replace("i_o + 8", "i_o + 4").replace("[2, 16, 4]", "[1, 16, 4]")
    assert single != PACKED_MATMUL
    one = emit_source(read_function(PACKED_MATMUL), runtime_sizes=True)
    two = emit_source(read_function(single), runtime_sizes=True)
    assert one.text == two.text
    assert (one.sizes, two.sizes) == ((16, 8, 16, 2, 16), (16, 4, 16, 1, 16))


def test_full_tiles_of_fixed_sizes_have_no_guards() -> None:
    text = emit_source(read_function(FIXED)).text
    assert "if " not in text and "mask" not in text


def test_the_reduction_loop_of_a_packed_matmul_has_no_masks() -> None:
    text = emit_source(read_function(PACKED_MATMUL), parallel=False).text
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if "for k in range" in line)
    indent = len(lines[start]) - len(lines[start].lstrip())
    body = []
    for line in lines[start + 1 :]:
        if len(line) - len(line.lstrip()) <= indent:
            break
        body.append(line)
    assert sum("fma(" in line for line in body) == 4
    assert sum("load(B_pack" in line for line in body) == 1
    assert not any("mask" in line or "if " in line for line in body)
    assert sum("for k in range" in line for line in lines) == 1


def test_a_transposing_copy_moves_whole_vectors() -> None:
    text = emit_source(read_function(PACKED_MATMUL), parallel=False).text
    assert text.count("store_quads(A_pack") == 1
    assert "store_strided_masked(A_pack" in text


def test_a_row_that_data_chooses_is_loaded_as_a_vector() -> None:
    text = emit_source(read_function(CHOSEN_ROWS)).text
    assert "load_masked(T" in text
    assert "gather" not in text


def test_parallel_loops_are_functions_of_their_own() -> None:
    text = emit_source(read_function(TWO_STAGES)).text
    assert text.count("prange(") == 2
    assert '"fusion": False' in text
    assert "prange" not in emit_source(read_function(TWO_STAGES), parallel=False).text


def test_names_of_the_user_do_not_hide_operations() -> None:
    text = AXPY.replace("alpha", "load").replace("x[", "fma[").replace("x:", "fma:")
    source = emit_source(read_function(text)).text
    tree = ast.parse(source)
    bound = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert not bound & OPERATIONS


def test_emission_needs_no_numba() -> None:
    code = "import sys; import tdsl.backends.source; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_lifted_sizes_leave_the_names_of_dims_alone() -> None:
    text = """
def scale(x: inout f32[i_o_size], T: inout f32[i_o_size]) for i_o_size:
    for i_o in range(0, i_o_size, 64):
        buffer = local f32[64]
        for i in range(i_o, min(i_o + 64, i_o_size)):
            buffer[i - i_o] = x[i]
        for j in range(i_o, min(i_o + 64, i_o_size)):
            T[j] = buffer[j - i_o]
"""
    source = emit_source(read_function(text), runtime_sizes=True)
    (function,) = (
        each
        for each in ast.parse(source.text).body
        if isinstance(each, ast.FunctionDef)
    )
    arguments = [each.arg for each in function.args.args]
    assert len(arguments) == len(set(arguments)) == 3 + len(source.sizes)


def test_dtypes_are_listed_in_one_place() -> None:
    """A new dtype is one line in `tdsl.ir.dtypes`."""
    listing = re.compile(r'DType\(|"f(32|64)": ')
    folder = Path(emit_source.__code__.co_filename).parent
    found = [
        path.name for path in folder.glob("*.py") if listing.search(path.read_text())
    ]
    assert found == []


def power(dtype: str, exponent: float, numerics: str) -> str:
    """Return the code for a sum of powers."""
    text = f"""
def powers(x: f32[1], y: inout f32[1]):
    y[0] += pow(x[0] - y[0], {exponent})
"""
    function = read_function(text)
    function = in_double(function) if dtype == "f64" else function
    return emit_source(function, numerics=numerics).text


def test_powers_with_short_exponents_are_products_roots_and_quotients() -> None:
    assert "fma(base, base, y_value)" in power("f32", 2.0, "reassoc")
    assert "base_2 = mul(base, base)" in power("f64", 3.0, "reassoc")
    assert "mul(base_2, base)" in power("f64", 3.0, "reassoc")
    assert "mul(base_2, base_2)" in power("f32", 4.0, "fast")
    assert "power_half(sub(" in power("f32", 0.5, "reassoc")
    assert "div(f32(1.0), sub(" in power("f32", -1.0, "reassoc")
    assert "power(sub(" in power("f32", 5.0, "reassoc")


def test_bitwise_powers_change_only_where_the_bits_do_not() -> None:
    assert "add(y_value, mul(base, base))" in power("f32", 2.0, "bitwise")
    for dtype, exponent in (("f64", 2.0), ("f32", 3.0), ("f32", 0.5), ("f32", -1.0)):
        assert "power(sub(" in power(dtype, exponent, "bitwise")


def test_fast_emits_what_reassoc_does() -> None:
    """As the meaning of the numerics classes says; it is checked more loosely."""
    function = read_function(AXPY.replace("alpha * x[i]", "x[i] / alpha"))
    texts = [emit_source(function, numerics=each).text for each in ("fast", "reassoc")]
    assert texts[0].replace("fast", "reassoc") == texts[1]


TRIANGLE = """
def triangle(A: f32[M, M], C: output f32[M]) for M:
    for i in range(M):  # parallel
        C[i] = 0.0  # S0[i]
        for k in range(i + 1):
            C[i] += A[i, k]  # S1[i, k]
"""


@pytest.mark.parametrize("runtime_sizes", [False, True])
def test_only_iterations_of_unequal_length_are_dealt_out(runtime_sizes: bool) -> None:
    triangle = emit_source(read_function(TRIANGLE), runtime_sizes=runtime_sizes)
    assert "dealing_step(" in triangle.text
    packed = read_function(KERNELS["packed"][0])
    assert "dealing_step(" not in emit_source(packed, runtime_sizes=runtime_sizes).text


INNER_PARALLEL = """
def steps(A: inout f32[M, N]) for M, N:
    for t in range(M):
        for i in range(t, M):  # parallel
            for j_o in range(0, t, 8):
                for j in range(j_o, j_o + 8):  # vectorized
                    A[i, j] += 1.0  # S0[t, i, j]
"""


def test_a_parallel_loop_in_another_loop_takes_threads_for_much_work_only() -> None:
    text = emit_source(read_function(INNER_PARALLEL)).text
    lines = [line.strip().partition("  #")[0] for line in text.splitlines()]
    (test,) = (n for n, line in enumerate(lines) if f"{LEAST} <=" in line)
    assert lines[test] == f"if {LEAST} <= i_count * (max((t + 8 - 1) // 8, 0)):"
    assert lines[test + 1] == "for i_n in prange(i_count):"
    assert lines[test + 3 : test + 5] == ["else:", "for i_s in range(i_count):"]
    assert lines[test + 2] == lines[test + 5].replace("i_s", "i_n")


def test_an_outermost_parallel_loop_always_takes_threads() -> None:
    assert f"{LEAST} <=" not in emit_source(read_function(TWO_STAGES)).text
