"""
Older generic forms of StableHLO: `dense<[0, 1]> : tensor<2xi64>` where the dialect now has `array<i64: 0, 1>`.

A property that its operation accepts as it is stays unchanged.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerType
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, IRDLOperation
from xdsl.irdl.constraints import VerificationContext
from xdsl.utils.exceptions import VerifyException

from ..types import constant_array, numpy_dtype


def normalize_properties(op: IRDLOperation) -> None:
    """Turn dense integer lists into arrays where the operation wants arrays."""
    definitions = op.get_irdl_definition().properties
    for name, value in list(op.properties.items()):
        definition = definitions.get(name)
        if definition is None or not isinstance(value, DenseIntOrFPElementsAttr):
            continue
        value = cast("DenseIntOrFPElementsAttr[Any]", value)
        array = _as_array(value)
        if array is not None and not accepts(definition.constr, value) and accepts(definition.constr, array):
            op.properties[name] = array


def _as_array(value: DenseIntOrFPElementsAttr[Any]) -> Attribute | None:
    element_type: Any = value.get_element_type()
    if not isinstance(element_type, IntegerType) or numpy_dtype(cast(Attribute, element_type)) is None:
        return None
    if len(value.get_shape()) != 1 or value.get_shape()[0] > 1 << 16:
        return None
    return DenseArrayBase.from_list(
        cast("IntegerType[int, Any]", element_type), [int(element) for element in constant_array(value)]
    )


def accepts(constraint: AttrConstraint, value: Attribute) -> bool:
    """Whether a value satisfies the constraint of a property."""
    try:
        constraint.verify(value, VerificationContext())
    except VerifyException:
        return False
    return True
