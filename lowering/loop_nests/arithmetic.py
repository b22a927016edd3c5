"""Comparisons, choices and indices that loops of linalg_ext operations compute, as arith operations."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.build.buffers import INDEX
from .loop_builder import LoopBuilder

_PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ule": 7}


def emit(builder: LoopBuilder, cls: type[Operation], operands: list[SSAValue], type_: Attribute) -> SSAValue:
    """The result of an arith operation without properties, but for the flags of integer overflow."""
    properties: dict[str, Attribute] = {}
    if cls in (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp):
        properties["overflowFlags"] = arith.IntegerOverflowAttr("none")
    return builder.insert(cls.create(operands=operands, result_types=[type_], properties=properties)).results[0]


def compare(builder: LoopBuilder, predicate: str, first: SSAValue, second: SSAValue) -> SSAValue:
    """An i1, of integers or indices."""
    op = arith.CmpiOp.create(
        operands=[first, second],
        result_types=[i1],
        properties={"predicate": IntegerAttr(_PREDICATES[predicate], i64)},
    )
    return builder.insert(op).results[0]


def choose(builder: LoopBuilder, condition: SSAValue, first: SSAValue, second: SSAValue) -> SSAValue:
    """arith.select"""
    return emit(builder, arith.SelectOp, [condition, first, second], first.type)


def both(builder: LoopBuilder, first: SSAValue, second: SSAValue) -> SSAValue:
    return emit(builder, arith.AndIOp, [first, second], first.type)


def either(builder: LoopBuilder, first: SSAValue, second: SSAValue) -> SSAValue:
    return emit(builder, arith.OrIOp, [first, second], first.type)


def binary(builder: LoopBuilder, cls: type[Operation], first: SSAValue, second: SSAValue) -> SSAValue:
    """An operation on two values of one type with a result of that type."""
    return emit(builder, cls, [first, second], first.type)


def to_index(builder: LoopBuilder, value: SSAValue, unsigned: bool) -> SSAValue:
    """An integer as an index of 64 bits."""
    if cast(Any, value.type).width.data < 64:
        value = emit(builder, arith.ExtUIOp if unsigned else arith.ExtSIOp, [value], i64)
    return emit(builder, arith.IndexCastOp, [value], INDEX)
