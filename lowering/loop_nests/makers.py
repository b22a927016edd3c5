"""Buffers that elementwise operations make for one reader, which may compute the elements where it reads them."""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects.linalg_ext.base import DestinationOp
from ...dialects.support.views import root_buffer
from ...hlo_dialect.walking import operations_inside
from .nest import Nest, nest_of_fill, nest_of_generic


def nest_of(maker: GenericOp | FillOp) -> Nest:
    return nest_of_generic(maker) if isinstance(maker, GenericOp) else nest_of_fill(maker)


def makes_elements(maker: GenericOp | FillOp) -> bool:
    """Whether an operation computes each element of whole buffers at the element's own indices, from others."""
    if isinstance(maker, FillOp):
        return True
    nest = nest_of_generic(maker)
    own = tuple(AffineDimExpr(dim) for dim in range(len(nest.sizes)))
    count = len(list(maker.inputs))
    written = [attr.data.results for attr in maker.indexing_maps.data[count:]]
    reads_output = any(argument.first_use is not None for argument in maker.body.block.args[count:])
    in_order = all(results == own for results in written)
    return in_order and not any(nest.reduction) and 0 not in nest.sizes and not reads_output


def buffers_read(maker: GenericOp | FillOp) -> set[SSAValue]:
    """The buffers that an operation reads, those that its body reads at indices of its own among them."""
    if isinstance(maker, FillOp):
        return set()
    read = (*maker.inputs, *(value for op in operations_inside(maker.body) for value in op.operands))
    return {root_buffer(value) for value in read if isinstance(value.type, MemRefType)}


def stays_computable(maker: GenericOp | FillOp, reader: Operation) -> bool:
    """Whether nothing between the two, in one block, writes what the first reads."""
    read = buffers_read(maker)
    between: Operation | None = maker.next_op
    while between is not None and between is not reader:
        if isinstance(between, (GenericOp, FillOp, DestinationOp)):
            written = [root_buffer(value) for value in between.outputs]
        elif isinstance(between, memref.CopyOp):
            written = [root_buffer(between.destination)]
        else:
            written = list(read) if between.regions or isinstance(between, func.CallOp) else []
        if not read.isdisjoint(written):
            return False
        between = between.next_op
    return between is reader
