"""
Integers of 2 and 4 bits: a byte each, sign-extended in registers, zero-extended in memory.

An operation on them is the operation on bytes, of zero-extended operands where it is unsigned, its result truncated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation

from ..diagnostics import fail
from ..types import Array

UNSIGNED = frozenset(
    f"arith.{name}" for name in ("divui", "remui", "ceildivui", "maxui", "minui", "shrui", "extui", "uitofp")
) | {"math.ctpop", "math.ctlz", "math.cttz"}


def narrow_width(type_: Attribute) -> int | None:
    """The width of a type, or of its elements, where it is between 1 and 8 bits; None otherwise."""
    element: Any = getattr(type_, "element_type", type_)
    if type(element) is not IntegerType:
        return None
    width = cast("IntegerType[Any, Any]", element).width.data
    return width if 1 < width < 8 else None


def with_sign(x: Array, width: int) -> Array:
    """The low bits as a signed number."""
    shift = np.int8(8 - width)
    return x.astype(np.int8) << shift >> shift


def without_sign(x: Array, width: int) -> Array:
    """The low bits, zeros above."""
    return x & np.int8((1 << width) - 1)


def _is_unsigned(op: Operation) -> bool:
    if op.name == "arith.cmpi":
        predicate: Any = op.properties["predicate"]
        return predicate.value.data >= 6
    return op.name in UNSIGNED


def narrowed(op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
    """The operation's function, from its function of bytes; the same where no type is narrow."""
    widths = [narrow_width(operand.type) for operand in op.operands]
    result = narrow_width(op.results[0].type)
    if result is None and not any(widths):
        return function
    if len(op.results) > 1:
        fail(op, "computes with integers of 2 or 4 bits, which is defined for one result only")
    unsigned = _is_unsigned(op)

    def run(*operands: Array) -> Array:
        if unsigned:
            operands = tuple(
                x if width is None else without_sign(x, width) for x, width in zip(operands, widths, strict=True)
            )
        value = function(*operands)
        if op.name == "math.ctlz" and result is not None:
            value = value - np.int8(8 - result)
        elif op.name == "math.cttz" and result is not None:
            value = np.minimum(value, np.int8(result))
        return value if result is None else with_sign(value, result)

    return run
