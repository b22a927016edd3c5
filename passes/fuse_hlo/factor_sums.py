"""
Let a product that reads the rows of a gradient also sum them: the gradients of a layer's weights and of its bias.

The product's kernel packs the gradient, and adds up its columns while they are in the cache
(`lowering/convert_contractions_to_vector/sums/factor_columns.py`); the sum has no kernel of its own that reads it
again.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.creation import new_block
from ...dialects.support.editing import detach_op, erase_op, insert_before
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.types import element_of, shape_of
from .clusters import MAX_INPUTS
from .decisions import Decision, Verdict
from .epilogues import replace_results, taken_into
from .graph import bytes_of

SUMMED = (BFloat16Type, Float16Type, Float32Type, Float64Type)

LEAST_ROWS = 128
"""Rows of the result from which both factors are packed, and no panel is read in place."""

LEAST_MATRIX = 1 << 15
"""Elements of the factor, and of the result, above which the same holds, and the sum is not cut into chunks."""


def fuse_factor_sums(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Merge each fusion in `block` that only sums the columns of a product's right factor, along what the product
    contracts, with the product's fusion.

    Fusions that the program was `given` with stay as they are. Returns a decision per merge.
    """
    for op in list(block.ops):
        total = None if op in given or not isinstance(op, FusionOp) else _sum_in(op)
        if not isinstance(op, FusionOp) or total is None:
            continue
        factor = _factor_of(op, total)
        for use in list(factor.uses):
            user = use.operation
            if not isinstance(user, FusionOp) or user in given or user.parent is not block:
                continue
            product = _product_of(user, factor, total)
            inputs = dict.fromkeys([*op.operands, *user.operands])
            needed = any(result in user.operands for result in op.outs)
            if product is None or needed or len(inputs) > MAX_INPUTS or not delay(op, user):
                continue
            yield Decision(Verdict.FUSED, total, product, "dot", bytes_of(factor))
            merge(user, op, place=user)
            break


def _sum_in(fusion: FusionOp) -> ReduceOp | None:
    """The only sum of a fusion, of an operand that nothing else reads there; what follows it is elementwise."""
    if fusion.kind.data != "reduce":
        return None
    ops = [op for op in fusion.body.block.ops if not isinstance(op, (ConstantOp, ReturnOp))]
    total = ops[0] if ops and isinstance(ops[0], ReduceOp) else None
    if total is None or len(total.inputs) != 1 or not all(is_elementwise(op) for op in ops[1:]):
        return None
    source, element = total.inputs[0], element_of(total.inputs[0])
    if source not in fusion.body.block.args or not source.has_one_use():
        return None
    sums = isinstance(single_combiner(total.body), AddOp) and is_splat_of(total.init_values[0], 0.0)
    same = isinstance(element, SUMMED) and element == element_of(total.outs[0])
    return total if sums and same else None


def _factor_of(fusion: FusionOp, total: ReduceOp) -> SSAValue:
    """The operand of a fusion that its sum adds up."""
    arguments: list[SSAValue] = list(fusion.body.block.args)
    return fusion.operands[arguments.index(total.inputs[0])]


def _product_of(fusion: FusionOp, factor: SSAValue, total: ReduceOp) -> DotGeneralOp | None:
    """The product of a fusion whose right factor is the value, and that contracts what the sum adds up."""
    if fusion.kind.data != "dot" or list(fusion.operands).count(factor) != 1:
        return None
    (use, *others) = fusion.body.block.args[list(fusion.operands).index(factor)].uses
    product, shape = use.operation, shape_of(factor)
    if others or use.index != 1 or not isinstance(product, DotGeneralOp):
        return None
    numbers = product.dot_dimension_numbers
    if numbers.rhs_batching or element_of(product.results[0]) != element_of(factor):
        return None
    if wide(numbers.rhs_contracting, shape) != wide(total.dims, shape):
        return None
    left = shape_of(product.operands[0])
    k, n = (math.prod(shape[dim] for dim in dims) for dims in (numbers.rhs_contracting, product.rhs_free))
    m = math.prod(left[dim] for dim in product.lhs_free)
    # One contracted matrix, row by row: the columns are neighbours, and so are those of the result.
    matrix = tuple(numbers.rhs_contracting) == tuple(range(len(numbers.rhs_contracting)))
    first = numbers.lhs_contracting[0]
    in_order = tuple(numbers.lhs_contracting) == tuple(range(first, first + len(numbers.lhs_contracting)))
    large = m >= LEAST_ROWS and k * n > LEAST_MATRIX and m * n > LEAST_MATRIX and min(k, n) >= LEAST_ROWS // 2
    return product if matrix and in_order and large else None


def wide(dims: Sequence[int], shape: tuple[int, ...]) -> list[int]:
    """The dimensions in order, without those of size 1."""
    return [dim for dim in sorted(dims) if shape[dim] != 1]


def delay(early: FusionOp, late: FusionOp) -> bool:
    """
    Move the readers of `early`'s results, other than `late`, after that, if `early` comes first; False if that is not
    possible.
    """
    if late.is_before_in_block(early):
        owners = [value.owner for value in early.operands]
        return not any(isinstance(owner, Operation) and late.is_before_in_block(owner) for owner in owners)
    later: list[Operation] = []
    readers = _readers(early)
    op = early.next_op
    while op is not None and op is not late:
        if op in readers:
            if not isinstance(op, (FusionOp, ReshapeOp)):
                return False
            later.append(op)
            readers |= _readers(op)
        op = op.next_op
    if any(result in late.operands for each in later for result in each.results):
        return False
    place = late.next_op
    assert place is not None
    for each in later:
        detach_op(each)
        insert_before(each, place)
    return True


def _readers(op: Operation) -> set[Operation | None]:
    """The operations of the same block that read results of `op`, or have one inside that does."""
    block = cast(Block, op.parent)
    return {block.find_ancestor_op_in_block(use.operation) for result in op.results for use in result.uses}


def merge(product: FusionOp, sums: FusionOp, place: FusionOp) -> FusionOp:
    """
    Replace a product's fusion, and one of sums that may read its results, by one that computes both, in the `place` of
    either.
    """
    inputs = [value for value in dict.fromkeys([*product.operands, *sums.operands]) if value not in product.outs]
    block = new_block([value.type for value in inputs])
    local: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for value, argument in local.items():
        argument.name_hint = value.name_hint
    made = taken_into(block, product, local)
    local.update(zip(product.outs, made, strict=True))
    made += taken_into(block, sums, local)
    results: list[SSAValue] = [*product.outs, *sums.outs]
    read = [any(use.operation is not sums for use in value.uses) for value in results]
    results, made = ([x for x, kept in zip(values, read, strict=True) if kept] for values in (results, made))
    fusion = replace_results(results, place, inputs, block, made, {"kind": StringAttr("dot")})
    erase_op(sums)
    erase_op(product)
    return fusion
