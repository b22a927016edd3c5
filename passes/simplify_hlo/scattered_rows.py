"""The rule for a few rows that are scattered into a large constant, such as the gradient of an embedding's table."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, Region

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.elementwise_binary import MaximumOp
from ...hlo_dialect.ops.index_dimensions import IndexDimensions, ScatterDimensionNumbersAttr
from ...hlo_dialect.ops.reduction import combiner_region
from ...hlo_dialect.ops.scatter import ScatterOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import bit_width, constant_array, element_of, is_splat, is_unsigned, make_tensor, shape_of
from .chains import gather
from .indexing import holds_indices
from .rewrite import Rewrite, by, simplifications

FEW = 1 / 4
"""The part of a result's rows up to which those that are named are in a table of their own."""

LARGE = 1 << 20
"""Bytes of a result from which writing and reading it takes longer than finding the place of each row."""


@simplifications.on(ScatterOp)
def scatter_of_few_rows(op: Operation) -> Rewrite | None:
    """
    A few rows scattered into a large constant that elementwise operations read are combined in a table of their own,
    from which each row of the result is picked.

    The updates of a row are combined in the same order. Neither the constant nor the result has to be in memory.
    """
    assert isinstance(op, ScatterOp)
    along = _dim_of_rows(op)
    if along is None or not _is_worthwhile(op, along):
        return None
    dims, shape = op.dims, shape_of(op.inputs[0])
    batch, rows = dims.batch_shape(shape_of(op.scatter_indices)), shape[along]
    count = math.prod(batch)
    builder = Builder()
    index = Tensor(builder, op.scatter_indices)
    # A row's place in the table is the number of the last update that names it, or -1.
    single = IndexDimensions((), (0,), (), (), (0,), dims.vector_dim)
    numbers = builder.iota(make_tensor((count,), i32), 0).reshape(batch)
    greatest = combiner_region(MaximumOp, i32, builder.place())
    places = _scatter(builder.splat(-1, make_tensor((rows,), i32)), index, numbers, single, greatest)
    inside = index < rows
    if not is_unsigned(index.element):
        inside = inside & (index >= 0)
    own = gather(builder, places.value, index, single, (1,), batch).reshape(index.shape)
    # An update outside of the result is outside of the table too.
    slot = inside.select(own, count)
    base, updates = builder.tensors([op.inputs[0], op.updates[0]])
    table = make_tensor(tuple(count if dim == along else size for dim, size in enumerate(shape)), base.element)
    owner = op.inputs[0].owner
    assert isinstance(owner, ConstantOp)
    start = builder.splat(constant_array(owner.dense).reshape(-1)[0], table)
    combined = _scatter(start, slot, updates, dims, op.detach_region(op.update_computation))
    windows = tuple(dim for dim in range(len(shape)) if dim != along)
    picked = IndexDimensions(windows, (along,), (), (), (along,), 1)
    sizes = tuple(1 if dim == along else size for dim, size in enumerate(shape))
    found = gather(builder, combined.value, places, picked, sizes, shape)
    named = (places >= 0).broadcast(shape, [along])
    return by(named.select(found, base))


def _dim_of_rows(op: ScatterOp) -> int | None:
    """The dimension along which one index of each vector places whole rows in a splat constant."""
    dims, base = op.dims, op.inputs[0]
    if op.input_count != 1 or len(dims.collapsed) != 1 or dims.index_map != dims.collapsed or dims.batching:
        return None
    values = (base, op.scatter_indices, op.updates[0])
    if not isinstance(base.owner, ConstantOp) or not is_splat(base.owner.dense) or op.results[0].type != base.type:
        return None
    if not all(is_static(shape_of(value)) and 0 not in shape_of(value) for value in values):
        return None
    shape, update = shape_of(base), shape_of(op.updates[0])
    (along,) = dims.collapsed
    whole = [update[dim] for dim in dims.window] == [size for dim, size in enumerate(shape) if dim != along]
    return along if whole and holds_indices(op.scatter_indices, shape[along] + 1) else None


def _is_worthwhile(op: ScatterOp, along: int) -> bool:
    """Whether the rows are few, and what reads the result reads each element at its own index."""
    shape = shape_of(op.inputs[0])
    count = math.prod(op.dims.batch_shape(shape_of(op.scatter_indices)))
    users = [use.operation for use in op.results[0].uses]
    return (
        count <= shape[along] * FEW
        and math.prod(shape) * bit_width(element_of(op.inputs[0])) >= 8 * LARGE
        and bool(users)
        and all(is_elementwise(user) for user in users)
    )


def _scatter(base: Tensor, index: Tensor, updates: Tensor, dims: IndexDimensions, combiner: Region) -> Tensor:
    numbers = ScatterDimensionNumbersAttr.of(dims)
    return base.builder.op(ScatterOp, [base, index, updates], base.type, [combiner], scatter_dimension_numbers=numbers)
