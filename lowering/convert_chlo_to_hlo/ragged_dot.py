"""chlo.ragged_dot as dot_general of masked operands, or a mask on its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region

from ...hlo_dialect.attributes import DotDimensionNumbersAttr, PrecisionAttr, int_array
from ...hlo_dialect.chlo.ragged_dot import RaggedDotOp, RaggedMode
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import IotaOp
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.types import element_of, i64, make_tensor, shape_of
from .rules import require_static


def _along(x: Tensor, dims: Sequence[int], shape: Sequence[int]) -> Tensor:
    """x with its dimensions at `dims` of `shape`, repeated along the others."""
    type_ = make_tensor(tuple(shape), element_of(x.value))
    properties: dict[str, Attribute] = {"broadcast_dimensions": int_array(dims)}
    return x.builder.add(BroadcastInDimOp.create(operands=[x.value], result_types=[type_], properties=properties))


def _iota(like: Tensor, dim: int) -> Tensor:
    properties: dict[str, Attribute] = {"iota_dimension": IntegerAttr(dim, i64)}
    return like.builder.add(IotaOp.create(result_types=[like.type], properties=properties))


def _sum(x: Tensor, dim: int) -> Tensor:
    """The sum along one dimension."""
    shape = shape_of(x.value)
    scalar = make_tensor((), element_of(x.value))
    block = Block(arg_types=[scalar, scalar])
    add = AddOp.create(operands=block.args, result_types=[scalar])
    block.add_ops([add, ReturnOp.create(operands=add.results)])
    zero = x.builder.constant(0, scalar)
    reduce = ReduceOp.create(
        operands=[x.value, zero],
        result_types=[make_tensor(shape[:dim] + shape[dim + 1 :], element_of(x.value))],
        properties={"dimensions": int_array([dim])},
        regions=[Region(block)],
    )
    return x.builder.add(reduce)


def _members(sizes: Tensor, extent: int) -> Tensor:
    """i1 (.., g, extent) of sizes (.., g): whether an index belongs to a group."""
    shape = shape_of(sizes.value)
    rank, groups = len(shape), shape[-1]
    square = _along(sizes, (*range(rank - 1), rank), (*shape, groups))
    # ends[.., g] is the sum of the sizes up to g's own.
    ends = _sum((_iota(square, rank) <= _iota(square, rank - 1)).select(square, 0), rank)
    spread = (*shape, extent)
    last, first = _along(ends, range(rank), spread), _along(ends - sizes, range(rank), spread)
    index = _iota(last, rank)
    return (index >= first) & (index < last)


def _dot(op: RaggedDotOp, lhs: Tensor, rhs: Tensor, numbers: DotDimensionNumbersAttr) -> Tensor:
    properties: dict[str, Attribute] = {"dot_dimension_numbers": numbers}
    if op.precision_config is not None:
        properties["precision_config"] = ArrayAttr([PrecisionAttr(one.data) for one in op.precision_config.data])
    operands = [lhs.value, rhs.value]
    result = make_tensor((), element_of(op.results[0]))
    (type_,) = DotGeneralOp.create(operands=operands, result_types=[result], properties=properties).infer_types()
    return lhs.builder.add(DotGeneralOp.create(operands=operands, result_types=[type_], properties=properties))


def _ragged_dot(op: Operation) -> None:
    require_static(op)
    ragged = cast(RaggedDotOp, op)
    builder = Builder()
    lhs, rhs, sizes = (Tensor(builder, value) for value in op.operands)
    if ragged.mode is RaggedMode.BATCH:
        result = _dot(ragged, lhs, rhs, ragged.ragged_dot_dimension_numbers.dot)
    else:
        members = _members(sizes, shape_of(lhs.value)[ragged.ragged])
        convert = _of_rows if ragged.mode is RaggedMode.NON_CONTRACTING else _of_sums
        result = convert(ragged, lhs, rhs, members)
    replace_op(op, builder.ops, [result.value])


def _prefix(op: RaggedDotOp, members: Tensor) -> tuple[int, ...]:
    """The dimensions of lhs that the dimensions of `members` before (g, extent) stand for."""
    return op.prefix[: len(shape_of(members.value)) - 2]


def _of_rows(op: RaggedDotOp, lhs: Tensor, rhs: Tensor, members: Tensor) -> Tensor:
    """Every row times every group's rhs, of which each row keeps its group's."""
    plain = op.dot_of_operands()
    rows = (*plain.dot_dimension_numbers.lhs_batching, *plain.lhs_free)
    product = _dot(op, lhs, rhs, plain.dot_dimension_numbers)
    shape = shape_of(product.value)
    dims = (*(rows.index(dim) for dim in _prefix(op, members)), op.group_place, rows.index(op.ragged))
    return _sum(_along(members, dims, shape).select(product, 0), op.group_place)


def _of_sums(op: RaggedDotOp, lhs: Tensor, rhs: Tensor, members: Tensor) -> Tensor:
    """A batch element for each group, of operands that are 0 outside of the group."""
    numbers = op.ragged_dot_dimension_numbers.dot
    pairs = dict(
        zip(numbers.lhs_batching + numbers.lhs_contracting, numbers.rhs_batching + numbers.rhs_contracting, strict=True)
    )
    groups = shape_of(members.value)[-2]
    prefix = _prefix(op, members)
    masked: list[Tensor] = []
    for x, dims, ragged in (
        (lhs, prefix, op.ragged),
        (rhs, tuple(pairs[dim] for dim in prefix), pairs[op.ragged]),
    ):
        shape = shape_of(x.value)
        spread = _along(x, range(1, len(shape) + 1), (groups, *shape))
        places = (*(dim + 1 for dim in dims), 0, ragged + 1)
        masked.append(_along(members, places, shape_of(spread.value)).select(spread, 0))

    def later(dims: Sequence[int]) -> tuple[int, ...]:
        return tuple(dim + 1 for dim in dims)

    with_groups = DotDimensionNumbersAttr.of(
        (0, *later(numbers.lhs_batching)),
        (0, *later(numbers.rhs_batching)),
        later(numbers.lhs_contracting),
        later(numbers.rhs_contracting),
    )
    return _dot(op, masked[0], masked[1], with_groups)


CONVERSIONS = ((RaggedDotOp, _ragged_dot),)
