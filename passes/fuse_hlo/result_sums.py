"""
Let a product or a convolution sum the columns of what it computes: the statistics of a normalization over a batch, and
the sums of its gradient.

The kernel adds each tile of its result to partial sums while the tile is in the cache
(`lowering/convert_contractions_to_vector/sums/result_columns.py`); the sums have no kernel of their own that reads it
again.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Block, Operation, SSAValue

from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, TransposeOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.types import element_of, shape_of
from .clusters import MAX_INPUTS, MAX_OPS, MAX_RESULTS
from .decisions import Decision, Verdict
from .factor_sums import SUMMED, delay, merge, wide
from .graph import bytes_of

LEAST_COLUMNS = 32
"""Columns of the result that fill vectors."""

LEAST_ROWS = 32
"""Rows of the result that are worth partial sums."""

FEW_RESULTS, MOST_RESULTS = 1 << 15, 4
"""
Elements of a result, in all and for each product in one of them, up to which the products are added in chunks: no tile
is complete before (`split.py` of convert-contractions-to-vector).
"""

LEAST_DEPTH = 16
"""Products in each element, which take longer than adding it up."""


def fuse_result_sums(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Merge each fusion of a product in `block` with the fusions that only sum the columns of its result, or of what is
    elementwise with it.

    Fusions that the program was `given` with stay as they are. Returns a decision per merge.
    """
    for op in list(block.ops):
        product = _product_in(op) if isinstance(op, FusionOp) and op not in given else None
        fusion = op
        while product is not None and isinstance(fusion, FusionOp):
            found = _sums_after(fusion, product, given)
            if found is None:
                break
            result, user, total = found
            yield Decision(Verdict.FUSED, product, total, "dot", bytes_of(result))
            fusion = merge(fusion, user, place=user)


def _product_in(fusion: FusionOp) -> Operation | None:
    """The product of a fusion, which is large, has its columns last, and what depends on it at the same index."""
    if fusion.kind.data not in ("dot", "custom"):
        return None
    products = [op for op in fusion.body.block.ops if op.name in ("hlo.dot_general", "hlo.convolution")]
    if len(products) != 1 or not _is_large(products[0]):
        return None
    shape, depends = shape_of(products[0].results[0]), set(products[0].results)
    if not isinstance(element_of(products[0].results[0]), (Float32Type, Float64Type)):
        return None
    for op in fusion.body.block.ops:
        if isinstance(op, ReturnOp) or not depends.intersection(op.operands):
            continue
        if not is_elementwise(op) or any(shape_of(result) != shape for result in op.results):
            return None
        depends.update(op.results)
    return products[0]


def _is_large(product: Operation) -> bool:
    """Whether a product has one matrix of columns, the last dimension of its result, and is blocked as a whole."""
    shape = shape_of(product.results[0])
    n = shape[-1] if shape else 0
    if isinstance(product, DotGeneralOp):
        numbers, right = product.dot_dimension_numbers, shape_of(product.operands[1])
        depth = math.prod(right[dim] for dim in numbers.rhs_contracting)
        if numbers.rhs_batching or math.prod(right[dim] for dim in product.rhs_free) != n:
            return False
    else:
        # Programs without convolutions do not load them.
        from ...hlo_dialect.ops.convolution import ConvolutionOp

        assert isinstance(product, ConvolutionOp)
        if product.feature_groups * product.batch_groups != 1:
            return False
        if product.dimension_numbers.output.feature != len(shape) - 1:
            return False
        depth = product.flops() // 2 // max(math.prod(shape), 1)
    rows, results = math.prod(shape[:-1]), math.prod(shape)
    whole = results > FEW_RESULTS or results > depth * MOST_RESULTS
    return whole and n >= LEAST_COLUMNS and rows >= LEAST_ROWS and depth >= LEAST_DEPTH


