"""
How fusions read a value that they could compute themselves: as a factor that a product packs or a convolution pads,
elementwise, or a few of its elements.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.support.creation import create_op
from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.rewriting import like
from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.ops.slicing import PadOp
from ...hlo_dialect.types import element_of, shape_of
from .factor_sums import LEAST_MATRIX, LEAST_ROWS
from .graph import role_of

if TYPE_CHECKING:  # programs without them do not load them
    from ...hlo_dialect.ops.convolution import ConvolutionOp
    from ...hlo_dialect.ops.gather import GatherOp

FEW = 16
"""Elements of a value for each of a row's, from which it costs nothing to read the row's beside it."""

LEAST_FEATURES = 32
"""Features of a convolution's result, and multiplications for each element of its input, that fill vectors."""

_CONVOLVED = (Float16Type, BFloat16Type, Float32Type, Float64Type)


@dataclass(frozen=True)
class User:
    """A fusion that reads a value once, and can compute it."""

    fusion: FusionOp
    product: DotGeneralOp | ConvolutionOp | None
    """The product whose factor the value is, or the convolution that pads it; None if it is read in another way."""
    reshape: ReshapeOp | None = None
    """The reshape that the product reads the value through, which joins the dimensions that it contracts."""
    gather: GatherOp | None = None
    """The gather that picks few elements of the value; None if it is read in another way."""

    @property
    def is_elementwise(self) -> bool:
        return self.product is None and self.gather is None


def users_of(maker: FusionOp, number: int, given: Container[Operation]) -> tuple[tuple[User, ...], bool]:
    """The fusions that read a result and can compute it, and whether nothing else reads it."""
    value, found, is_whole = maker.outs[number], dict[FusionOp, User](), True
    for use in value.uses:
        reader = use.operation
        reshape = reader if isinstance(reader, ReshapeOp) else None
        for each in [use.operation] if reshape is None else [other.operation for other in reshape.result.uses]:
            user = _user_of(each, value, reshape, maker, given)
            if user is None or (user.fusion in found and found[user.fusion] != user):
                is_whole = False
            else:
                found[user.fusion] = user
    return tuple(found.values()), is_whole


def _user_of(
    fusion: Operation, value: SSAValue, reshape: ReshapeOp | None, maker: FusionOp, given: Container[Operation]
) -> User | None:
    """How a fusion reads a value; None if it cannot compute it."""
    read = value if reshape is None else reshape.result
    if not isinstance(fusion, FusionOp) or fusion in given or fusion.parent is not maker.parent:
        return None
    operands = list(fusion.operands)
    if operands.count(read) != 1 or fusion.body.block.args[operands.index(read)].first_use is None:
        return None
    product = _product_of(fusion, read)
    if product is None and reshape is None:
        convolution = _convolution_of(fusion, value)
        if convolution is not None:
            return User(fusion, convolution)
        gather = _gather_of(fusion, value)
        if gather is not None:
            return User(fusion, None, gather=gather)
    if product is not None:
        return User(fusion, product, reshape) if reshape is None or _contracts(product, read, reshape) else None
    return User(fusion, None) if reshape is None and _reads_elementwise(fusion, value) else None


def reader_of(fusion: FusionOp, value: SSAValue) -> Operation:
    """The first operation in a fusion that reads a value."""
    return next(iter(fusion.body.block.args[list(fusion.operands).index(value)].uses)).operation


def _reads_elementwise(fusion: FusionOp, value: SSAValue) -> bool:
    """Whether a fusion reads a value in elementwise operations alone, after its product if it has one."""
    if fusion.kind.data not in ("loop", "reduce", "dot"):
        return False
    waiting: list[SSAValue] = [fusion.body.block.args[list(fusion.operands).index(value)]]
    if any(role_of(use.operation) != "elementwise" for use in waiting[0].uses):
        return False
    seen: set[Operation] = set()
    while waiting:
        for use in waiting.pop().uses:
            if use.operation not in seen:
                seen.add(use.operation)
                waiting += use.operation.results
    return not any(op.name in ("hlo.dot_general", "hlo.convolution") for op in seen)


def _product_of(fusion: FusionOp, read: SSAValue) -> DotGeneralOp | None:
    """The product of a fusion that reads the value as a factor, and alone reads it there, and packs it."""
    if fusion.kind.data != "dot":
        return None
    (use, *others) = fusion.body.block.args[list(fusion.operands).index(read)].uses
    product = use.operation
    if others or not isinstance(product, DotGeneralOp) or product.operands[0] is product.operands[1]:
        return None
    return product if _packs_both(product, use.index) else None


