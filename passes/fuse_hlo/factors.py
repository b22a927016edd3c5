"""
Move what a product's factor is read through into the kernels of the products that read it: the conversion of a narrow
type, the slice of stacked matrices in a loop, and the reversal of a convolution's filters. Weights in bf16 or int8, or
of all layers together, or of a convolution whose gradient is computed, go through memory once, where they lie.

Only what is a kernel of its own moves, and only conversions that are exact: the products are the same to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from itertools import pairwise

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import ReshapeOp, ReverseOp
from ...hlo_dialect.ops.slicing import SliceOp
from ...hlo_dialect.types import bit_width, element_of, is_boolean, is_integer, is_unsigned, shape_of
from .clusters import Cluster, Clusters
from .decisions import Decision, Verdict
from .epilogues import merged
from .graph import bytes_of

LEAST = 1 << 14
"""Elements of a factor that is worth reading so: small products read their factors several times."""


def fuse_factors(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Merge each fusion in `block` that only slices, reshapes and widens one value, or reverses filters, with the products
    that alone read the result.

    Fusions that the program was `given` with stay as they are. Returns a decision per fusion that moves.
    """
    for op in list(block.ops):
        first = None if op in given or not isinstance(op, FusionOp) else _read_by(op)
        if not isinstance(op, FusionOp) or first is None:
            continue
        reshape = op.outs[0].get_user_of_unique_use()
        reshape = reshape if isinstance(reshape, ReshapeOp) else None
        factor = op.outs[0] if reshape is None else reshape.result
        users = list(dict.fromkeys(use.operation for use in factor.uses))
        wanted = (1, "hlo.convolution") if isinstance(first, ReverseOp) else (None, "hlo.dot_general")
        products = [_product_of(user, factor, block, *wanted) for user in users if user not in given]
        if not users or len(products) != len(users) or None in products:
            continue
        saved = bytes_of(op.outs[0]) * (1 + len(users))  # written, and read by each
        last = products[-1]
        assert last is not None
        yield Decision(Verdict.FUSED, first, last, "dot", saved)
        fusion = op if reshape is None else _with_reshape(op, reshape)
        for user in users:
            assert isinstance(user, FusionOp)
            merged(fusion, user)
        erase_op(fusion)


def is_reversal(cluster: Cluster, clusters: Clusters) -> bool:
    """Whether a fusion under construction only reverses filters, enough of them to move, for convolutions."""
    nodes = clusters.graph.nodes
    if cluster.kind != "loop" or cluster.elements < LEAST:
        return False
    ops = [nodes[number].op for number in cluster.ops]
    if not any(isinstance(op, ReverseOp) for op in ops) or any(not isinstance(op, (ReverseOp, SliceOp)) for op in ops):
        return False
    users = [user for number in cluster.ops for user in nodes[number].users if user not in cluster.ops]
    return all(nodes[user].op.name == "hlo.convolution" for user in users)


def _read_by(fusion: FusionOp) -> Operation | None:
    """The first operation of a fusion that reads one value through slices, reshapes and conversions, and no more."""
    ops = [op for op in fusion.body.block.ops if type(op) is not ConstantOp and op.name != "hlo.return"]
    kinds = [type(op) for op in ops]
    if fusion.kind.data != "loop" or len(fusion.outs) != 1 or math.prod(shape_of(fusion.outs[0])) < LEAST:
        return None
    if ReverseOp in kinds and set(kinds) <= {ReverseOp, SliceOp}:
        return ops[-1]
    if not all(_may_move(op, fusion) for op in ops) or not {ConvertOp, DynamicSliceOp}.intersection(kinds):
        return None
    linear = all(op.operands[0] is before.results[0] for before, op in pairwise(ops))
    return ops[0] if linear else None


def _may_move(op: Operation, fusion: FusionOp) -> bool:
    if isinstance(op, ConvertOp):
        return _widens(element_of(op.operands[0]), element_of(op.results[0]))
    if isinstance(op, DynamicSliceOp):
        return op.takes_neighbours and _is_captured(op.operand, fusion)
    return isinstance(op, ReshapeOp)


def _is_captured(value: SSAValue, fusion: FusionOp) -> bool:
    """Whether an argument of a fusion is from outside of the block: nothing in the block updates it in place."""
    if not isinstance(value, BlockArgument):
        return False
    owner = fusion.operands[value.index].owner
    return (owner if isinstance(owner, Block) else owner.parent) is not fusion.parent


def _with_reshape(fusion: FusionOp, reshape: ReshapeOp) -> FusionOp:
    """The fusion followed by the reshape of its result, in the place of both."""
    block = fusion.body.block
    (made,) = (op for op in block.ops if op.name == "hlo.return")
    inside = ReshapeOp.create(
        operands=[made.operands[0]], result_types=[reshape.result.type], location=reshape.location
    )
    insert_before(inside, made)
    made.operands = [inside.results[0]]
    new = FusionOp.create(
        operands=list(fusion.operands),
        result_types=[reshape.result.type],
        properties=dict(fusion.properties),
        regions=[fusion.detach_region(0)],
        location=fusion.location,
    )
    parent = fusion.parent
    assert parent is not None
    insert_before(new, fusion)
    replace_uses(reshape.result, new.outs[0])
    for old in (reshape, fusion):
        erase_op(old)
    return new


def _widens(narrow: Attribute, wide: Attribute) -> bool:
    """Whether products of the wide type can read the narrow one: floats of 16 bits, signed integers of up to 16."""
    floats = isinstance(wide, (Float32Type, Float64Type))
    if isinstance(narrow, (BFloat16Type, Float16Type)):
        return floats
    if not is_integer(narrow) or is_boolean(narrow) or is_unsigned(narrow):
        return False
    is_i32 = is_integer(wide) and not is_unsigned(wide) and bit_width(wide) == 32
    return bit_width(narrow) in (8, 16) and (is_i32 or floats)


def _product_of(user: Operation, factor: SSAValue, block: Block, number: int | None, name: str) -> Operation | None:
    """The product of a fusion that reads the factor, as the operand of that number, and alone reads it there."""
    if not isinstance(user, FusionOp) or user.parent is not block:
        return None
    if user.kind.data not in ("dot", "custom") or list(user.operands).count(factor) != 1:
        return None
    (use, *others) = user.body.block.args[list(user.operands).index(factor)].uses
    return None if others or use.operation.name != name or number not in (None, use.index) else use.operation
