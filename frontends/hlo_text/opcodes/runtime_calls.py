"""Calls of XLA's own runtime whose meaning is defined: top-k, memory without values, arrays of sizes up to a bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ....hlo_dialect.attributes import int_array, int_attr
from ....hlo_dialect.expressions.tensor import Tensor, concatenate
from ....hlo_dialect.ops.dynamism.dimension_sizes import (
    BoundsAttr,
    GetDimensionSizeOp,
    SetDimensionSizeOp,
    bounds_of,
)
from ....hlo_dialect.ops.dynamism.dynamic_shapes import DynamicPadOp
from ....hlo_dialect.shapes import DYNAMIC
from ....hlo_dialect.types import i32, make_tensor, tensor_type
from ..step import Step, Value
from .onednn import ONEDNN
from .reductions import top_k


def _xla_top_k(step: Step) -> Value:
    """XLA:CPU's name of a sort by a called computation `>`, cut off after k elements."""
    parts = step.shape.parts
    if len(step.operands) != 1 or len(parts) != 2 or not parts[0].dims:
        step.fail("the call of TopK takes an array and returns values and indices")
    return top_k(step, parts[0].dims[-1], True)


def _allocated(step: Step) -> Value:
    """Memory that a program is going to write to: XLA leaves its values undefined, here they are zero."""
    if step.operands:
        step.fail("the call of AllocateBuffer takes no operands")
    return step.builder().splat(0, step.tensor_type).value


def _slice_to_dynamic(step: Step) -> Value:
    """An array of the bounds' shape, and the size of each dimension: its first elements."""
    if not step.operands:
        step.fail("expected an array and the size of each of its dimensions")
    x, target = step.tensor(0), step.tensor_type
    shape, bounds = target.get_shape(), bounds_of(target) or ()
    if len(x.shape) != len(shape) or len(step.operands) != len(shape) + 1:
        step.fail(f"expected an array of {len(shape)} dimensions and the size of each")
    dims, limits = list(x.shape), [DYNAMIC] * len(shape)
    for dim, size in enumerate(shape):
        if size == DYNAMIC:
            dims[dim], limits[dim] = DYNAMIC, bounds[dim] if bounds else DYNAMIC
            type_ = TensorType(x.element, dims, BoundsAttr(int_array(limits)))
            x = x.builder.op(SetDimensionSizeOp, [x, step.value(dim + 1)], type_, dimension=int_attr(dim))
    return x.value


def _pad_to_static(step: Step) -> Value:
    """An array padded to its bounds, and the size of each dimension."""
    if len(step.operands) != 1 or len(step.shape.parts) != len(step.operand_shapes[0].dims) + 1:
        step.fail("expected one array, and a tuple of an array and the size of each dimension")
    x, target = step.tensor(0), step.shape.parts[0]
    sizes = [
        x.builder.op(GetDimensionSizeOp, [x], make_tensor((), i32), dimension=int_attr(dim))
        for dim in range(len(x.shape))
    ]
    values: list[SSAValue] = [size.value for size in sizes]
    if target.type is None or len(target.dims) != len(sizes) or DYNAMIC in target.dims:
        step.fail("the first result is no array of known sizes")
    if target.type == x.type or not sizes:
        return (x.value, *values)
    return (_padded(x, sizes, target.dims).value, *values)


def _padded(x: Tensor, sizes: list[Tensor], shape: tuple[int, ...]) -> Tensor:
    build = x.builder
    missing = [build.splat(whole, size.type) - size for whole, size in zip(shape, sizes, strict=True)]
    high = concatenate([each.reshape((1,)) for each in missing], 0)
    none = build.constant(np.zeros(len(shape), np.int32))
    zero = build.splat(0, make_tensor((), x.element))
    return build.op(DynamicPadOp, [x, zero, none, high, none], tensor_type(make_tensor(shape, x.element)))


MEANINGS: dict[str, Callable[[Step], Value]] = {
    "TopK": _xla_top_k,
    "AllocateBuffer": _allocated,
    "SliceToDynamic": _slice_to_dynamic,
    "PadToStatic": _pad_to_static,
    **ONEDNN,
}
"""The conversions of calls by their targets."""
