"""Fills that need not run, because the following reduction starts from their value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, SSAValue

from .nest import address_of, nest_of_generic


def is_reduction(op: Operation) -> bool:
    return isinstance(op, GenericOp) and any(t.data is IteratorType.REDUCTION for t in op.iterator_types.data)


def absorbed_fills(ops: Sequence[Operation]) -> dict[GenericOp, tuple[FillOp | None, ...]]:
    """
    For each reduction of a kernel: per output, the fill whose value it starts from.

    The reduction stores every element itself, so that such a fill need not run. A reduction over nothing stores
    nothing, and absorbs nothing.
    """
    pending: dict[SSAValue, FillOp] = {}
    absorbed: dict[GenericOp, tuple[FillOp | None, ...]] = {}
    for op in ops:
        if isinstance(op, FillOp):
            pending[op.outputs[0]] = op
            continue
        if isinstance(op, GenericOp) and is_reduction(op) and 0 not in nest_of_generic(op).sizes:
            absorbed[op] = tuple(None if out in op.inputs else pending.get(out) for out in op.outputs)
        touched = {address_of(x).root for x in op.operands if isinstance(x.type, MemRefType)}
        for buffer in [b for b in pending if address_of(b).root in touched]:
            del pending[buffer]
    return absorbed


def is_zero(value: SSAValue | None, positive: bool = False) -> bool:
    """Whether a value is a constant that leaves a sum as it is; `positive`: and is not -0."""
    if value is None or not isinstance(value.owner, arith.ConstantOp):
        return False
    constant = value.owner.value
    if not isinstance(constant, (FloatAttr, IntegerAttr)):
        return False
    number = cast(Any, constant).value.data
    return number == 0 and not (positive and math.copysign(1, number) < 0)
