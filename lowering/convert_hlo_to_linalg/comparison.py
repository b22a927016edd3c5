"""hlo.compare, hlo.select and hlo.clamp on one element."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith

from ...dialects.support.scalar import Scalar, width_of
from ...hlo_dialect.ops import comparison as hlo
from ...hlo_dialect.types import element_of, is_boolean, is_unsigned
from .emission import scalar_patterns
from .narrow import widened


def _total_order(x: Scalar) -> Scalar:
    """The bits as an integer in the floats' total order: negative ones with all bits but the sign flipped."""
    bits = x.bits()
    width = width_of(bits.type)
    return bits ^ ((bits >> (width - 1)) & ((1 << (width - 1)) - 1))


def _weak_order(x: Scalar) -> Scalar:
    """As `_total_order`, with all NaN equal and above infinity, and both zeros equal."""
    wide = widened(x)
    key = wide.compare("eq", 0.0).select(0, _total_order(x))
    return wide.compare("uno", wide).select((1 << (width_of(key.type) - 1)) - 1, key)


@scalar_patterns.on(hlo.CompareOp)
def _compare(op: hlo.CompareOp, x: Scalar, y: Scalar) -> Scalar:
    predicate = op.comparison_direction.data.value.lower()
    element = element_of(op.lhs)
    if x.is_float:
        if op.is_total_order:
            return _total_order(x).compare(predicate, _total_order(y))
        if op.is_weak_order:
            return _weak_order(x).compare(predicate, _weak_order(y))
        return widened(x).compare(predicate, widened(y))
    if predicate not in ("eq", "ne") and (is_unsigned(element) or is_boolean(element)):
        predicate = f"u{predicate}"
    return x.compare(predicate, y)


@scalar_patterns.on(hlo.ClampOp)
def _clamp(op: hlo.ClampOp, low: Scalar, x: Scalar, high: Scalar) -> Scalar:
    """min(max(x, low), high)."""
    if x.is_float:
        narrow = x.type
        clamped = widened(x).apply(arith.MaximumfOp, widened(low)).apply(arith.MinimumfOp, widened(high))
        return clamped if clamped.type == narrow else clamped.truncate(narrow)
    element = element_of(op.operand)
    if is_unsigned(element) or is_boolean(element):
        return x.apply(arith.MaxUIOp, low).apply(arith.MinUIOp, high)
    return x.apply(arith.MaxSIOp, low).apply(arith.MinSIOp, high)


@scalar_patterns.on(hlo.SelectOp)
def _select(op: Any, predicate: Scalar, on_true: Scalar, on_false: Scalar) -> Scalar:
    return predicate.select(on_true, on_false)
