"""
Elementwise operations: exact conversions, neutral infinities, comparisons of clamped values, sunk reshapes, repeated
elements.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.support.rewriting import like
from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.op import DIVISION, HloOp, is_elementwise
from ...hlo_dialect.ops.comparison import CompareOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_constant, is_splat_of
from ...hlo_dialect.ops.elementwise_binary import MaximumOp, MinimumOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import (
    constant_array,
    element_of,
    is_float,
    is_integer,
    is_unsigned,
    make_tensor,
    shape_of,
    tensor_type,
)
from .rewrite import Rewrite, by, simplifications, to

_PRECISION: dict[type, int] = {Float16Type: 11, BFloat16Type: 8, Float32Type: 24, Float64Type: 53}
"""Bits of a float's significand, the hidden one included."""

_WIDER_FLOATS: dict[type, tuple[type, ...]] = {
    Float16Type: (Float32Type, Float64Type),
    BFloat16Type: (Float32Type, Float64Type),
    Float32Type: (Float64Type,),
}


def _is_whole(element_type: Attribute) -> bool:
    """Whether the type is an integer or boolean type."""
    return isinstance(element_type, IntegerType)


def _width(element_type: Attribute) -> int:
    return cast("Any", element_type).width.data


@cache
def is_exact_conversion(source: Attribute, target: Attribute) -> bool:
    """Whether every value of `source` is a value of `target`."""
    if _is_whole(source):
        width = _width(source)
        unsigned = is_unsigned(source) or width == 1
        if _is_whole(target):
            wide = _width(target)
            if wide == 1:
                return False
            if unsigned:
                return wide > width or (is_unsigned(target) and wide == width)
            return not is_unsigned(target) and wide >= width
        return (width if unsigned else width - 1) <= _PRECISION.get(type(target), 0)
    return type(target) in _WIDER_FLOATS.get(type(source), ())


@simplifications.on(ConvertOp)
def merge_conversions(op: Operation) -> Rewrite | None:
    """
    `convert(convert(x))` becomes one conversion if the first is exact.

    Not from integers via floats to integers that cannot represent all of them: conversions from floats saturate, those
    from integers wrap around.
    """
    inner = op.operands[0].owner
    if not isinstance(inner, ConvertOp):
        return None
    source = inner.operands[0]
    if not is_exact_conversion(element_of(source), element_of(inner.results[0])):
        return None
    first, last = element_of(source), element_of(op.results[0])
    saturates = is_float(element_of(inner.results[0])) and not is_float(first)
    if saturates and is_integer(last) and not is_exact_conversion(first, last):
        return None
    if source.type == op.results[0].type:
        return to(source)
    return by(Builder().op(ConvertOp, [source], op.results[0].type))


def _without_infinity(op: Operation, infinity: float) -> Rewrite | None:
    if not is_float(element_of(op.results[0])):
        return None
    for index in (0, 1):
        other = op.operands[1 - index]
        if other.type == op.results[0].type and is_splat_of(op.operands[index], infinity):
            return to(other)
    return None


@simplifications.on(MaximumOp)
def maximum_with_least(op: Operation) -> Rewrite | None:
    """`maximum(-inf, x)` is x."""
    return _without_infinity(op, float("-inf"))


@simplifications.on(MinimumOp)
def minimum_with_greatest(op: Operation) -> Rewrite | None:
    """`minimum(inf, x)` is x."""
    return _without_infinity(op, float("inf"))


@simplifications.on(CompareOp)
def compare_clamped(op: Operation) -> Rewrite | None:
    """
    `x > c` becomes `max(x, c) > c`, and `x < c` `min(x, c) < c`, if nothing else needs x.

    The gradient of a relu then reads the relu's result, and the product before it need not be kept.
    """
    assert isinstance(op, CompareOp)
    for index, direction in enumerate((op.direction, _MIRRORED.get(op.direction))):
        x, bound = op.operands[index], op.operands[1 - index]
        if direction not in _CLAMPS or op.is_total_order or op.is_weak_order or not is_splat_constant(bound):
            continue
        clamped = _only_clamped(op, x, bound, direction)
        if clamped is None:
            continue
        touched = [x.owner, clamped]
        if not clamped.is_before_in_block(op):
            clamped.operands = [x, bound]
            clamped.detach()
            cast(Block, op.parent).insert_op_before(clamped, op)
        op.operands[index] = clamped.results[0]
        return Rewrite(touched=touched)
    return None


