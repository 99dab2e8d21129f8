"""`verify` accepts what the parser makes and names each fault."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tdsl.ir import verify as verifier
from tdsl.ir.affine import constant, name
from tdsl.ir.dtypes import boolean, f32, i32
from tdsl.ir.nodes import (
    Alloc,
    Binary,
    Block,
    Call,
    Cast,
    Const,
    Dim,
    Expr,
    For,
    Function,
    If,
    Index,
    Instance,
    Load,
    LoopKind,
    Memory,
    Param,
    Reduce,
    ReduceOp,
    Role,
    Select,
    Stmt,
    Store,
    Tensor,
    Unary,
)
from tdsl.ir.verify import verify

M, i = name("M"), name("i")
A = Tensor("A", f32, (M,))
C = Tensor("C", f32, (M,))
ONE = Const(1.0, f32)
TRUE = Const(True, boolean)
LOAD = Load("A", (i,), f32)
STORE = Store("C", (i,), LOAD, Instance("S0", (i,)))


def loop(*body: Stmt, **changes: Any) -> For:
    plain = For("i", (constant(0),), (M,), 1, LoopKind.SERIAL, Block(body))
    return replace(plain, **changes)


def function(*body: Stmt, **changes: Any) -> Function:
    params = (Param(A, Role.INPUT), Param(C, Role.OUTPUT))
    return replace(Function("f", params, (Dim("M"),), Block(body)), **changes)


def value(expr: Expr) -> Function:
    return function(loop(replace(STORE, value=expr)))


def test_good_functions() -> None:
    accumulator = Tensor("t", f32, ())
    update = Reduce(ReduceOp.ADD, "t", (), LOAD, None)
    allocated = Alloc(accumulator, Memory.REGISTER)
    guard = If((M - i,), Block((STORE,)))
    verify(function(loop(allocated, Store("t", (), ONE, None), update, guard)))
    conditions = Binary("lt", LOAD, Cast(Index(i, i32), f32), boolean)
    chosen = Select(Unary("not", conditions, boolean), ONE, Call("exp", ONE, f32), f32)
    verify(value(chosen))
    vector = loop(STORE, stops=(constant(8), M), kind=LoopKind.VECTORIZED)
    verify(function(vector))


FAULTS: dict[str, tuple[Callable[[], Function], str]] = {
    "name used twice": (
        lambda: function(loop(loop(STORE))),
        "i names two things",
    ),
    "dim and tensor": (
        lambda: function(loop(STORE), dims=(Dim("M"), Dim("A"))),
        "A names two things",
    ),
    "no identifier": (
        lambda: function(loop(STORE, axis="1")),
        "'1' is no identifier",
    ),
    "empty dim": (
        lambda: function(loop(STORE), dims=(Dim("M", 3, 2),)),
        "dim M is empty: Dim(name='M', min=3, max=2, multiple=1)",
    ),
    "scalar result": (
        lambda: function(params=(Param(Tensor("C", f32, ()), Role.OUTPUT),)),
        "scalar result C",
    ),
    "returned input": (
        lambda: function(params=(Param(C, Role.INPUT, returned=True),)),
        "returned C is no output",
    ),
    "unknown dim": (
        lambda: function(loop(STORE), dims=()),
        "shape of A: M is not visible in M",
    ),
    "axis outside its loop": (
        lambda: function(loop(STORE), STORE),
        "subscript of C: i is not visible in i",
    ),
    "unknown tensor": (
        lambda: function(loop(replace(STORE, tensor="D"))),
        "D is not declared here",
    ),
    "tensor outside its block": (
        lambda: function(
            loop(Alloc(Tensor("t", f32, ()), Memory.REGISTER)),
            Store("t", (), ONE, None),
        ),
        "t is not declared here",
    ),
    "scalar in an array": (
        lambda: function(Alloc(Tensor("t", f32, ()), Memory.ARRAY)),
        "scalar t is not a register",
    ),
    "rank": (
        lambda: function(loop(replace(STORE, index=(i, i)))),
        "C has rank 1 but 2 subscripts",
    ),
    "write to an input": (
        lambda: function(loop(replace(STORE, tensor="A"))),
        "a write to the input A",
    ),
    "stored dtype": (
        lambda: value(Const(1, i32)),
        "i32 stored in C: f32",
    ),
    "reduction of bools": (
        lambda: function(
            Reduce(ReduceOp.ADD, "C", (constant(0),), TRUE, None),
            params=(Param(Tensor("C", boolean, (M,)), Role.INOUT),),
        ),
        "a reduction of the bool C",
    ),
    "no label": (
        lambda: function(loop(replace(STORE, instance=Instance("", ())))),
        "an instance without a label",
    ),
    "coordinates": (
        lambda: function(loop(replace(STORE, instance=Instance("S0", (name("j"),))))),
        "instance S0: j is not visible in j",
    ),
    "no stop": (
        lambda: function(loop(STORE, stops=())),
        "loop i has no start or no stop",
    ),
    "step": (
        lambda: function(loop(STORE, step=0)),
        "loop i: step 0",
    ),
    "vector step": (
        lambda: function(
            loop(STORE, stops=(constant(8),), step=2, kind=LoopKind.VECTORIZED)
        ),
        "vectorized loop i has step 2",
    ),
    "vector size": (
        lambda: function(loop(STORE, kind=LoopKind.VECTORIZED)),
        "vectorized loop i has no size",
    ),
    "unrolled size": (
        lambda: function(
            loop(
                STORE,
                starts=(constant(0), M - 4),
                stops=(constant(8),),
                kind=LoopKind.UNROLLED,
            )
        ),
        "unrolled loop i has no size",
    ),
    "fused at the top": (
        lambda: function(loop(STORE, kind=LoopKind.FUSED)),
        "fused loop i is not alone in the loop around it",
    ),
    "fused beside another": (
        lambda: function(
            loop(loop(STORE, kind=LoopKind.FUSED), STORE, axis="j"),
        ),
        "fused loop i is not alone in the loop around it",
    ),
    "no conditions": (
        lambda: function(If((), Block(()))),
        "an If without conditions",
    ),
    "no affine form": (
        lambda: function(loop(STORE, stops=("M",))),
        "loop i: 'M' is no affine form",
    ),
    "constant": (
        lambda: value(Const(1, f32)),
        "constant 1 of dtype f32",
    ),
    "index of bool": (
        lambda: value(Select(Index(i, boolean), ONE, ONE, f32)),
        "an index of dtype bool",
    ),
    "load": (
        lambda: value(Cast(Load("A", (i,), i32), f32)),
        "load of A as i32",
    ),
    "negation of bool": (
        lambda: value(Select(Unary("neg", TRUE, boolean), ONE, ONE, f32)),
        "neg of bool",
    ),
    "not of float": (
        lambda: value(Unary("not", ONE, f32)),
        "not of f32",
    ),
    "unary dtype": (
        lambda: value(Unary("neg", Const(1, i32), f32)),
        "neg: i32 gives f32",
    ),
    "operands": (
        lambda: value(Binary("add", ONE, Const(1, i32), f32)),
        "add of f32 and i32",
    ),
    "comparison": (
        lambda: value(Binary("lt", ONE, ONE, f32)),
        "lt gives f32",
    ),
    "order of bools": (
        lambda: value(Select(Binary("lt", TRUE, TRUE, boolean), ONE, ONE, f32)),
        "lt of bools",
    ),
    "logic": (
        lambda: value(Select(Binary("and", ONE, ONE, boolean), ONE, ONE, f32)),
        "and of f32 gives bool",
    ),
    "operation": (
        lambda: value(Binary("xor", ONE, ONE, f32)),
        "operation xor",
    ),
    "integer division": (
        lambda: value(Cast(Binary("div", Const(1, i32), Const(2, i32), i32), f32)),
        "div of i32",
    ),
    "call": (
        lambda: value(Call("exp", Const(1, i32), f32)),
        "exp: i32 gives f32",
    ),
    "condition": (
        lambda: value(Select(ONE, ONE, ONE, f32)),
        "a condition of dtype f32",
    ),
    "branch": (
        lambda: value(Select(TRUE, ONE, Const(1, i32), f32)),
        "a branch of dtype i32 in f32",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str) -> None:
    make, message = FAULTS[fault]
    with pytest.raises(AssertionError) as caught:
        verify(make())
    assert str(caught.value) == message


def test_the_checks_do_not_depend_on_assertions() -> None:
    # `python -O` drops them, and proofs rely on these checks.
    tree = ast.parse(inspect.getsource(verifier))
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree))
