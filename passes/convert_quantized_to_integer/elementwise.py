"""Elementwise operations between equal scales, which are integer operations, and changes of type."""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects.support.rewriting import like
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.comparison import ClampOp, CompareOp, SelectOp
from ...hlo_dialect.ops.elementwise_binary import AddOp, MaximumOp, MinimumOp, SubtractOp
from ...hlo_dialect.ops.elementwise_unary import AbsOp, NegateOp
from ...hlo_dialect.ops.quantized.quantization import UniformDequantizeOp, UniformQuantizeOp
from ...hlo_dialect.ops.quantized.types import UniformQuantizedType
from .numbers import quantize, requantize, same_scales, wide, within, without_zero
from .transform import Conversion, integer_rules


@integer_rules.on(UniformQuantizeOp)
def _quantize(op: UniformQuantizeOp, conversion: Conversion) -> bool:
    (operand,), (source,), (target,) = conversion.operands, conversion.sources, conversion.targets
    assert target is not None, "the result was verified to be quantized"
    conversion.replace(quantize(operand, target) if source is None else requantize(operand, source, target))
    return True


@integer_rules.on(UniformDequantizeOp)
def _dequantize(op: UniformDequantizeOp, conversion: Conversion) -> bool:
    conversion.replace(conversion.real(0))
    return True


def _of_equal_scales(conversion: Conversion) -> list[UniformQuantizedType] | None:
    """The quantized types of operands and results, if their scales are equal (see `same_scales`)."""
    elements = [one for one in (*conversion.sources, *conversion.targets) if one is not None]
    return elements if len(elements) == len(conversion.sources) + 1 and same_scales(*elements) else None


@integer_rules.on(AddOp, SubtractOp, NegateOp, AbsOp)
def _sum(op: Operation, conversion: Conversion) -> bool:
    """`%a + %b` becomes `(%a - za) + (%b - zb) + z`, within the range of the result."""
    elements = _of_equal_scales(conversion)
    if elements is None:
        return False
    type_ = wide(*elements)
    pairs = zip(conversion.operands, elements[:-1], strict=True)
    first, *others = (without_zero(operand, element, type_) for operand, element in pairs)
    conversion.replace(within(first.apply(type(op), *others), elements[-1]))
    return True


@integer_rules.on(MaximumOp, MinimumOp, ClampOp)
def _choice(op: Operation, conversion: Conversion) -> bool:
    """Greater numbers are stored as greater integers."""
    elements = _of_equal_scales(conversion)
    if elements is None or any(element != elements[0] for element in elements):
        return False
    new = like(op, op.operands, op.result_types)
    conversion.builder.insert(new)
    conversion.replace(Tensor(conversion.builder, new.results[0]))
    return True


@integer_rules.on(CompareOp)
def _compare(op: CompareOp, conversion: Conversion) -> bool:
    lhs, rhs = conversion.sources
    if lhs is None or lhs != rhs or not same_scales(lhs):
        return False
    left, right = conversion.operands
    conversion.replace(left.compare(op.direction, right))
    return True


@integer_rules.on(SelectOp)
def _select(op: SelectOp, conversion: Conversion) -> bool:
    """The choice between values of other types is that between values converted to the result's type."""
    (target,) = conversion.targets
    assert target is not None, "the result was verified to be quantized"
    chosen = [
        operand if source == target else requantize(operand, source, target)
        for operand, source in zip(conversion.operands[1:], conversion.sources[1:], strict=True)
        if source is not None
    ]
    conversion.replace(conversion.operands[0].select(*chosen))
    return True
