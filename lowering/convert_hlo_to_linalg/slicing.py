"""hlo.slice, hlo.concatenate and hlo.pad: an index map, inserts into slices, a body that reads at a clamped index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, func, tensor
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.support.buffers import i32_array, i64_array
from ...dialects.support.kernel import PADDING
from ...dialects.support.scalar import Scalar
from ...dialects.tensor_ops import ExtractSliceOp, InsertSliceOp
from ...hlo_dialect.attributes import ints
from ...hlo_dialect.ops import slicing as hlo
from ...hlo_dialect.types import bit_width, element_of, shape_of
from ..device.cpu import CPU
from ..loop_nests.index_maps import part_of
from .emission import (
    Emitter,
    Shape,
    affine_map,
    first,
    identity_map,
    iterators,
    loop_index,
    patterns,
    signless,
)


@patterns.on(hlo.SliceOp)
def _slice(op: hlo.SliceOp, emitter: Emitter) -> None:
    """Dimension d reads (d * stride + start)."""
    results = [AffineExpr.dimension(dim) * stride for dim, stride in enumerate(ints(op.strides))]
    results = [place + start for place, start in zip(results, ints(op.start_indices), strict=True)]
    for dim, (size, kept) in enumerate(zip(shape_of(op.operand), shape_of(op.result), strict=True)):
        if kept == 0:
            results[dim] = AffineExpr.constant(0)  # never read; the start may be beyond the operand's end
        elif size != kept and results[dim] == AffineExpr.dimension(dim):
            results[dim] = part_of(dim, size)
    emitter.moved(op.result, emitter.get(op.operand), affine_map(len(results), *results))


@patterns.on(hlo.ConcatenateOp)
def _concatenate(op: hlo.ConcatenateOp, emitter: Emitter) -> None:
    """Each operand is inserted into its slice of the result."""
    type_: Any = signless(op.result.type)
    dim = op.dimension.value.data
    whole = emitter.empty(type_)
    offset = 0
    for operand in op.inputs:
        shape = shape_of(operand)
        offsets = tuple(offset if d == dim else 0 for d in range(len(shape)))
        whole = insert(emitter.get(operand), whole, offsets, (), emitter)
        offset += shape[dim]
    emitter.define(op.result, whole)


def insert(
    source: SSAValue,
    dest: SSAValue,
    offsets: Shape,
    dynamic: tuple[SSAValue, ...],
    emitter: Emitter,
    strides: Shape | None = None,
) -> SSAValue:
    """
    tensor.insert_slice of a whole tensor; each DYNAMIC_INDEX in `offsets` takes the next value of `dynamic`.

    Strides are 1 unless they are stated.
    """
    type_: Any = source.type
    shape: Shape = type_.get_shape()
    op = InsertSliceOp.create(
        operands=[source, dest, *dynamic],
        result_types=[dest.type],
        properties={
            "static_offsets": i64_array(offsets),
            "static_sizes": i64_array(shape),
            "static_strides": i64_array((1,) * len(shape) if strides is None else strides),
            "operandSegmentSizes": i32_array((1, 1, len(dynamic), 0, 0)),
        },
    )
    return emitter.add(op).results[0]


def slice_at(
    source: SSAValue, starts: Sequence[SSAValue], sizes: Sequence[int], type_: Attribute, emitter: Emitter
) -> SSAValue:
    """tensor.extract_slice of neighbouring elements, of that type."""
    return emitter.add(ExtractSliceOp(source, starts, sizes, (1,) * len(sizes), type_)).results[0]


@patterns.on(hlo.PadOp)
def _pad(op: hlo.PadOp, emitter: Emitter) -> None:
    """
    Each element reads the operand at its clamped index and selects the padding value if the index was out of bounds; or
    the result is padding, into which the operand is inserted with a stride.

    xhlo.padding states what convolutions need to pad rows of their input themselves.
    """
    type_: Any = signless(op.result.type)
    rank = len(type_.get_shape())
    source, padding = emitter.get(op.operand), emitter.get(op.padding_value)
    sizes = shape_of(op.operand)
    lows, interiors = ints(op.edge_padding_low), ints(op.interior_padding)

    def body(pad: Scalar, out: Scalar) -> Scalar:
        block = out.block
        inside: Scalar | None = None
        places: list[SSAValue] = []
        for dim, (size, low, step) in enumerate(zip(sizes, lows, (i + 1 for i in interiors), strict=True)):
            place = loop_index(block, dim)
            if low:
                place = place + place.constant(-low, place.type)
            # Check only dimensions that may be out of bounds: one without padding is read directly.
            before, after = low > 0, type_.get_shape()[dim] - low > (size - 1) * step + 1
            conditions = [place.compare("ge", 0)] if before else []
            if after:
                conditions.append(place.compare("lt", size * step))
            if step > 1:
                conditions.append(place.apply(arith.RemSIOp, step).compare("eq", 0))
                place = place.apply(arith.DivSIOp, step)
            for condition in conditions:
                inside = condition if inside is None else inside & condition
            place = place.apply(arith.MaxSIOp, 0) if before else place
            places.append((place.apply(arith.MinSIOp, size - 1) if after else place).value)
        read = tensor.ExtractOp.create(operands=[source, *places], result_types=[type_.element_type])
        block.add_op(read)
        element = Scalar(block, read.results[0])
        return element if inside is None else inside.select(element, pad)

    spreads = emitter.fills_pads and _spreads(op)
    if 0 in sizes or spreads:
        results = emitter.generic(
            [padding], [emitter.empty(type_)], (affine_map(rank), identity_map(rank)), iterators(rank), first
        )
        if spreads:
            results = [insert(source, results[0], tuple(lows), (), emitter, tuple(i + 1 for i in interiors))]
    else:
        marks: dict[str, Attribute] = {PADDING: i64_array(lows)} if op.surrounds else {}
        maps = affine_map(rank), identity_map(rank)
        results = emitter.generic([padding], [emitter.empty(type_)], maps, iterators(rank), body, marks)
    emitter.define(op.result, results[0])


MOST_FILLED = 4 * CPU.l2_bytes
"""The size of the largest result that is filled with padding before the operand's elements are put there."""

