"""Chains of select, compare, convert, not and bounds: choices that are known, turned round, or made twice."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import is_splat_of, splat_of
from ...hlo_dialect.ops.elementwise_binary import MaximumOp, MinimumOp
from ...hlo_dialect.ops.elementwise_unary import AbsOp, NegateOp, NotOp
from ...hlo_dialect.types import bit_width, element_of, i1, is_complex, is_integer, is_unsigned, tensor_type
from .rewrite import Rewrite, by, simplifications, start, to


def _is_predicate(value: SSAValue) -> bool:
    return element_of(value) == i1


def _is_ordered(op: CompareOp) -> bool:
    """Whether a comparison orders NaN and the signs of zeros too."""
    return op.is_total_order or op.is_weak_order


@simplifications.on(SelectOp)
def select_of_not(op: Operation) -> Rewrite | None:
    """`select(not p, a, b)` is `select(p, b, a)`."""
    inner = op.operands[0].owner
    if not isinstance(inner, NotOp):
        return None
    p = start(inner.operands[0])
    return by(p.select(Tensor(p.builder, op.operands[2]), Tensor(p.builder, op.operands[1])))


@simplifications.on(SelectOp)
def select_of_select(op: Operation) -> Rewrite | None:
    """`select(p, select(p, a, b), c)` is `select(p, a, c)`, and `select(p, c, select(p, a, b))` `select(p, c, b)`."""
    predicate = op.operands[0]
    for index in (1, 2):
        inner = op.operands[index].owner
        if isinstance(inner, SelectOp) and inner.operands[0] is predicate:
            p = start(predicate)
            chosen = [Tensor(p.builder, value) for value in op.operands[1:]]
            chosen[index - 1] = Tensor(p.builder, inner.operands[index])
            return by(p.select(*chosen))
    return None


@simplifications.on(SelectOp)
def select_of_truths(op: Operation) -> Rewrite | None:
    """`select(p, true, false)` is p, and `select(p, false, true)` is `not p`."""
    predicate, *values = op.operands
    if not _is_predicate(op.results[0]) or predicate.type != op.results[0].type:
        return None
    truths = [is_splat_of(value, 1) for value in values]
    if all(truth or is_splat_of(value, 0) for truth, value in zip(truths, values, strict=True)):
        if truths == [True, False]:
            return to(predicate)
        if truths == [False, True]:
            return by(~start(predicate))
    return None


_INVERSE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}


@simplifications.on(NotOp)
def not_of_compare(op: Operation) -> Rewrite | None:
    """
    The negation of a comparison, if nothing else needs it, is the opposite comparison.

    Floats are compared for equality only, because NaN is neither less than a number nor at least that number.
    """
    inner = op.operands[0].owner
    if not isinstance(inner, CompareOp) or not op.operands[0].has_one_use() or _is_ordered(inner):
        return None
    element = element_of(inner.operands[0])
    if not is_integer(element) and inner.direction not in ("EQ", "NE"):
        return None
    x = start(inner.operands[0])
    type_ = "UNSIGNED" if is_unsigned(element) or element == i1 else "SIGNED" if is_integer(element) else None
    return by(x.compare(_INVERSE[inner.direction], Tensor(x.builder, inner.operands[1]), type_))


@simplifications.on(CompareOp)
def compare_of_truth(op: Operation) -> Rewrite | None:
    """`convert(p) != 0` is p, and `convert(p) == 0` is `not p`, of a predicate p converted to numbers."""
    assert isinstance(op, CompareOp)
    inner = op.operands[0].owner
    if not isinstance(inner, ConvertOp) or not _is_predicate(inner.operands[0]) or _is_ordered(op):
        return None
    if _is_predicate(inner.results[0]) or not is_splat_of(op.operands[1], 0) or op.direction not in ("EQ", "NE"):
        return None
    return to(inner.operands[0]) if op.direction == "NE" else by(~start(inner.operands[0]))


@simplifications.on(CompareOp)
def compare_of_choice(op: Operation) -> Rewrite | None:
    """`select(p, a, b) == c`, or another comparison, of constants a, b and c is p, `not p`, or known."""
    assert isinstance(op, CompareOp)
    inner = op.operands[0].owner
    if not isinstance(inner, SelectOp) or _is_ordered(op):
        return None
    predicate, numbers = inner.operands[0], [splat_of(value) for value in (*inner.operands[1:], op.operands[1])]
    if predicate.type != op.results[0].type or any(number is None for number in numbers):
        return None
    one, other, bound = numbers
    first, second = (bool(_COMPARISONS[op.direction](number, bound)) for number in (one, other))
    if first == second:
        return by(Builder().splat(first, tensor_type(op.results[0])))
    return to(predicate) if first else by(~start(predicate))


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}

_BEYOND = {"LT": ("least", False), "GE": ("least", True), "GT": ("greatest", False), "LE": ("greatest", True)}
"""The bound of its type that no integer is beyond, by comparison, and what the comparison with it is."""


@simplifications.on(CompareOp)
def compare_with_extreme(op: Operation) -> Rewrite | None:
    """An integer is never less than the least of its type, nor greater than the greatest: `i < 0` of unsigned i."""
    assert isinstance(op, CompareOp)
    element = element_of(op.operands[0])
    if not is_integer(element) or element == i1 or op.direction not in _BEYOND:
        return None
    bound, (which, truth) = splat_of(op.operands[1]), _BEYOND[op.direction]
    width = bit_width(element)
    least, greatest = (0, 2**width - 1) if is_unsigned(element) else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    if bound is None or int(bound) != (least if which == "least" else greatest):
        return None
    return by(Builder().splat(truth, tensor_type(op.results[0])))


@simplifications.on(MaximumOp, MinimumOp)
def bound_of_bound(op: Operation) -> Rewrite | None:
    """`max(max(x, a), b)` of constants a and b is `max(x, max(a, b))`; so for minima."""
    if is_complex(element_of(op.results[0])):
        return None
    for index in (0, 1):
        inner, bound = op.operands[index].owner, splat_of(op.operands[1 - index])
        if not isinstance(inner, type(op)) or bound is None:
            continue
        for place in (0, 1):
            own = splat_of(inner.operands[place])
            if own is None or (own == bound == 0):  # zeros may differ in sign
                continue
            keeps = own if (own > bound) == isinstance(op, MaximumOp) else bound
            if own != own or bound != bound:  # NaN is the result with any number
                return None
            x = start(inner.operands[1 - place])
            wanted = op.operands[1 - index] if keeps is bound else inner.operands[place]
            return by(x.builder.op(type(op), [x, Tensor(x.builder, wanted)], op.results[0].type))
    return None


@simplifications.on(AbsOp)
def magnitude_of_negation(op: Operation) -> Rewrite | None:
    """`abs(-x)` is `abs(x)`."""
    inner = op.operands[0].owner
    return by(abs(start(inner.operands[0]))) if isinstance(inner, NegateOp) else None