def _convolution_of(fusion: FusionOp, value: SSAValue) -> ConvolutionOp | None:
    """The convolution of a fusion that alone reads the value, between zeros, and works through it row by row."""
    pad = reader_of(fusion, value)
    if fusion.kind.data != "dot" or not isinstance(pad, PadOp) or not pad.surrounds_with_zeros:
        return None
    convolution = pad.result.get_user_of_unique_use()
    if convolution is None or convolution.name != "hlo.convolution" or not pad.operands[0].has_one_use():
        return None
    found = cast("ConvolutionOp", convolution)
    if found.lhs is not pad.result or found.rhs is pad.result or found.batch_groups != 1:
        return None
    if not all(isinstance(element_of(each), _CONVOLVED) for each in (*found.operands, found.result)):
        return None
    again = multiplications(found) // math.prod(shape_of(value))
    features = shape_of(found.result)[found.dimension_numbers.output.feature] // found.feature_groups
    return found if features >= LEAST_FEATURES <= again else None


def _gather_of(fusion: FusionOp, value: SSAValue) -> GatherOp | None:
    """The gather of a fusion that reads few elements of the value, as of a table, and alone reads it there."""
    (use, *others) = fusion.body.block.args[list(fusion.operands).index(value)].uses
    if fusion.kind.data != "loop" or others or use.index or use.operation.name != "hlo.gather":
        return None
    gather = cast("GatherOp", use.operation)
    return gather if math.prod(shape_of(gather.result)) * FEW <= math.prod(shape_of(value)) else None


def _contracts(product: DotGeneralOp, read: SSAValue, reshape: ReshapeOp) -> bool:
    """Whether a product contracts the first dimension of its factors alone, and a reshape joins several to that one."""
    numbers = product.dot_dimension_numbers
    before, after = shape_of(reshape.operands[0]), shape_of(read)
    return (
        tuple(numbers.lhs_contracting) == tuple(numbers.rhs_contracting) == (0,)
        and not numbers.lhs_batching
        and all(isinstance(value, BlockArgument) and value.has_one_use() for value in product.operands)
        and len(before) > len(after) > 1
        and before[joined(reshape) :] == after[1:]
    )


def _sides(product: DotGeneralOp) -> tuple[int, int, int]:
    """Rows and columns of the result, and contracted elements."""
    left, right = map(shape_of, product.operands)
    m, n = (math.prod(x[dim] for dim in dims) for x, dims in ((left, product.lhs_free), (right, product.rhs_free)))
    return m, n, math.prod(left[dim] for dim in product.dot_dimension_numbers.lhs_contracting)


def _packs_both(product: DotGeneralOp, number: int) -> bool:
    """Whether a product has a factor so large, and so many rows and columns, that both factors are packed."""
    m, n, k = _sides(product)
    return (
        not product.dot_dimension_numbers.lhs_batching
        and min(m, n, k) >= LEAST_ROWS // 2
        and (m, n)[number] * k > LEAST_MATRIX
    )


def multiplications(product: DotGeneralOp | ConvolutionOp) -> int:
    return math.prod(_sides(product)) if isinstance(product, DotGeneralOp) else product.flops() // 2


def factors_of(product: DotGeneralOp, fusion: FusionOp) -> list[SSAValue]:
    """The operands of a fusion that its product multiplies."""
    return [fusion.operands[each.index] for each in product.operands if isinstance(each, BlockArgument)]


def joined(reshape: ReshapeOp) -> int:
    """How many dimensions a reshape joins to the first one."""
    return len(shape_of(reshape.operands[0])) - len(shape_of(reshape.result)) + 1


def apart(value: SSAValue, reshape: ReshapeOp, place: Operation) -> SSAValue:
    """A factor before its first dimension was joined as a reshape joins those of the other factor."""
    shape = (*shape_of(reshape.operands[0])[: joined(reshape)], *shape_of(value)[1:])
    if isinstance(value.owner, ReshapeOp) and shape_of(value.owner.operands[0]) == shape:
        return value.owner.operands[0]
    type_ = TensorType(element_of(value), shape)
    split = create_op(ReshapeOp, operands=[value], result_types=[type_], location=reshape.location)
    insert_before(split, place)
    return split.results[0]


def contract(product: DotGeneralOp, count: int) -> SSAValue:
    """Let a product whose factors have their first dimension in several now contract this many; returns its result."""
    dims = DotDimensionNumbersAttr.of((), (), range(count), range(count))
    made = like(product, list(product.operands), [product.result.type], {"dot_dimension_numbers": dims})
    insert_before(made, product)
    replace_uses(product.result, made.result)
    erase_op(product)
    return made.result
