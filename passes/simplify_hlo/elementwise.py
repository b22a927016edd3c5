"""Rules for elementwise operations: exact conversions, neutral infinities, reshapes sunk below them."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.op import HloOp, is_elementwise
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_of
from ...hlo_dialect.ops.elementwise_binary import MaximumOp, MinimumOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.types import (
    constant_array,
    element_of,
    is_float,
    is_integer,
    is_splat,
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
        if isinstance(owner, ReshapeOp):
            inner = shape_of(owner.operands[0])
            if (source is not None and inner != source) or not _comes_from_reduce(owner.operands[0]):
                return None
            source = inner
        elif not (isinstance(owner, ConstantOp) and is_splat(owner.dense)):
            return None
    if source is None:
        return None
    return _computed_at(op, source)


def _computed_at(op: Operation, shape: tuple[int, ...]) -> Rewrite:
    builder = Builder()
    operands: list[SSAValue] = []
    for operand in op.operands:
        owner = operand.owner
        if isinstance(owner, ConstantOp):
            element = constant_array(owner.dense).reshape(-1)[:1]
            operands.append(builder.constant(element, make_tensor(shape, element_of(operand))).value)
        else:
            operands.append(cast(ReshapeOp, owner).operands[0])
    moved = type(op).create(
        operands=operands,
        result_types=[make_tensor(shape, element_of(op.results[0]))],
        properties=op.properties,
        attributes=op.attributes,
    )
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
