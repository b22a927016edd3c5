"""
Rules for gather and scatter of single elements: what a loss over a vocabulary picks from each row, and its gradient.

The picked elements are computed alone, and a gradient of one element a row is a comparison with the row's indices,
which fuses: neither the tensor that is picked from nor one with mostly zeros is written.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.op import HloOp, is_elementwise
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.index_dimensions import GatherDimensionNumbersAttr, IndexDimensions, ScatterDimensionNumbersAttr
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.ops.scatter import ScatterOp, returned_argument
from ...hlo_dialect.ops.slicing import ConcatenateOp
from ...hlo_dialect.shapes import is_static, merged_dims
from ...hlo_dialect.types import (
    bit_width,
    constant_array,
    element_of,
    is_integer,
    is_splat,
    is_unsigned,
    make_tensor,
    shape_of,
    tensor_type,
)
from .rewrite import Rewrite, by, simplifications, start

FEW, VERY_FEW = 1 / 8, 1 / 16
"""The part of a tensor up to which the elements that a gather picks are computed alone: if nothing else needs it, or if
something does that may be fused."""


# -- indices that count --------------------------------------------------------------------------------


def counted_dim(value: SSAValue) -> tuple[int, int] | None:
    """(dimension, size): every element of the value is its index along that dimension; None for other values."""
    owner = value.owner
    if isinstance(owner, IotaOp):
        dim = owner.iota_dimension.value.data
        size = shape_of(value)[dim]
        return (dim, size) if holds_indices(value, size) else None
    if isinstance(owner, (BroadcastInDimOp, ReshapeOp)):
        found = counted_dim(owner.operands[0])
        if found is None:
            return None
        dim, size = found
        if isinstance(owner, BroadcastInDimOp):
            placed = owner.dims[dim]
            return (placed, size) if shape_of(value)[placed] == size else None
        source, shape = shape_of(owner.operands[0]), shape_of(value)
        if [n for n in source if n != 1] != [n for n in shape if n != 1] or size == 1:
            return None
        wide = sum(n != 1 for n in source[:dim])
        return [place for place, n in enumerate(shape) if n != 1][wide], size
    return None


def holds_indices(value: SSAValue, size: int) -> bool:
    """Whether the integer type of a value holds the indices below a size."""
    element = element_of(value)
    if not is_integer(element) or size < 1:
        return False
    return (size - 1).bit_length() <= bit_width(element) - (not is_unsigned(element))


@simplifications.on(GatherOp, ScatterOp)
def counted_index(op: Operation) -> Rewrite | None:
    """An index that counts along a dimension of the indices (`x[arange(n), i]`) becomes a batching dimension."""
    assert isinstance(op, (GatherOp, ScatterOp))
    indices = op.start_indices if isinstance(op, GatherOp) else op.scatter_indices
    dims, joined = op.dims, indices.owner
    shape = shape_of(op.operands[0])
    if not isinstance(joined, ConcatenateOp) or joined.dim != dims.vector_dim:
        return None
    if len(joined.operands) != len(dims.index_map) or not (is_static(shape) and is_static(shape_of(indices))):
        return None
    for number, (component, dim) in enumerate(zip(joined.operands, dims.index_map, strict=True)):
        counted = counted_dim(component)
        if counted is None or dim not in dims.collapsed or counted[1] != shape[dim] or len(dims.index_map) == 1:
            continue
        along = counted[0]
        if along == dims.vector_dim or along in dims.index_batching or (isinstance(op, GatherOp) and not op.sizes[dim]):
            continue
        pairs = sorted([*zip(dims.batching, dims.index_batching, strict=True), (dim, along)])
        new = replace(
            dims,
            collapsed=tuple(each for each in dims.collapsed if each != dim),
            batching=tuple(first for first, _ in pairs),
            index_batching=tuple(second for _, second in pairs),
            index_map=tuple(each for each in dims.index_map if each != dim),
        )
        builder = Builder()
        left = builder.tensors([each for i, each in enumerate(joined.operands) if i != number])
        rest = concatenate(left, dims.vector_dim) if len(left) > 1 else left[0]
        return _indexed_by(op, builder, rest, new)
    return None


def _indexed_by(op: GatherOp | ScatterOp, builder: Builder, indices: Tensor, dims: IndexDimensions) -> Rewrite:
    """The rewrite to the same operation with other indices, which are not sorted any more."""
    properties = {name: value for name, value in op.properties.items() if name != "indices_are_sorted"}
    if isinstance(op, GatherOp):
        properties["dimension_numbers"] = GatherDimensionNumbersAttr.of(dims)
        return by(builder.op(GatherOp, [op.operand, indices], op.results[0].type, **properties))
    properties["scatter_dimension_numbers"] = ScatterDimensionNumbersAttr.of(dims)
    operands = [indices.value if value is op.scatter_indices else value for value in op.operands]
    new = ScatterOp.create(
        operands=operands,
        result_types=op.result_types,
        properties=properties,
        attributes=op.attributes,
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    return Rewrite([*builder.ops, new], new.results)


@simplifications.on(GatherOp)
def flat_index(op: Operation) -> Rewrite | None:
    """
    Indices of neighbouring dimensions that are put together from computed ones, as of `x[i, j]`, become one of both.

    So they are computed where they are used, and in no memory.
    """
    assert isinstance(op, GatherOp)
    dims, joined, shape = op.dims, op.start_indices.owner, shape_of(op.operand)
    if not isinstance(joined, ConcatenateOp) or joined.dim != dims.vector_dim or dims.batching:
        return None
    count, first = len(dims.index_map), min(dims.index_map, default=0)
    merged = range(first, first + count)
    if count < 2 or len(joined.operands) != count or sorted(dims.index_map) != [*merged]:
        return None
    if not (is_static(shape) and is_static(shape_of(op.start_indices))) or 0 in shape:
        return None
    parts = dict(zip(dims.index_map, joined.operands, strict=True))
    total = math.prod(shape[dim] for dim in merged)
    if total >= 1 << 31 or any(
        dim not in dims.collapsed or op.sizes[dim] != 1 or counted_dim(part) or not holds_indices(part, shape[dim])
        for dim, part in parts.items()
    ):
        return None
    builder = Builder()
    flat: Tensor | None = None
    for dim in merged:
        part = _within(Tensor(builder, parts[dim]), shape[dim]).convert(i32)
        flat = part if flat is None else flat * shape[dim] + part
    assert flat is not None
    new = replace(
        dims,
        collapsed=tuple(dim if dim <= first else dim - count + 1 for dim in dims.collapsed if dim not in merged[1:]),
        index_map=(first,),
    )
    properties = {name: value for name, value in op.properties.items() if name != "indices_are_sorted"}
    properties["dimension_numbers"] = GatherDimensionNumbersAttr.of(new)
    properties["slice_sizes"] = int_array([size for dim, size in enumerate(op.sizes) if dim not in merged[1:]])
    x = Tensor(builder, op.operand).reshape([*shape[:first], total, *shape[first + count :]])
    return by(builder.op(GatherOp, [x, flat], op.results[0].type, **properties))


def _within(index: Tensor, size: int) -> Tensor:
    """An index as a gather takes it: the nearest one that is there."""
    low = index if is_unsigned(index.element) else index.maximum(0)
    return low.minimum(size - 1)


# -- picking elements ------------------------------------------------------------------------------------


@simplifications.on(GatherOp)
def gather_of_elementwise(op: Operation) -> Rewrite | None:
    """Few elements picked from a result are computed from elements picked from the operands."""
    assert isinstance(op, GatherOp)
    inner, shape = op.operand.owner, shape_of(op.result)
    if not isinstance(inner, HloOp) or not is_elementwise(inner) or len(inner.results) != 1 or inner.regions:
        return None
    whole = shape_of(op.operand)
    if not is_static(whole) or not is_static(shape) or 0 in whole:
        return None
    others = [use.operation for use in op.operand.uses if use.operation is not op]
    if not all(is_elementwise(other) or isinstance(other, ReduceOp) for other in others):
        return None  # It is in memory anyway.
    most = VERY_FEW if others else FEW
    if math.prod(shape) > most * math.prod(whole) or any(shape_of(x) not in ((), whole) for x in inner.operands):
        return None
    builder = Builder()
    picked: list[Tensor | SSAValue] = []
    for value in inner.operands:
        owner = value.owner
        if shape_of(value) != whole:
            picked.append(value)
        elif isinstance(owner, ConstantOp) and is_splat(owner.dense):
            element = constant_array(owner.dense).reshape(-1)[:1]
            picked.append(builder.constant(element, make_tensor(shape, element_of(value))))
        else:
            type_ = make_tensor(shape, element_of(value))
            picked.append(builder.op(GatherOp, [value, op.start_indices], type_, **op.properties))
    return by(builder.op(type(inner), picked, op.result.type, **inner.properties))


@simplifications.on(GatherOp)
def gather_of_broadcast(op: Operation) -> Rewrite | None:
    """Elements picked from a broadcast along the dimension that repeats it are the operand's, broadcast."""
    assert isinstance(op, GatherOp)
    inner, dims = op.operand.owner, op.dims
    if not isinstance(inner, BroadcastInDimOp) or dims.window:
        return None
    source, whole, shape = shape_of(inner.operands[0]), shape_of(op.operand), shape_of(op.result)
    if not (is_static(source) and is_static(whole) and is_static(shape)) or 0 in whole or 0 in shape:
        return None
    places = dims.places(len(whole), len(shape))
    kept = [(size, places[dim].batch) for size, dim in zip(source, inner.dims, strict=True) if size != 1]
    if any(batch is None for _, batch in kept):
        return None
    x = start(inner.operands[0]).reshape([size for size, _ in kept])
    return by(x.broadcast(tensor_type(op.result), [cast(int, batch) for _, batch in kept]))


