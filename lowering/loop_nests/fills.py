"""Fills that need not run, because the following reduction starts from their value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, SSAValue

from ...dialects.support.views import is_view
from ...hlo_dialect.walking import operations_in
from .nest import address_of, sizes_of_loops


def is_reduction(op: Operation) -> bool:
    return isinstance(op, GenericOp) and any(t.data is IteratorType.REDUCTION for t in op.iterator_types.data)


def absorbed_fills(ops: Sequence[Operation]) -> dict[GenericOp, tuple[FillOp | None, ...]]:
    """
    For each reduction among these operations: per output, the fill whose value it starts from.

    The reduction stores every element itself, so that such a fill need not run. A reduction over nothing stores
    nothing, and absorbs nothing. `ops`: all that stand between them, too, such as loops, which may use what was filled.
    """
    pending: dict[SSAValue, FillOp] = {}
    absorbed: dict[GenericOp, tuple[FillOp | None, ...]] = {}
    for op in ops:
        if isinstance(op, FillOp):
            pending[op.outputs[0]] = op
            continue
        if isinstance(op, GenericOp) and is_reduction(op) and 0 not in sizes_of_loops(op):
            absorbed[op] = tuple(None if out in op.inputs else pending.get(out) for out in op.outputs)
        if pending and not is_view(op):
            touched = {address_of(x).root for x in _buffers_of(op)}
            for buffer in [b for b in pending if address_of(b).root in touched]:
                del pending[buffer]
    return absorbed


def _buffers_of(op: Operation) -> Iterator[SSAValue]:
    """The buffers that an operation may read or write, those of its regions included."""
    inner = (each for each in operations_in(op) if not is_view(each))
    return (x for each in inner for x in each.operands if isinstance(x.type, MemRefType))


def is_zero(value: SSAValue | None, positive: bool = False) -> bool:
    """Whether a value is a constant that leaves a sum as it is; `positive`: and is not -0."""
    if value is None or not isinstance(value.owner, arith.ConstantOp):
        return False
    constant = value.owner.value
    if not isinstance(constant, (FloatAttr, IntegerAttr)):
        return False
    number = cast(Any, constant).value.data
    return number == 0 and not (positive and math.copysign(1, number) < 0)
