"""Convolutions become those of inputs that are there: padding, dilation and reversal are operations of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.convolution import ConvolutionOp, DynamicConvOp
from ...hlo_dialect.creation import ConstantOp
from ...hlo_dialect.movement import ReverseOp
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.slicing import PadOp
from ...hlo_dialect.types import constant_array, dense_constant, element_of, numpy_dtype, shape_of


def _convolution(op: ConvolutionOp) -> Sequence[Operation]:
    """
    Before: `convolution(%x, %w) .. window = {stride = [2], pad = [[1, 1]], reverse = [true]}`
    After:  `%0 = pad %x, %zero, low = [0, 1, 0], ..`, `%1 = reverse %w, dims = [0]`, `convolution(%0, %1) ..`

    One without elements becomes zeros.
    """
    if not all(is_static(shape_of(value)) for value in (*op.operands, *op.results)):
        return ()
    if 0 in (*shape_of(op.result), *shape_of(op.lhs), *shape_of(op.rhs)):
        zeros = ConstantOp.of(_zero(op.result), op.result.type)
        replace_op(op, [zeros], zeros.results)
        return [zeros]
    window = op.window
    if not window.is_padded and not any(op.reversal):
        return ()
    new_ops: list[Operation] = []
    lhs: SSAValue = op.lhs
    rhs: SSAValue = op.rhs
    if window.is_padded:
        zero = ConstantOp.of(_zero(lhs).reshape(()))
        pad = PadOp.infer([lhs, zero.results[0]], _pads(op))
        new_ops += [zero, pad]
        lhs = pad.result
    if any(op.reversal):
        dims = [dim for dim, reverse in zip(op.dimension_numbers.kernel.spatial, op.reversal, strict=True) if reverse]
        reverse = ReverseOp.infer([rhs], {"dimensions": int_array(dims)})
        new_ops.append(reverse)
        rhs = reverse.result
    kept = {name: value for name, value in op.properties.items() if name not in _TAKEN_AWAY}
    new = ConvolutionOp.create(
        operands=[lhs, rhs], result_types=op.result_types, properties=kept, attributes=op.attributes
    )
    new_ops.append(new)
    replace_op(op, new_ops, new.results)
    return new_ops


_TAKEN_AWAY = ("padding", "lhs_dilation", "window_reversal")


def _zero(like: SSAValue) -> Any:
    """An array of one zero of a value's element type."""
    return np.zeros(1, numpy_dtype(element_of(like)))


def _pads(op: ConvolutionOp) -> dict[str, Attribute]:
    """The properties of the pad that its window's padding is."""
    window, dims = op.window, op.dimension_numbers.lhs.spatial
    found: dict[str, Attribute] = {}
    for name, values in (
        ("edge_padding_low", window.low),
        ("edge_padding_high", window.high),
        ("interior_padding", window.interior),
    ):
        amounts = [0] * len(shape_of(op.lhs))
        for dim, value in zip(dims, values, strict=True):
            amounts[dim] = value
        found[name] = int_array(amounts)
    return found


def _dynamic_conv(op: DynamicConvOp) -> Sequence[Operation]:
    """One whose padding is a constant becomes a convolution."""
    source = op.padding.owner
    if not isinstance(source, ConstantOp) or not is_static(shape_of(op.result)):
        return ()
    padding = dense_constant(constant_array(source.value).astype(np.int64))
    new = ConvolutionOp.create(
        operands=[op.lhs, op.rhs],
        result_types=op.result_types,
        properties={**op.properties, "padding": padding},
        attributes=op.attributes,
    )
    new.verify_()
    replace_op(op, [new], new.results)
    return [new]


DECOMPOSITIONS = ((ConvolutionOp, _convolution), (DynamicConvOp, _dynamic_conv))