@simplifications.on(GatherOp)
def gather_from_repeated(op: Operation) -> Rewrite | None:
    """
    A gather along a batching dimension that repeats its operand, as of one image for many regions, reads that alone.

    The indices of each repetition become further indices into the one there is, and the repetitions are not written.
    """
    assert isinstance(op, GatherOp)
    inner, dims, shape = op.operand.owner, op.dims, shape_of(op.operand)
    if isinstance(inner, ReshapeOp):
        inner = inner.operands[0].owner
    if not isinstance(inner, BroadcastInDimOp) or not dims.batching:
        return None
    source, whole = shape_of(inner.operands[0]), shape_of(inner.result)
    if not (is_static(source) and is_static(whole)) or 0 in whole:
        return None
    kept = {dim for size, dim in zip(source, inner.dims, strict=True) if size != 1}
    repeats = {dim: merged_dims(whole, shape, dim) for dim in dims.batching}
    found = [(dim, merged) for dim, merged in repeats.items() if merged and not kept.intersection(merged)]
    if not found:
        return None
    dim, merged = found[0]
    number = dims.batching.index(dim)
    left = [each for each in range(len(whole)) if each not in merged]
    placed = [(size, left.index(each)) for size, each in zip(source, inner.dims, strict=True) if each in left]
    x = start(inner.operands[0]).reshape([size for size, _ in placed])
    x = x.broadcast([whole[each] for each in left], [each for _, each in placed])
    x = x.reshape([*shape[:dim], *shape[dim + 1 :]])

    def without(each: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(other - (other > dim) for other in each if other != dim)

    new = replace(
        dims,
        collapsed=without(dims.collapsed),
        batching=without(dims.batching),
        index_batching=(*dims.index_batching[:number], *dims.index_batching[number + 1 :]),
        index_map=without(dims.index_map),
    )
    properties = {name: value for name, value in op.properties.items() if name != "indices_are_sorted"}
    properties["dimension_numbers"] = GatherDimensionNumbersAttr.of(new)
    properties["slice_sizes"] = int_array([*op.sizes[:dim], *op.sizes[dim + 1 :]])
    return by(x.builder.op(GatherOp, [x, op.start_indices], op.result.type, **properties))


@simplifications.on(ScatterOp)
def scatter_into_splat(op: Operation) -> Rewrite | None:
    """
    One element a row, combined into a constant: a selection by a comparison of the row's indices.

    Indices outside of the row equal none of its own, so that their updates are dropped as by the scatter.
    """
    assert isinstance(op, ScatterOp)
    dims = op.dims
    if op.input_count != 1 or len(dims.collapsed) != 1 or dims.index_map != dims.collapsed:
        return None
    base, (along,) = op.inputs[0], dims.collapsed
    owner, shape = base.owner, shape_of(base)
    batch = dims.batch_shape(shape_of(op.scatter_indices))
    if not isinstance(owner, ConstantOp) or not is_splat(owner.dense) or not is_static(shape) or 0 in shape:
        return None
    places = [dim - (dim > dims.vector_dim) for dim in dims.index_batching]
    one_each = all(size == 1 or dim in places for dim, size in enumerate(batch))
    single = all(size == 1 for dim, size in enumerate(shape) if dim != along and dim not in dims.batching)
    if not single or 0 in shape_of(op.updates[0]) or places != sorted(places) or not one_each:
        return None
    if not holds_indices(op.scatter_indices, shape[along]) or op.results[0].type != base.type or not is_combined(op):
        return None
    rows = [shape[dim] for dim in dims.batching]
    builder = Builder()
    index, update = (each.reshape(rows) for each in builder.tensors([op.scatter_indices, op.updates[0]]))
    element = builder.splat(constant_array(owner.dense).reshape(-1)[0], make_tensor(update.shape, element_of(base)))
    value = combined(op, element, update)
    numbers = builder.iota(make_tensor(shape, index.element), along)
    hit = numbers.compare("EQ", index.broadcast(shape, dims.batching))
    return by(hit.select(value.broadcast(shape, dims.batching), Tensor(builder, base)))


def is_combined(op: ScatterOp) -> bool:
    """Whether `combined` can apply a scatter's function, the first one, to tensors."""
    if element_of(op.inputs[0]) != element_of(op.updates[0]):
        return False
    region = op.update_computation
    return single_combiner(region) is not None or returned_argument(region.block) == 1


def combined(op: ScatterOp, first: Tensor, update: Tensor) -> Tensor:
    """The function of a scatter of which `is_combined` holds, of elements and their updates, of one shape."""
    block, combiner = op.update_computation.block, single_combiner(op.update_computation)
    if combiner is None:
        return update
    operands = [first if value is block.args[0] else update for value in combiner.operands]
    return update.builder.op(type(combiner), operands, update.type, **combiner.properties)