SHARE_SPREAD = 3
"""Elements of a result for each of the operand from which on filling costs less, if there is no edge before rows."""


MOST_IN_ROW = 64
"""Bytes of the operand in a row, from the last padded dimension on, up to which filling costs less than to ask of each
element whether it is there; a fourth of them in a result that is larger than `MOST_FILLED`."""

LEAST_FILLED = 1 << 14
"""Bytes of a result from which filling it is worth its own code; smaller ones call a function that programs share."""

MOST_APART, MOST_WHOLE = 32, 8
"""Elements of a result's last dimension up to which that holds for rows with padding between them, if that dimension is
padded or not."""


def _spreads(op: hlo.PadOp) -> bool:
    """
    Whether a result is filled with padding, and the operand put there with a stride: vectors of elements and padding
    would be gathered, and short rows asked element by element. All elements must be there, and nothing in the kernel
    take the result.
    """
    interiors, shape, sizes = ints(op.interior_padding), shape_of(op.result), shape_of(op.operand)
    lows, highs = ints(op.edge_padding_low), ints(op.edge_padding_high)
    if not interiors or min(*lows, *highs) < 0 or 0 in sizes:
        return False
    if not all(isinstance(use.operation, func.ReturnOp) for use in op.result.uses):
        return False
    size, element = math.prod(shape), bit_width(element_of(op.result)) / 8
    is_small = size * element <= MOST_FILLED
    if interiors[-1]:
        return is_small and (lows[-1] > 0 or size >= SHARE_SPREAD * math.prod(sizes))
    padded = [dim for dim, (part, whole) in enumerate(zip(sizes, shape, strict=True)) if part != whole]
    is_apart = any(interiors[dim] for dim in padded)
    if not padded or (len(padded) == 1 and not is_apart) or size * element < LEAST_FILLED:
        return False
    if math.prod(sizes[padded[-1] :]) * element <= MOST_IN_ROW / (1 if is_small else 4):
        return True
    is_last = padded[-1] == len(shape) - 1
    return is_small and is_apart and shape[-1] <= (MOST_APART if is_last else MOST_WHOLE)
