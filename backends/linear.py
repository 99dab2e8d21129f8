"""Bounds of expressions that use an element several times.

`a + (b - 2*a)/8` depends on `a` by 3/4, though `a` occurs with 1 and with -1/4. Here an
expression is a linear form of the errors of the elements that it loads, so that what
cancels does, plus a rest: roundings, and what products of two errors contribute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..ir.nodes import Binary, Expr, Load, Unary
from ..ir.numerics import Numerics
from ..ir.walk import loads
from .uncertain import Array, Rounding, Uncertain, rounding
from .uncertain_calls import function_ulps

Evaluate = Callable[[Expr], Uncertain]

_SLACK = 2.0**-46
"""More than the relative error of a slope, as a share of its terms."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A value whose error is at most the sum of |slope| * the error of an element, and
    a rest. *gross* are the slopes without regard to signs.
    """

    value: Array
    slopes: Mapping[Load, Array]
    gross: Mapping[Load, Array]
    rest: Array


def repeats_a_load(expr: Expr) -> bool:
    """Whether *expr* is arithmetic that has one element in several places."""
    counts = Counter(loads(expr))
    return expr.dtype.kind == "float" and any(n > 1 for n in counts.values())


def refined(
    expr: Expr, plain: Uncertain, evaluate: Evaluate, numerics: Numerics
) -> Uncertain:
    """Return *plain*, the value of *expr*, with the smaller of both bounds."""
    counts = Counter(loads(expr))
    elements = {load: evaluate(load) for load, count in counts.items() if count > 1}
    forms = _Forms(elements, evaluate, numerics)
    error = forms.bound(forms.form(expr))
    return Uncertain(plain.value, np.fmin(plain.error, error))


@dataclass(frozen=True, slots=True)
class _Forms:
    """Makes linear forms over the errors of *elements*."""

    elements: Mapping[Load, Uncertain]
    evaluate: Evaluate
    numerics: Numerics

    def form(self, expr: Expr) -> Linear:
        if isinstance(expr, Load) and expr in self.elements:
            one = np.ones(())
            value = self.elements[expr].value
            return Linear(value, {expr: one}, {expr: one}, np.zeros(()))
        if isinstance(expr, Unary) and expr.op == "neg":
            return _scaled(self.form(expr.operand), -np.ones(()))
        if isinstance(expr, Binary) and expr.dtype == expr.left.dtype:
            rule = rounding(expr.dtype, function_ulps(expr.op, self.numerics))
            match expr.op:
                case "add":
                    return self.sum(self.form(expr.left), self.form(expr.right), rule)
                case "sub":
                    right = _scaled(self.form(expr.right), -np.ones(()))
                    return self.sum(self.form(expr.left), right, rule)
                case "mul":
                    return self.product(
                        self.form(expr.left), self.form(expr.right), rule
                    )
                case "div":
                    divisor = self.evaluate(expr.right)
                    if divisor.is_exact:
                        return self.quotient(self.form(expr.left), divisor.value, rule)
        known = self.evaluate(expr)
        return Linear(known.value, {}, {}, known.error)

    def sum(self, left: Linear, right: Linear, rule: Rounding) -> Linear:
        value = left.value + right.value
        return self.rounded(
            value,
            _added(left.slopes, right.slopes),
            _added(left.gross, right.gross),
            left.rest + right.rest,
            rule,
        )

    def product(self, left: Linear, right: Linear, rule: Rounding) -> Linear:
        a, b = _scaled(left, right.value), _scaled(right, left.value)
        both = self.bound(left) * self.bound(right)
        return self.rounded(
            left.value * right.value,
            _added(a.slopes, b.slopes),
            _added(a.gross, b.gross),
            a.rest + b.rest + both,
            rule,
        )

    def quotient(self, left: Linear, divisor: Array, rule: Rounding) -> Linear:
        parts = _scaled(left, 1 / divisor)
        value = left.value / divisor
        return self.rounded(value, parts.slopes, parts.gross, parts.rest, rule)

    def rounded(
        self,
        value: Array,
        slopes: Mapping[Load, Array],
        gross: Mapping[Load, Array],
        rest: Array,
        rule: Rounding,
    ) -> Linear:
        """Add the rounding of an operation; nothing is known after an overflow."""
        size = np.abs(value) + self.bound(Linear(value, slopes, gross, rest))
        rest = np.where(size <= rule.limit, rest + rule.unit * size + rule.tiny, np.inf)
        return Linear(value, slopes, gross, rest)

    def bound(self, form: Linear) -> Array:
        total = form.rest * (1 + _SLACK)
        for load, slope in form.slopes.items():
            share = np.abs(slope) + _SLACK * form.gross[load]
            total = total + share * self.elements[load].error
        return np.where(np.isnan(total), np.inf, total)


def _scaled(form: Linear, factor: Array) -> Linear:
    size = np.abs(factor)
    return Linear(
        form.value * factor,
        {load: slope * factor for load, slope in form.slopes.items()},
        {load: slope * size for load, slope in form.gross.items()},
        form.rest * size,
    )


def _added(
    left: Mapping[Load, Array], right: Mapping[Load, Array]
) -> dict[Load, Array]:
    result = dict(left)
    for load, slope in right.items():
        result[load] = result[load] + slope if load in result else slope
    return result
