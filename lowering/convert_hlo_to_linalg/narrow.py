"""f16 and bf16 arithmetic: computed in f32, rounded once per hlo operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32

from ...dialects.support.scalar import Scalar

NARROW = (BFloat16Type, Float16Type)


def is_narrow(value: Scalar) -> bool:
    return type(value.type) in NARROW


def widened(value: Scalar) -> Scalar:
    """A narrow float as f32; other types unchanged."""
    return value.extend(f32) if is_narrow(value) else value


def in_single(function: Callable[..., Scalar]) -> Callable[..., Scalar]:
    """
    Apply `function(op, *operands)` to narrow floats in f32.

    An f32 has more than twice the precision of f16 and bf16, so that +, -, *, / and sqrt are correctly rounded
    (Figueroa, When is double rounding innocuous?, 1995).
    """

    def wrapped(op: Any, *operands: Scalar) -> Scalar:
        narrow = next((operand.type for operand in operands if is_narrow(operand)), None)
        if narrow is None:
            return function(op, *operands)
        result = function(op, *map(widened, operands))
        return result.truncate(narrow) if result.type == f32 else result

    return wrapped
