"""
The epilogue of a product: an elementwise generic after it, which each task applies to its tile of C.

The tile is still in the cache then. If the generic writes f32 where the product does, the product is computed in the
generic's own output, and no other buffer is written. If it writes another type, each task keeps its tile of C.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import memref
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects.support.editing import erase_op, replace_uses
from ...dialects.support.scalar import width_of
from ...dialects.support.views import root_buffer
from ..loop_nests.emission import NestEmitter
from ..loop_nests.loop_builder import LINE, Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest, nest_of_generic


def epilogue_of(op: GenericOp, fill: FillOp | None, shared: Collection[SSAValue] = ()) -> GenericOp | None:
    """
    The generic that alone reads a product, each element at its own loop point.

    The product moves into that generic's output if their types agree, and it is none of the buffers `shared`, which may
    be those of what the generic reads.
    """
    (target,) = op.outputs
    if not isinstance(target.owner, memref.AllocOp):
        return None
    (place,) = [attr.data for attr in op.indexing_maps.data[len(op.inputs) :]]
    users = {use.operation for use in target.uses} - {op, fill}
    if len(users) != 1 or not all(isinstance(expr, AffineDimExpr) for expr in place.results):
        return None
    (user,) = users
    if not isinstance(user, GenericOp) or list(user.operands).count(target) != 1 or target in user.outputs:
        return None
    nest = nest_of_generic(user)
    if any(nest.reduction) or 0 in nest.sizes or not _follows(op, user):
        return None
    number = list(user.inputs).index(target)
    maps = [attr.data for attr in user.indexing_maps.data]
    rank = len(user.iterator_types.data)
    own = tuple(AffineDimExpr(dim) for dim in range(rank))
    if maps[number].results != own or any(map_.results != own for map_ in maps[len(user.inputs) :]):
        return None
    _compute_in_place(op, fill, user, number, shared)
    return user


def _follows(op: GenericOp, user: GenericOp) -> bool:
    """Whether nothing between the two reads or writes elements."""
    between = op.next_op
    while between is not None and between is not user:
        if isinstance(between, (GenericOp, FillOp, memref.CopyOp)) or between.regions:
            return False
        between = between.next_op
    return between is user


def _compute_in_place(
    op: GenericOp, fill: FillOp | None, user: GenericOp, number: int, shared: Collection[SSAValue]
) -> None:
    """Let the product write to an output of the epilogue of its type, if there is one that is only written."""
    target, arguments = op.outputs[0], user.body.block.args
    for place, output in enumerate(user.outputs):
        argument = arguments[len(user.inputs) + place]
        if root_buffer(output) in shared:
            continue
        if output.type == target.type and argument.first_use is None and output not in user.inputs:
            replace_uses(arguments[number], argument)
            op.operands[len(op.inputs)] = output
            if fill is not None:
                fill.operands[len(fill.inputs)] = output
            unused = user.operands[number]
            user.operands[number] = output
            if isinstance(unused.owner, memref.AllocOp) and unused.first_use is None:
                erase_op(unused.owner)
            return


def joined(
    product: Nest, generic: GenericOp, order: Sequence[int] | None = None, operand: int = -1
) -> tuple[tuple[Access | SSAValue, ...], dict[int, int | None], Nest]:
    """
    The accesses of a generic beside a product along the loops of the product's nest, the loops that it asks for, and
    its own nest. Its loop order[i], or i, is dimension i of an operand of the product: C, if it is the epilogue.
    """
    own = nest_of_generic(generic)
    own = own if order is None else own.permuted(order)
    assert isinstance(product.op, GenericOp)
    place = product.op.indexing_maps.data[operand].data
    loops = [expr.position for expr in place.results if isinstance(expr, AffineDimExpr)]

    def along(access: Access) -> Access:
        strides = [0] * len(product.sizes)
        for loop, stride in zip(loops, access.strides, strict=True):
            strides[loop] = stride
        return replace(access, strides=tuple(strides))

    accesses = tuple(along(x) if isinstance(x, Access) else x for x in (*own.inputs, *own.outputs))
    return accesses, {dim: None if loop is None else loops[loop] for dim, loop in own.dims.items()}, own


def separated(product: Nest, count: int, own: Nest, order: Sequence[int]) -> Nest:
    """
    A generic beside a product as a nest over loops `order` of the product's, whose inputs after the first `count` are
    the operands of its own nest, and perhaps others.
    """
    accesses = product.inputs[count : count + len(own.inputs) + len(own.outputs)]
    inputs, outputs = accesses[: len(own.inputs)], accesses[len(own.inputs) :]
    nest = replace(product, op=own.op, body=own.body, inputs=inputs, outputs=_only_accesses(outputs))
    return replace(nest.permuted(order), reduction=(False,) * len(order), bound=len(order) - 2)


def _only_accesses(outputs: Sequence[Access | SSAValue]) -> tuple[Access, ...]:
    return tuple(x for x in outputs if isinstance(x, Access))


@dataclass(frozen=True)
class Tile:
    """A tile of C that a task keeps for itself."""

    root: SSAValue
    """C, of which it is a tile."""
    buffer: SSAValue
    top: Index
    left: Index


def is_temporary(product: SSAValue, epilogue: Nest) -> bool:
    """Whether nothing but the epilogue reads the buffer `product` of a product, and nothing else writes it."""
    return isinstance(product.owner, memref.AllocOp) and all(x.root is not product for x in epilogue.outputs)


def emit_epilogue(
    builder: LoopBuilder,
    nest: Nest,
    outer: Sequence[Index],
    rows: tuple[Index, Index],
    columns: tuple[Index, Index],
    tile: Tile | None = None,
) -> None:
    """Apply the epilogue to a range of rows and columns of the matrix at indices `outer`; `tile`: where these are."""
    location, builder.location = builder.location, nest.op.location
    emitter = NestEmitter(builder, nest)
    if tile is not None:
        origin: list[tuple[int, Index]] = [(nest.bound, tile.top), (nest.bound + 1, tile.left)]
        tiled = [k for k, x in enumerate(nest.inputs) if isinstance(x, Access) and x.root is tile.root]
        emitter.staged = dict.fromkeys(tiled, (tile.buffer, origin))
    emitter.make_views()
    with emitter.scope():
        for loop, index in enumerate(outer):
            emitter.indices[loop] = index
        emitter.load_ready()
        m, n = nest.bound, nest.bound + 1
        beside = all(output.strides[m] == 1 != output.strides[n] for output in nest.outputs)
        with emitter.loops([n, m] if beside else [m, n], {m: rows, n: columns}):
            for k, value in enumerate(emitter.body()):
                emitter.store_output(k, value)
    builder.location = location


def ask_for_results(
    builder: LoopBuilder, nest: Nest, outer: Sequence[Index], at: tuple[Index, Index], sizes: tuple[int, int]
) -> None:
    """
    Ask for what the epilogue will write of the block at row and column `at` of the matrix at indices `outer`.

    The lines come while the block is multiplied: stores to lines that are not there would wait, one after the other.
    """
    for access in nest.outputs:
        element = buffer_of(access.root).element_type
        *around, row, column = access.strides
        if column != 1:
            continue
        begin = access.offset_at(builder) + at[0] * row + at[1]
        for stride, index in zip(around, outer, strict=True):
            begin += index * stride
        view = builder.strided_view(access.root, begin, sizes, (row, 1))
        for i in range(sizes[0]):
            for j in range(0, sizes[1], LINE * 8 // width_of(element)):
                builder.prefetch(view, [i, j], to_write=True)