def _sums_after(
    fusion: FusionOp, product: Operation, given: Container[Operation]
) -> tuple[SSAValue, FusionOp, ReduceOp] | None:
    """The first result of a fusion that another only sums, that fusion, and its sum, if they can be one kernel."""
    shape = shape_of(product.results[0])
    for result in fusion.outs:
        for use in list(result.uses):
            user = use.operation
            if not isinstance(user, FusionOp) or user in given or user.parent is not fusion.parent:
                continue
            total = _sum_in(user, shape)
            inputs = dict.fromkeys([*fusion.operands, *user.operands])
            few = len(inputs) <= MAX_INPUTS and len(fusion.outs) + len(user.outs) <= MAX_RESULTS
            ops = sum(len(list(each.body.block.ops)) for each in (fusion, user))
            # A sum that reads another of the kernel's sums would wait until all tiles are complete.
            waits = any(value in user.operands for value in fusion.outs if shape_of(value) != shape)
            if total is not None and not waits and few and ops <= MAX_OPS and delay(fusion, user):
                return result, user, total
    return None


def _sum_in(fusion: FusionOp, shape: tuple[int, ...]) -> ReduceOp | None:
    """
    A sum of a fusion that sums values of this shape, over all its dimensions but the last, each computed from elements
    at its own index; what follows the sums is smaller. All may be transposed alike, as by convolutions whose features
    are not last.
    """
    order = _order_of(fusion, shape) if fusion.kind.data == "reduce" else None
    if order is None:
        return None
    whole, column = tuple(shape[dim] for dim in order), order.index(len(shape) - 1)
    sums: list[ReduceOp] = []
    for op in fusion.body.block.ops:
        if isinstance(op, (ConstantOp, ReturnOp, TransposeOp)):
            continue
        if isinstance(op, ReduceOp):
            if not sums_columns(op, whole, column) or not isinstance(
                element_of(op.outs[0]), (Float32Type, Float64Type)
            ):
                return None
            sums.append(op)
        elif any(shape_of(result) == whole for result in op.results):
            at_index = is_elementwise(op) or (isinstance(op, BroadcastInDimOp) and _repeats_columns(op, column))
            if not at_index:
                return None
        elif not is_elementwise(op) and not isinstance(op, (BroadcastInDimOp, ReshapeOp)):
            return None
    large = any(math.prod(shape_of(result)) >= math.prod(shape) for result in fusion.outs)
    return None if large or not sums else sums[-1]


def _order_of(fusion: FusionOp, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dimensions of a shape in the order in which a fusion reads operands of it; None if there are several."""
    transposes = [op for op in fusion.body.block.ops if isinstance(op, TransposeOp)]
    if not transposes:
        return tuple(range(len(shape)))
    read = {op.operands[0] for op in transposes}
    whole = {argument for argument in fusion.body.block.args if shape_of(argument) == shape}
    alone = all(isinstance(use.operation, TransposeOp) for argument in whole for use in argument.uses)
    alike = all(op.dims == transposes[0].dims for op in transposes)
    return transposes[0].dims if read == whole and alone and alike else None


def sums_columns(op: ReduceOp, shape: tuple[int, ...], column: int) -> bool:
    """Whether an operation adds up values of the shape, over all dimensions but one, from zero."""
    (source, *others) = op.inputs
    if others or shape_of(source) != shape or not isinstance(element_of(source), SUMMED):
        return False
    rows = wide([dim for dim in range(len(shape)) if dim != column], shape)
    if element_of(op.outs[0]) != element_of(source) or wide(op.dims, shape) != rows:
        return False
    return isinstance(single_combiner(op.body), AddOp) and is_splat_of(op.init_values[0], 0.0)


def _repeats_columns(op: BroadcastInDimOp, column: int) -> bool:
    """Whether a result varies along one dimension at most."""
    moved = [dim for dim, size in zip(op.dims, shape_of(op.operands[0]), strict=True) if size != 1]
    return moved in ([], [column])
