"""
The classification of operations into those that compute with element values, and those that only move, select or
convert them.

No operation computes in floats of 8 bits or less: they are stored as bits, and arithmetic on them uses f32
(passes/normalize_narrow_floats.py).
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from ...dialects.support.editing import operands_of
from ..op import is_hlo
from ..types import HloTensor, is_narrow_float
from ..walking import TypeFact


def _is_narrow(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and is_narrow_float(cast(HloTensor, type_).element_type)


is_narrow_type = TypeFact(_is_narrow)
"""Whether a type is a tensor of floats of 8 bits or less."""


def touches_narrow_floats(op: Operation) -> bool:
    """Whether an operand or result of the operation has narrow floats."""
    return any(is_narrow_type(value.type) for value in (*operands_of(op), *op.results))


def computes(op: Operation) -> bool:
    """Whether the operation itself, without its regions, computes with element values."""
    return is_hlo(op) and op.COMPUTES


def needs_normalization(op: Operation) -> bool:
    """Whether the operation, or an operation in its regions, computes on narrow floats."""
    if not op.regions:
        return computes(op) and touches_narrow_floats(op)
    return any(computes(inner) and touches_narrow_floats(inner) for inner in op.walk())
