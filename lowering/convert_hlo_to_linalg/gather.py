"""hlo.gather: each element is read at a clamped index computed from its index vector."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, i64
from xdsl.ir.affine import AffineExpr

from ...dialects.support.buffers import INDEX
from ...dialects.support.scalar import Scalar
from ...hlo_dialect.ops import gather as hlo
from ...hlo_dialect.types import element_of, is_unsigned, shape_of
from .element_types import convert
from .emission import Emitter, affine_map, identity_map, iterators, loop_index, patterns, signless


def _zero(out: Scalar) -> Scalar:
    return out.constant(0)


@patterns.on(hlo.GatherOp)
def _gather(op: hlo.GatherOp, emitter: Emitter) -> None:
    """
    `hlo.gather %x, %i` of rows becomes a generic over (d0, d1) that reads component 0 of %i at (d0, 0), clamps it, and
    extracts that row's element d1 of %x.
    """
    type_: Any = signless(op.result.type)
    rank, shape = len(type_.get_shape()), shape_of(op.operand)
    if 0 in shape:
        maps, loops = (identity_map(rank),), iterators(rank)
        nothing = emitter.generic([], [emitter.empty(type_)], maps, loops, _zero)
        emitter.define(op.result, nothing[0])
        return
    dims, indices = op.dims, shape_of(op.start_indices)
    source, starts = emitter.get(op.operand), emitter.get(op.start_indices)
    batch = [AffineExpr.dimension(dim) for dim in dims.batch_dims(rank)]
    index_maps: list[AffineMapAttr] = []
    for component in range(len(dims.index_map)):
        where = list(batch)
        if dims.vector_dim < len(indices):
            where.insert(dims.vector_dim, AffineExpr.constant(component))
        index_maps.append(affine_map(rank, *where))
    places = dims.places(len(shape), rank)
    sizes = op.sizes

    def body(*scalars: Scalar) -> Scalar:
        *components, out = scalars
        found: list[Scalar] = []
        for dim, place in enumerate(places):
            parts = [loop_index(out.block, loop) for loop in (place.batch, place.offset) if loop is not None]
            if place.component is not None:
                parts.append(_clamped(components[place.component], op, shape[dim] - max(sizes[dim], 1)))
            found.append(reduce(add, parts) if parts else out.constant(0, INDEX))
        read = tensor.ExtractOp.create(
            operands=[source, *(index.value for index in found)], result_types=[type_.element_type]
        )
        out.block.add_op(read)
        return Scalar(out.block, read.results[0])

    results = emitter.generic(
        [starts] * len(index_maps), [emitter.empty(type_)], (*index_maps, identity_map(rank)), iterators(rank), body
    )
    emitter.define(op.result, results[0])


def _clamped(start: Scalar, op: hlo.GatherOp, limit: int) -> Scalar:
    """A component of an index vector as an index in [0, limit]. An unsigned one is compared as unsigned."""
    element = element_of(op.start_indices)
    wide = convert(start, element, i64)
    if is_unsigned(element):
        wide = wide.apply(arith.MinUIOp, limit)
    else:
        wide = wide.apply(arith.MaxSIOp, 0).apply(arith.MinSIOp, limit)
    return wide.cast(arith.IndexCastOp, INDEX)