_MIRRORED = {"LT": "GT", "GT": "LT"}
_CLAMPS: dict[str, type[Operation]] = {"GT": MaximumOp, "LT": MinimumOp}


def _only_clamped(op: Operation, x: SSAValue, bound: SSAValue, direction: str) -> Operation | None:
    """The maximum, or minimum, of x and the bound, if besides it only such comparisons use x, in the block of `op`."""
    clamped: Operation | None = None
    for use in x.uses:
        user = use.operation
        if isinstance(user, CompareOp):
            if (_MIRRORED.get(user.direction) if use.index else user.direction) != direction:
                return None
        elif isinstance(user, _CLAMPS[direction]):
            clamped = user
        else:
            return None
        if user.parent is not op.parent or not _same_splat(user.operands[1 - use.index], bound):
            return None
    return clamped


def _same_splat(one: SSAValue, other: SSAValue) -> bool:
    a, b = one.owner, other.owner
    return one is other or (isinstance(a, ConstantOp) and isinstance(b, ConstantOp) and a.dense == b.dense)


@simplifications.on(HloOp)
def sink_reshape(op: Operation) -> Rewrite | None:
    """
    Sink the reshape after a keepdims reduction below elementwise operations.

    `divide(reshape(sum), splat)` becomes `reshape(divide(sum, splat))`: the quotient can then be the reduction's
    epilogue, and the reshape folds into a broadcast or is free at the end.
    """
    if not is_elementwise(op) or len(op.results) != 1:
        return None
    shape = shape_of(op.results[0])
    source: tuple[int, ...] | None = None
    for operand in op.operands:
        owner = operand.owner
        if shape_of(operand) != shape:
            return None
        if type(owner) is ReshapeOp:
            inner = shape_of(owner.operands[0])
            if (source is not None and inner != source) or not _comes_from_reduce(owner.operands[0]):
                return None
            source = inner
        elif not is_splat_constant(operand):
            return None
    if source is None:
        return None
    return _computed_at(op, source)


@simplifications.on(HloOp)
def compute_before_repeating(op: Operation) -> Rewrite | None:
    """
    A division or an elementary function of repeated elements is computed once for each, and its results are repeated:
    `exp(broadcast(x))` becomes `broadcast(exp(x))`.
    """
    if not is_elementwise(op) or op.cost < DIVISION or op.regions or len(op.results) != 1:
        return None
    values = [value for value in op.operands if not is_splat_constant(value)]
    if len(values) != 1 or not is_static(shape_of(values[0])):
        return None
    steps: list[Operation] = []
    value = values[0]
    while isinstance(owner := value.owner, ReshapeOp | BroadcastInDimOp):
        steps.insert(0, owner)
        value = owner.operands[0]
    shape = shape_of(value)
    if not steps or 2 * math.prod(shape) > math.prod(shape_of(op.results[0])):
        return None
    builder = Builder()
    operands = [value if each is values[0] else _splat(builder, each, shape) for each in op.operands]
    element = element_of(op.results[0])
    computed = builder.add(like(op, operands, [make_tensor(shape, element)]))
    for step in steps:
        type_ = make_tensor(shape_of(step.results[0]), element)
        computed = builder.add(like(step, [computed.value], [type_]))
    return by(computed)


def _splat(builder: Builder, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """A splat constant in another shape."""
    return builder.constant(
        constant_array(cast(ConstantOp, value.owner).dense).reshape(-1)[:1], make_tensor(shape, element_of(value))
    ).value


def _computed_at(op: Operation, shape: tuple[int, ...]) -> Rewrite:
    builder = Builder()
    operands: list[SSAValue] = []
    for operand in op.operands:
        if isinstance(operand.owner, ConstantOp):
            operands.append(_splat(builder, operand, shape))
        else:
            operands.append(cast(ReshapeOp, operand.owner).operands[0])
    moved = like(op, operands, [make_tensor(shape, element_of(op.results[0]))])
    return by(builder.add(moved).reshape(tensor_type(op.results[0])))


def _comes_from_reduce(value: SSAValue) -> bool:
    """Whether a value is a reduction's result, or computed elementwise from one."""
    for _ in range(16):
        owner = value.owner
        if isinstance(owner, ReduceOp):
            return True
        if not is_elementwise(owner):
            return False
        value = next((v for v in owner.operands if not isinstance(v.owner, ConstantOp)), owner.operands[0])
    return False
