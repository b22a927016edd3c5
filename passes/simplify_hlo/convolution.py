"""Rules for convolutions: those that are products of matrices, and transposes that become dimension numbers."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.ops.movement import TransposeOp
from ...hlo_dialect.ops.slicing import SliceOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.syntax.convolution import ConvDimensionNumbersAttr, Dimensions
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .rewrite import OPEN_ORDER, Rewrite, assumes, by, simplifications, start

SMALL = 1 << 18
"""Multiplications of a convolution below which the order of its dimensions in memory hardly matters."""


@simplifications.on(ConvolutionOp)
@assumes(OPEN_ORDER)
def convolution_to_product(op: Operation) -> Rewrite | None:
    """
    A convolution with windows of one element, or of the whole input, is a product of matrices. A dilated window of a
    slice leaves out more of what the slice does.
    """
    assert isinstance(op, ConvolutionOp)
    numbers = op.dimension_numbers
    lhs, rhs, out = (shape_of(value) for value in (op.lhs, op.rhs, op.result))
    spatial = zip(numbers.lhs.spatial, numbers.kernel.spatial, strict=True)
    window, sliced = op.window, isinstance(op.lhs.owner, SliceOp)
    kept_of = list(map(range, lhs))
    for (place, dim), dilation in zip(spatial, window.dilations, strict=True):
        if sliced and 1 < rhs[dim] < lhs[place] == (rhs[dim] - 1) * dilation + 1:
            kept_of[place] = range(0, lhs[place], dilation)
        elif rhs[dim] not in (1, lhs[place]):
            return None
    if op.feature_groups != 1 or op.batch_groups != 1 or window.is_padded or any(op.reversal):
        return None
    if any(not is_static(shape) or 0 in shape for shape in (lhs, rhs, out)):
        return None
    free: dict[int, int] = {numbers.lhs.batch: numbers.output.batch}
    contracted = [(numbers.lhs.feature, numbers.kernel.batch)]
    for dim, size in enumerate(window.dimensions):
        place = numbers.lhs.spatial[dim]
        if size == 1 and window.strides[dim] == 1:
            free[place] = numbers.output.spatial[dim]
        elif size == len(kept_of[place]):
            contracted.append((place, numbers.kernel.spatial[dim]))
        else:
            return None
    # The order of the result's dimensions; those of one element are anywhere.
    order = [place for _, place in sorted(free.items()) if out[place] != 1]
    feature = numbers.output.feature
    left = [*order, feature] if out[feature] != 1 else order
    right = [feature, *order] if out[feature] != 1 else order
    wide = [dim for dim in range(len(out)) if out[dim] != 1]
    if wide not in (left, right):
        return None
    kept = sorted({numbers.kernel.feature, *(place for _, place in contracted)})
    x = start(op.lhs)
    if any(len(each) != size for each, size in zip(kept_of, lhs, strict=True)):
        x = x.slice([0] * len(lhs), lhs, [each.step for each in kept_of])
    w = Tensor(x.builder, op.rhs).reshape([rhs[dim] for dim in kept])
    of_x, of_w = tuple(a for a, _ in contracted), tuple(kept.index(b) for _, b in contracted)
    stated: dict[str, Attribute] = {}
    levels = op.precision_config
    in_order = wide == left
    if levels is not None and levels.data:
        stated["precision_config"] = levels if in_order else ArrayAttr(levels.data[::-1])
    first, second, dims = (x, w, (of_x, of_w)) if in_order else (w, x, (of_w, of_x))
    product = first.dot(second, DotDimensionNumbersAttr.of((), (), *dims), element_of(op.result), **stated)
    return by(product.reshape(out))


@simplifications.on(ConvolutionOp)
def convolution_of_transpose(op: Operation) -> Rewrite | None:
    """
    A convolution of a transpose reads the transpose's operand, if that is small, or has its features last too.

    Large ones compute faster in an order that decompose-hlo chooses, which these keep.
    """
    assert isinstance(op, ConvolutionOp)
    numbers = op.dimension_numbers
    for index, dims in enumerate((numbers.lhs, numbers.kernel)):
        moved = op.operands[index].owner
        if not isinstance(moved, TransposeOp):
            continue
        new, last = _renumbered(dims, moved.dims), len(moved.dims) - 1
        if not _is_small(op) and last not in ((new.batch, new.feature) if index == 0 else (new.feature,)):
            continue
        both = (new, numbers.kernel) if index == 0 else (numbers.lhs, new)
        operands = list(op.operands)
        operands[index] = moved.operands[0]
        return _with(op, operands, ConvDimensionNumbersAttr.of(*both, numbers.output), op.result.type)
    return None


@simplifications.on(TransposeOp)
def transpose_of_convolution(op: Operation) -> Rewrite | None:
    """A small convolution, of which nothing else needs the result, makes it in the order of its transpose."""
    assert isinstance(op, TransposeOp)
    inner = op.operands[0].owner
    if not isinstance(inner, ConvolutionOp) or not inner.result.has_one_use() or not _is_small(inner):
        return None
    numbers = inner.dimension_numbers
    places = [op.dims.index(dim) for dim in range(len(op.dims))]
    new = ConvDimensionNumbersAttr.of(numbers.lhs, numbers.kernel, _renumbered(numbers.output, places))
    return _with(inner, list(inner.operands), new, make_tensor(shape_of(op.results[0]), element_of(inner.result)))


def _renumbered(dims: Dimensions, places: tuple[int, ...] | list[int]) -> Dimensions:
    return Dimensions(places[dims.batch], places[dims.feature], tuple(places[dim] for dim in dims.spatial))


def _is_small(op: ConvolutionOp) -> bool:
    taps, shape = shape_of(op.rhs), shape_of(op.result)
    if not is_static(taps) or not is_static(shape):
        return False
    return math.prod(shape) * math.prod(taps) < SMALL * max(1, taps[op.dimension_numbers.kernel.feature])


def _with(op: ConvolutionOp, operands: list[SSAValue], numbers: ConvDimensionNumbersAttr, type_: Attribute) -> Rewrite:
    """The convolution of other operands, with other dimension numbers."""
    x = start(op.lhs)
    return by(x.builder.op(ConvolutionOp, operands, type_, **{**op.properties, "dimension_numbers": numbers}))
