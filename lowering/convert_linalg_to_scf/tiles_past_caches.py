"""
Results of elementwise nests and of copies that leave the caches anyway, written past them.

    for start in range(lower, upper, TILE):         # a few vectors
        for i in range(TILE): tile[i] = f(x[start + i])
        store tile past the caches at out[start]

A store to a line that is in no cache waits until the line is read, and that is a third of what `x + 1` moves. LLVM does
not vectorize stores past the caches, so the loop over elements writes a tile, and vectors of it are stored. A tile is
what one iteration of LLVM's vectors computes: it stays in registers, and is never written. Rows that are only copied
need no tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.cost import Cost
from ...dialects.llvm_ops import FenceOp
from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import INDEX, memref_type
from ...dialects.support.kernel import Kernel, host_functions, is_kernel
from ...dialects.support.llvm_layout import byte_width
from ...dialects.support.views import root_buffer
from ...hlo_dialect.walking import operations_in
from ..convert_contractions_to_vector.shared_function import writes
from ..device.cpu import CPU
from ..loop_nests.cost import body_cost
from ..loop_nests.emission import Bounds, NestEmitter, Tile
from ..loop_nests.kernel_builder import IndexValue
from ..loop_nests.loop_builder import LINE, Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest
from ..loop_nests.variation import loads_of
from .transposition import BEYOND_CACHES, ROWS_BEYOND_CACHES, begins_at_line, can_transpose, vectors_of_line

TOGETHER = 4
"""Vectors of a tile, and those that one iteration copies: as many as LLVM computes at once."""

READ_NEXT = 4 * BEYOND_CACHES
"""Bytes of a result that the program reads again, from which no cache still has them."""

_Store = Callable[[SSAValue, SSAValue, Sequence[Index]], None]


def leaves_caches(builder: LoopBuilder, nest: Nest) -> bool:
    """
    Whether the results of a canonical nest are better written past the caches: they are large, contiguous along the
    innermost loop, apart from all that the nest reads, and nothing reads them soon.
    """
    kernel = builder.top.parent_op()
    if vectors_of_line(builder.vector_bits) is None or not nest.free or nest.bound:
        return False
    if not isinstance(kernel, func.FuncOp) or not is_kernel(kernel) or Kernel(kernel).tied:
        return False
    if not all(_is_large(access, nest.free[-1], kernel) for access in nest.outputs):
        return False
    read = {access.root for access in nest.inputs if isinstance(access, Access)}
    read |= {root_buffer(load.memref) for load in loads_of(nest)}
    old = () if nest.body is None else nest.body.args[len(nest.inputs) :]
    if any(access.root in read for access in nest.outputs) or any(value.first_use is not None for value in old):
        return False
    return all(
        byte_size(buffer_of(access.root)) >= READ_NEXT or not _is_read(kernel, cast(BlockArgument, access.root).index)
        for access in nest.outputs
    )


def _is_large(access: Access, inner: int, kernel: func.FuncOp) -> bool:
    """Whether an output is a large parameter of the kernel that no argument of the program shares."""
    root, buffer = access.root, buffer_of(access.root)
    if byte_size(buffer) < ROWS_BEYOND_CACHES or not can_transpose(buffer.element_type):
        return False
    if not isinstance(root, BlockArgument) or root.owner is not kernel.body.block:
        return False
    return root.index not in Kernel(kernel).shared and access.strides[inner] == 1 and min(access.strides) >= 0


def _is_read(kernel: func.FuncOp, parameter: int) -> bool:
    """Whether the program may use again what a kernel writes: all but results of the program that are only written."""
    name = kernel.sym_name.data
    for function in host_functions(cast(ModuleOp, kernel.parent_op())):
        for op in operations_in(function):
            if type(op) is func.CallOp and op.callee.root_reference.data == name:
                result = op.operands[parameter]
                is_result = isinstance(result, BlockArgument) and result.owner is function.body.block
                if not is_result or op.parent_op() is not function or not result.has_one_use():
                    return True
    return False


# Tiles.


def tile_of(builder: LoopBuilder, nest: Nest) -> int | None:
    """
    The iterations of the innermost loop that make a tile; None if results are not written past the caches, or not by
    whole lines. Where arithmetic takes longer than memory, lines arrive meanwhile.
    """
    inner = nest.free[-1]
    types = [buffer_of(access.root).element_type for access in nest.outputs]
    tile = TOGETHER * builder.vector_bits // 8 // min(map(byte_width, types))
    if nest.sizes[inner] < tile or not leaves_caches(builder, nest) or not CPU.hides(_cost(nest)):
        return None
    for access, type_ in zip(nest.outputs, types, strict=True):
        places = (access.offset, *(stride for loop, stride in enumerate(access.strides) if loop != inner))
        if access.dynamic or any(place * byte_width(type_) % LINE for place in places):
            return None
    return tile


def _cost(nest: Nest) -> Cost:
    """The arithmetic of a nest, and the bytes that it reads and writes."""
    whole = math.prod(nest.sizes)
    moved = {
        access.root: math.prod(n for n, stride in zip(nest.sizes, access.strides, strict=True) if stride)
        * byte_width(buffer_of(access.root).element_type)
        for access in nest.accesses
    }
    return Cost(sum(moved.values()), whole * (body_cost(nest) - len(nest.accesses)))


def emit_tiles(
    emitter: NestEmitter, tile: int, free: Sequence[int], bounds: Bounds, store: Callable[[NestEmitter], None]
) -> None:
    """Emit the free loops within `bounds`, in which `store` computes and stores an element."""
    builder, nest = emitter.builder, emitter.nest
    *outer, inner = free
    lower, upper = bounds.get(inner, (0, nest.sizes[inner]))
    whole = upper // tile * tile if nest.sizes[inner] % tile else upper
    buffers = [builder.alloca(memref_type((tile,), buffer_of(access.root).element_type)) for access in nest.outputs]
    aligned = [begins_at_line(builder, access.root, []) for access in nest.outputs]
    with emitter.loops(outer, bounds, innermost=False):
        with builder.loop(lower, whole, step=tile) as start, emitter.scope():
            emitter.tiles = {k: Tile(buffer, inner, start) for k, buffer in enumerate(buffers)}
            with emitter.loops([inner], {inner: (start, start + tile)}):
                store(emitter)
            emitter.tiles = {}
            emitter.indices[inner] = start
            for buffer, access, condition in zip(buffers, nest.outputs, aligned, strict=True):
                _store_tile(builder, buffer, access.root, builder.index(emitter.offset(access)), condition)
        if nest.sizes[inner] % tile:
            with emitter.loops([inner], {inner: (whole, upper)}):
                store(emitter)
    builder.insert(FenceOp("seq_cst"))


def _store_tile(builder: LoopBuilder, tile: SSAValue, target: SSAValue, to: IndexValue, aligned: SSAValue) -> None:
    """Store a tile past the caches if its place begins at a line."""
    # Most programs have no such results, and need no vector dialect.
    from ..convert_contractions_to_vector.vectors import VectorBuilder

    vectors, (size,) = VectorBuilder(builder), buffer_of(tile).get_shape()
    with builder.when(aligned):
        _copy_vectors(builder, (tile, 0), (target, to), (0, size), vectors.store_past_caches)
    with builder.otherwise():
        _copy_vectors(builder, (tile, 0), (target, to), (0, size), vectors.store)


def _copy_vectors(
    builder: LoopBuilder,
    source: tuple[SSAValue, Index],
    target: tuple[SSAValue, Index],
    bounds: tuple[Index, Index],
    store: _Store,
    several: int = TOGETHER,
) -> None:
    """Copy the elements in `bounds`, counted from a place in a buffer, to a place in another."""
    from ..convert_contractions_to_vector.vectors import VectorBuilder

    vectors = VectorBuilder(builder)
    lanes = builder.vector_bits // 8 // byte_width(buffer_of(source[0]).element_type)

    def view(side: tuple[SSAValue, Index], place: Index) -> SSAValue:
        return builder.strided_view(side[0], side[1] + place, (lanes,), (1,))

    with builder.loop(*bounds, step=several * lanes) as first:
        places = [first + number * lanes for number in range(several)]
        loaded = [vectors.load(view(source, place), [0], lanes) for place in places]
        for place, value in zip(places, loaded, strict=True):
            store(value, view(target, place), [0])


# Rows that are only copied.


@writes(0)
def emit_copied_rows(builder: LoopBuilder, parameters: Sequence[SSAValue], vector_bits: int) -> None:
    """Copy rows, as plain_rows.py does: whole lines of the target past the caches."""
    from ..convert_contractions_to_vector.vectors import VectorBuilder

    builder.vector_bits = vector_bits
    target, to, apart, rows, columns, source, at, source_apart = parameters
    number, vectors = builder.index, VectorBuilder(builder)
    width, count = byte_width(buffer_of(target).element_type), number(columns)
    line, together = LINE // width, TOGETHER * vector_bits // 8 // width
    with builder.loop(0, number(rows)) as i:
        begins = source, number(at) + i * number(source_apart)
        target_begins = target, number(to) + i * number(apart)
        head = builder.min(_to_line(builder, *target_begins), count)
        lines = head + (count - head) // line * line
        several = head + (lines - head) // together * together
        _copy_elements(builder, begins, target_begins, (0, head))
        with builder.when(begins_at_line(builder, target, [target_begins[1] + head])):
            _copy_vectors(builder, begins, target_begins, (head, several), vectors.store_past_caches)
            _copy_vectors(builder, begins, target_begins, (several, lines), vectors.store_past_caches, 1)
        with builder.otherwise():
            _copy_elements(builder, begins, target_begins, (head, lines))
        _copy_elements(builder, begins, target_begins, (lines, count))
    builder.insert(FenceOp("seq_cst"))


def _to_line(builder: LoopBuilder, buffer: SSAValue, place: Index) -> IndexValue:
    """The elements from a place in a buffer up to the next line that begins with one."""
    op = memref.ExtractAlignedPointerAsIndexOp.create(operands=[buffer], result_types=[INDEX])
    width = byte_width(buffer_of(buffer).element_type)
    address = IndexValue(builder, builder.insert(op).aligned_pointer) + place * width
    before = builder.binary(arith.AndIOp, builder.index(0) - address, LINE - 1)
    return builder.index(before // width)


def _copy_elements(
    builder: LoopBuilder, source: tuple[SSAValue, Index], target: tuple[SSAValue, Index], bounds: tuple[Index, Index]
) -> None:
    with builder.loop(*bounds) as place:
        value = builder.load(builder.strided_view(source[0], source[1] + place, (1,), (1,)), [0])
        builder.store(value, builder.strided_view(target[0], target[1] + place, (1,), (1,)), [0])
