"""
Constant evaluation of operations by their reference implementations.

Only if the result is small or a splat: reading a large precomputed constant costs more memory traffic than running the
operation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from ...dialects.support.classes import one_of
from ...dialects.support.editing import operands_of
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.diagnostics import DiagnosticError, fail
from ...hlo_dialect.op import HloOp, is_elementwise
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, SliceOp
from ...hlo_dialect.shapes import shape_text
from ...hlo_dialect.types import Array, HloTensor, constant_array, dense_constant, is_splat, numpy_dtype, shape_of

MAX_ELEMENTS = 64

_MOVEMENTS = (BroadcastInDimOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp)
_is_never = one_of(ConstantOp, CustomCallOp, IotaOp)

Dense = DenseIntOrFPElementsAttr[Any]


def evaluate(op: HloOp) -> Sequence[Attribute] | None:
    """The constant results of an operation on constants; None if unknown or too large."""
    operands = operands_of(op)
    if not operands or op.regions or _is_never(op):
        return None
    constants: list[Dense] = []
    for operand in operands:
        owner = operand.owner
        if type(owner) is not ConstantOp:
            return None
        constants.append(owner.dense)
    types = [cast(HloTensor, result.type) for result in op.results]
    if not types or not all(_is_known(type_) for type_ in types):
        return None
    if len(types) == 1 and all(is_splat(constant) for constant in constants):
        if isinstance(op, _MOVEMENTS):
            return (dense_constant(_element(constants[0]), types[0]),) if 0 not in types[0].get_shape() else None
        if is_elementwise(op) and 0 not in types[0].get_shape():
            values = _reference(op, [_element(constant) for constant in constants])
            return None if values is None else (dense_constant(values[0], types[0]),)
    if any(math.prod(type_.get_shape()) > MAX_ELEMENTS for type_ in types):
        return None
    values = _reference(op, [constant_array(constant) for constant in constants])
    if values is None:
        return None
    for value, type_ in zip(values, types, strict=True):
        if value.shape != type_.get_shape():
            fail(op, f"has a result of type {type_}, but its value has the shape {shape_text(value.shape)}")
    return [dense_constant(value, type_) for value, type_ in zip(values, types, strict=True)]


def _is_known(type_: Attribute) -> bool:
    """Whether the type can have constants: static, with an element type that NumPy has."""
    if type(type_) is not TensorType:
        return False
    return numpy_dtype(type_.element_type) is not None and all(size >= 0 for size in type_.get_shape())


def _element(constant: Dense) -> Array:
    return np.frombuffer(constant.data.data, dtype=numpy_dtype(constant.get_element_type()))[:1]


def _reference(op: HloOp, operands: list[Array]) -> tuple[Array, ...] | None:
    """The operation's reference; None if it has none for these types."""
    try:
        values = op.reference(*operands)
    except (NotImplementedError, DiagnosticError):
        return None
    return values if isinstance(values, tuple) else (np.asarray(values),)


MOST_STEPS = 64
"""Operations that are computed for one value."""


def known_value(value: SSAValue, most: int) -> Array | None:
    """The value of an expression of no argument; None if it is none, or a part has more than `most` elements."""
    known: dict[SSAValue, Array] = {}
    waiting = [value]
    while waiting:
        at, owner = waiting[-1], waiting[-1].owner
        if at in known:
            waiting.pop()
            continue
        if len(known) + len(waiting) > MOST_STEPS or not _is_computed(owner) or not _is_small(at, most):
            return None
        missing = [each for each in operands_of(owner) if each not in known]
        if missing:
            waiting += missing
            continue
        values = _values(owner, [known[each] for each in owner.operands])
        if values is None:
            return None
        known[at] = values
        waiting.pop()
    return known[value]


def _is_computed(op: object) -> TypeGuard[HloOp]:
    """Whether an operation has one result, of what it is given alone."""
    if type(op) is ConstantOp or type(op) is IotaOp:
        return True
    return isinstance(op, (*_MOVEMENTS, ConcatenateOp)) or (
        isinstance(op, HloOp) and is_elementwise(op) and len(op.results) == 1 and not op.regions
    )


def _is_small(value: SSAValue, most: int) -> bool:
    return _is_known(value.type) and math.prod(shape_of(value)) <= most


def _values(op: HloOp, operands: list[Array]) -> Array | None:
    """The only result of an operation."""
    if type(op) is ConstantOp:
        return constant_array(op.dense)
    values = _reference(op, operands)
    return None if values is None else values[0]
