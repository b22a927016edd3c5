"""chlo.ragged_dot as dot_general of masked operands, or a mask on its result; large ones as a loop over blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.attributes import DotDimensionNumbersAttr, PrecisionAttr
from ...hlo_dialect.chlo.ragged_dot import RaggedDotOp, RaggedMode
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.types import element_of
from .ragged_loop import accumulator, in_loops, rows_of_block
from .rules import conversions, require_static


def _members(sizes: Tensor, extent: int) -> Tensor:
    """An i1 mask (.., g, extent) from group sizes (.., g): whether an index belongs to a group."""
    shape, iota = sizes.shape, sizes.builder.iota
    rank, groups = len(shape), shape[-1]
    square = sizes.broadcast((*shape, groups), (*range(rank - 1), rank))
    # ends[.., g] is the sum of the sizes up to and including g's.
    ends = (iota(square.type, rank) <= iota(square.type, rank - 1)).select(square, 0).sum([rank])
    spread = (*shape, extent)
    last, first = ends.broadcast(spread, range(rank)), (ends - sizes).broadcast(spread, range(rank))
    index = iota(last.type, rank)
    return (index >= first) & (index < last)


def _dot(
    op: RaggedDotOp, lhs: Tensor, rhs: Tensor, numbers: DotDimensionNumbersAttr, element: Attribute | None = None
) -> Tensor:
    stated: dict[str, Attribute] = {}
    if op.precision_config is not None:
        stated["precision_config"] = ArrayAttr([PrecisionAttr(one.data) for one in op.precision_config.data])
    return lhs.dot(rhs, numbers, element or element_of(op.results[0]), **stated)


def _product(op: RaggedDotOp, lhs: Tensor, rhs: Tensor) -> Tensor:
    """The product of slices, before it is rounded."""
    return _dot(op, lhs, rhs, op.ragged_dot_dimension_numbers.dot, accumulator(op))


@conversions.on(RaggedDotOp)
def _ragged_dot(op: Operation) -> None:
    require_static(op)
    ragged = cast(RaggedDotOp, op)
    builder = Builder()
    lhs, rhs, sizes = builder.tensors(op.operands)
    if ragged.mode is RaggedMode.BATCH:
        result = _dot(ragged, lhs, rhs, ragged.ragged_dot_dimension_numbers.dot)
    elif (block := rows_of_block(ragged)) is not None:
        result = in_loops(ragged, lhs, rhs, sizes, block, partial(_product, ragged))
    else:
        members = _members(sizes, lhs.shape[ragged.ragged])
        convert = _of_rows if ragged.mode is RaggedMode.NON_CONTRACTING else _of_sums
        result = convert(ragged, lhs, rhs, members)
    builder.replace(op, result)


def _prefix(op: RaggedDotOp, members: Tensor) -> tuple[int, ...]:
    """The dimensions of lhs that correspond to the dimensions of `members` before (g, extent)."""
    return op.prefix[: len(members.shape) - 2]


def _of_rows(op: RaggedDotOp, lhs: Tensor, rhs: Tensor, members: Tensor) -> Tensor:
    """Multiply every row by every group's rhs; each row keeps its own group's product."""
    plain = op.dot_of_operands()
    rows = (*plain.dot_dimension_numbers.lhs_batching, *plain.lhs_free)
    product = _dot(op, lhs, rhs, plain.dot_dimension_numbers)
    dims = (*(rows.index(dim) for dim in _prefix(op, members)), op.group_place, rows.index(op.ragged))
    return members.broadcast(product.shape, dims).select(product, 0).sum([op.group_place])


def _of_sums(op: RaggedDotOp, lhs: Tensor, rhs: Tensor, members: Tensor) -> Tensor:
    """One batch element per group, with operands that are 0 outside the group."""
    numbers = op.ragged_dot_dimension_numbers.dot
    pairs = dict(
        zip(numbers.lhs_batching + numbers.lhs_contracting, numbers.rhs_batching + numbers.rhs_contracting, strict=True)
    )
    groups = members.shape[-2]
    prefix = _prefix(op, members)
    masked: list[Tensor] = []
    for x, dims, ragged in (
        (lhs, prefix, op.ragged),
        (rhs, tuple(pairs[dim] for dim in prefix), pairs[op.ragged]),
    ):
        spread = x.broadcast((groups, *x.shape), range(1, len(x.shape) + 1))
        places = (*(dim + 1 for dim in dims), 0, ragged + 1)
        masked.append(members.broadcast(spread.shape, places).select(spread, 0))

    def later(dims: Sequence[int]) -> tuple[int, ...]:
        return tuple(dim + 1 for dim in dims)

    with_groups = DotDimensionNumbersAttr.of(
        (0, *later(numbers.lhs_batching)),
        (0, *later(numbers.rhs_batching)),
        later(numbers.lhs_contracting),
        later(numbers.rhs_contracting),
    )
    return _dot(op, masked[0], masked[1], with_groups)
