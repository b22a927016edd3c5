"""Rules for arithmetic on indices in 64 bits for which 32 suffice: twice as many fit in a vector."""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type, Float64Type, i32
from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.loops.bounds import Bounds, bounds_of
from ...hlo_dialect.ops.comparison import CompareOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import IotaOp, splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp, MaximumOp, MinimumOp, MultiplyOp, SubtractOp
from ...hlo_dialect.ops.elementwise_unary import AbsOp, NegateOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.types import bit_width, element_of, is_integer, is_unsigned, make_tensor, shape_of
from .rewrite import Rewrite, by, simplifications

_ARITHMETIC = (AbsOp, AddOp, BroadcastInDimOp, MaximumOp, MinimumOp, MultiplyOp, NegateOp, ReshapeOp, SubtractOp)

_MOST_STEPS = 16
"""Operations that are made again in 32 bits."""

_ROOM = Bounds(-(1 << 31), (1 << 31) - 1)


class _Narrowed:
    """Values of 64-bit integers, made again in 32 bits."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.made: dict[SSAValue, Tensor] = {}
        self.counts = False
        """Whether a value depends on indices."""

    def of(self, value: SSAValue) -> Tensor | None:
        """The value; None if it is not computed from indices and constants alone, or may leave 32 bits."""
        if value not in self.made:
            found = self._of(value)
            if found is None:
                return None
            self.made[value] = found
        return self.made[value]

    def _of(self, value: SSAValue) -> Tensor | None:
        op, type_ = value.owner, make_tensor(shape_of(value), i32)
        bounds = bounds_of(value) if isinstance(op, Operation) and len(self.made) < _MOST_STEPS else None
        if bounds is None or not bounds.is_within(_ROOM):
            return None
        number = splat_of(value)
        if number is not None:
            return self.builder.splat(int(number), type_)
        if isinstance(op, IotaOp):
            self.counts = True
            return self.builder.op(IotaOp, (), type_, iota_dimension=op.iota_dimension)
        if not isinstance(op, _ARITHMETIC):
            return None
        operands = [self.of(operand) for operand in op.operands]
        known = [operand for operand in operands if operand is not None]
        return self.builder.op(type(op), known, type_, **op.properties) if len(known) == len(operands) else None


def _is_long(value: SSAValue) -> bool:
    element = element_of(value)
    return is_integer(element) and bit_width(element) == 64 and not is_unsigned(element)


@simplifications.on(ConvertOp)
def convert_short_indices(op: Operation) -> Rewrite | None:
    """Floats that are computed from indices alone are converted from 32-bit integers, if these have room for them."""
    if not _is_long(op.operands[0]) or not isinstance(element_of(op.results[0]), Float32Type | Float64Type):
        return None
    narrowed = _Narrowed()
    x = narrowed.of(op.operands[0])
    return by(narrowed.builder.op(ConvertOp, [x], op.results[0].type)) if x is not None and narrowed.counts else None


@simplifications.on(CompareOp)
def compare_short_indices(op: Operation) -> Rewrite | None:
    """Numbers that are computed from indices alone, as for the mask of a triangle, are compared as 32-bit integers."""
    if not _is_long(op.operands[0]):
        return None
    narrowed = _Narrowed()
    left = narrowed.of(op.operands[0])
    right = None if left is None else narrowed.of(op.operands[1])
    if left is None or right is None or not narrowed.counts:
        return None
    return by(narrowed.builder.op(CompareOp, [left, right], op.results[0].type, **op.properties))
