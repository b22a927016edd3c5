"""
Transposed copies: blocks of a matrix that pass through registers.

A function copies `rows` rows of `columns` units, so that a column of the source becomes a row of the target. A unit is
one element, or a few that stay neighbours, such as the two parts of a complex number. Blocks of a function's part go
down the rows first: the lines of the target that belong together in memory are written one after the other.

Results that leave the caches anyway are written past them where whole lines are: lines of the target, often a power of
two apart, would push one another out, and each would be read before it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, SSAValue

from ...dialects.llvm_ops import FenceOp
from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import INDEX, memref_type
from ...dialects.support.scalar import width_of
from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..device.cpu import CPU
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.loop_builder import SCALAR, Index, IndexValue, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest

if TYPE_CHECKING:
    from ..convert_contractions_to_vector.vectors import VectorBuilder

TILE = 64
"""
Side, in elements, of the square tiles of a transposition, two of which fit into the L1 cache as f32; rows that one call
copies where there are many columns.
"""

LEAST_TILED = 8
"""Iterations of each of two loops that make tiles worth it: fewer lines stay in the cache by themselves."""

LINE_BYTES = 64

LANE_BYTES = 16
"""The parts of a vector within which elements of one and two bytes are interleaved."""

BEYOND_CACHES = 8 * CPU.l2_bytes
"""Bytes of a result from which it is written past the caches."""

ROWS_BEYOND_CACHES = 12 * CPU.l2_bytes
"""
The same for results that are written row by row: smaller ones stay in the third-level cache with what is read, and with
the result of the call before.
"""


@dataclass(frozen=True)
class Block:
    """The part of a matrix that is in registers at once, and the elements of a unit."""

    rows: int
    """Units of a row of the target: one vector, or two where these are half a line and written past the caches."""
    columns: int
    """The rows of the target."""
    unit: int
    past_caches: bool
    """Whether to write past the caches where rows of the target begin at lines."""
    vectors: int = 1
    """Vectors of a row of the target."""


@dataclass(frozen=True)
class Side:
    """A matrix in memory: its buffer, its first element, and the elements from one row to the next."""

    buffer: SSAValue
    at: Index
    step: Index


def can_transpose(element: Attribute, unit: int = 1) -> bool:
    """Whether vectors of such elements can be loaded, and their units interleaved."""
    width = width_of(element)
    return width in (8, 16, 32, 64) and width * unit <= 8 * LANE_BYTES


def block_of(vector_bits: int, width: int, unit: int, rows: int, columns: int, past_caches: bool = False) -> Block:
    """The block for units of elements of `width` bits; the matrix has at most `rows` rows and `columns` columns."""
    lanes, vectors = vector_bits // (width * unit), vectors_of_line(vector_bits)
    if past_caches and vectors is not None and rows >= vectors * lanes:
        height = vectors * lanes
    else:
        past_caches, vectors, height = False, 1, min(lanes, _power_of_two(rows))
    # A few long loads are fewer than many short ones; but as many vectors as bytes of one would not fit in registers.
    across = lanes if width * unit >= 32 else 8 * LANE_BYTES // (width * unit)
    return Block(height, min(across, height, _power_of_two(columns)), unit, past_caches, vectors)


def vectors_of_line(vector_bits: int) -> int | None:
    """The vectors of a line that is written past the caches: one, or two halves; None where vectors are shorter."""
    vectors = 8 * LINE_BYTES // vector_bits
    return vectors if vectors in (1, 2) else None


def _power_of_two(most: int) -> int:
    return 1 << most.bit_length() - 1


def emit_transposed(
    builder: LoopBuilder, source: Side, target: Side, rows: Index, columns: Index, block: Block
) -> None:
    """Emit the call that copies `rows` rows of the source, each of `columns` units, to columns of the target."""
    arguments = (source.buffer, source.at, source.step, target.buffer, target.at, target.step, rows, columns)
    call_known(builder, builder.kernel, "transpose", arguments, block, _emit)


@writes(3)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], block: Block) -> None:
    source, at, step, target, to, to_step, rows, columns = parameters
    number = builder.index
    sides = Side(source, number(at), number(step)), Side(target, number(to), number(to_step))
    copy = _Copy(builder, *sides, number(rows), number(columns), block)
    with builder.when((copy.rows >= block.rows) & (copy.columns >= block.columns)):
        if block.past_caches:
            with builder.when(copy.has_whole_lines()):
                copy.by_blocks(past_caches=True)
                builder.insert(FenceOp("seq_cst"))
            with builder.otherwise():
                copy.by_blocks()
        else:
            copy.by_blocks()
    with builder.otherwise():
        copy.by_elements()


def begins_at_line(builder: LoopBuilder, buffer: SSAValue, offsets: Sequence[Index]) -> SSAValue:
    """Whether the buffer begins at a line, and the numbers of elements are all multiples of a line's."""
    op = memref.ExtractAlignedPointerAsIndexOp.create(operands=[buffer], result_types=[INDEX])
    rest = IndexValue(builder, builder.insert(op).aligned_pointer)
    size = width_of(buffer_of(buffer).element_type) // 8
    for elements in offsets:
        rest = builder.binary(arith.OrIOp, rest, elements * size)
    return builder.binary(arith.AndIOp, rest, LINE_BYTES - 1).compare("eq", 0).value


@dataclass(frozen=True)
class _Copy:
    """The body of the function."""

    builder: LoopBuilder
    source: Side
    target: Side
    rows: IndexValue
    columns: IndexValue
    block: Block

    def has_whole_lines(self) -> SSAValue:
        """Whether each row that is written consists of whole lines."""
        target = self.target
        return begins_at_line(self.builder, target.buffer, [target.at, target.step, self.rows * self.block.unit])

    def by_blocks(self, past_caches: bool = False) -> None:
        """Copy blocks; the last ones of rows and columns that are no whole blocks overlap those before them."""
        builder, block = self.builder, self.block
        with builder.loop(0, self.columns, step=block.columns) as column:
            across = builder.min(column, self.columns - block.columns)
            with builder.loop(0, self.rows, step=block.rows) as row:
                down = row if past_caches else builder.min(row, self.rows - block.rows)
                self._copy_block(down, across, past_caches)

    def _copy_block(self, row: Index, column: Index, past_caches: bool) -> None:
        # Most programs transpose nothing, and need no vector dialect.
        from ..convert_contractions_to_vector.vectors import VectorBuilder

        vectors, block = VectorBuilder(self.builder), self.block
        height = block.rows // block.vectors
        lanes = height * block.unit
        squares: list[list[SSAValue]] = []
        for first in range(0, block.rows, height):
            loaded = [self._loaded(vectors, row + first + at, column) for at in range(height)]
            # Vector i has the rows i, i + columns, i + 2 columns, ..
            joined = [loaded[at :: block.columns] for at in range(block.columns)]
            squares.append(vectors.transposed([vectors.joined(each) for each in joined], block.unit))
        # Halves of a line that are written past the caches leave together if they are stored one after the other.
        for at, values in enumerate(zip(*squares, strict=True)):
            for number, value in enumerate(values):
                place = self.target.at + (column + at) * self.target.step + row * block.unit + number * lanes
                view = self.builder.strided_view(self.target.buffer, place, (lanes,), (1,))
                (vectors.store_past_caches if past_caches else vectors.store)(value, view, [0])

    def _loaded(self, vectors: VectorBuilder, row: Index, column: Index) -> SSAValue:
        lanes = self.block.columns * self.block.unit
        place = self.source.at + row * self.source.step + column * self.block.unit
        return vectors.load(self.builder.strided_view(self.source.buffer, place, (lanes,), (1,)), [0], lanes)

    def by_elements(self) -> None:
        """Copy what is smaller than a block: few elements, which are apart in the source."""
        builder, unit = self.builder, self.block.unit
        with builder.loop(0, self.columns) as column, builder.loop(0, self.rows, attributes=SCALAR) as row:
            place = self.source.at + row * self.source.step + column * unit
            to = self.target.at + column * self.target.step + row * unit
            for at in range(unit):
                element = builder.load(builder.strided_view(self.source.buffer, place + at, (1,), (1,)), [0])
                builder.store(element, builder.strided_view(self.target.buffer, to + at, (1,), (1,)), [0])


@dataclass(frozen=True)
class Transposition:
    """A nest that copies an array, whose source and target are contiguous along different loops."""

    inner: int
    """The loop along which the target is contiguous."""
    other: int
    """The loop along which the source is contiguous."""
    unit: int | None
    """The loop of few elements that are neighbours in both."""


def transposition_of(nest: Nest) -> Transposition | None:
    """The transposition that a canonical nest is; None if it is another one."""
    if len(nest.inputs) != 1 or len(nest.outputs) != 1 or not _copies(nest):
        return None
    (source,), (target,) = nest.inputs, nest.outputs
    if not isinstance(source, Access) or source.root is target.root:
        return None
    free = list(nest.free)
    unit = None
    if free and source.strides[free[-1]] == target.strides[free[-1]] == 1:
        unit = free.pop()
    elements = 1 if unit is None else nest.sizes[unit]
    if elements & (elements - 1) or not can_transpose(buffer_of(source.root).element_type, elements):
        return None
    long = [loop for loop in free if nest.sizes[loop] >= LEAST_TILED]
    inner = next((loop for loop in long if target.strides[loop] == elements), None)
    other = next((loop for loop in long if source.strides[loop] == elements), None)
    if inner is None or other is None or inner == other:
        return None
    return Transposition(inner, other, unit) if min(source.strides[inner], target.strides[other]) > 0 else None


def _copies(nest: Nest) -> bool:
    if nest.body is None:
        return True
    last = nest.body.last_op
    return last is nest.body.first_op and isinstance(last, YieldOp) and last.operands[0] is nest.body.args[0]


def emit_transposition(emitter: NestEmitter, found: Transposition, bounds: Bounds) -> None:
    """Emit the free loops within `bounds`: calls for some rows and all columns, one for all rows if these are short."""
    builder, nest = emitter.builder, emitter.nest
    inner, other = found.inner, found.other
    (source,), (target,) = cast("tuple[Access]", nest.inputs), nest.outputs
    unit = 1 if found.unit is None else nest.sizes[found.unit]
    width = width_of(buffer_of(source.root).element_type)
    far = byte_size(buffer_of(target.root)) >= BEYOND_CACHES
    block = block_of(builder.vector_bits, width, unit, nest.sizes[inner], nest.sizes[other], far)
    far = block.past_caches
    whole = {loop: bounds.get(loop, (0, nest.sizes[loop])) for loop in (inner, other)}
    (first, end), (left, right) = whole[inner], whole[other]
    outer = [loop for loop in nest.free if loop not in (inner, other, found.unit)]
    # Rows that do not begin at lines are read in one go: their lines, often a power of two apart, push one another out.
    rows = nest.sizes[inner] if nest.sizes[other] <= block.columns else block.rows if far else TILE
    with emitter.loops(outer, bounds, innermost=False), builder.loop(first, end, step=rows) as row, emitter.scope():
        emitter.indices[inner], emitter.indices[other] = row, left
        if found.unit is not None:
            emitter.indices[found.unit] = 0
        count = builder.min(end - row, rows)
        sides = [
            Side(emitter.roots.get(access.root, access.root), emitter.offset(access), access.strides[loop])
            for access, loop in ((source, inner), (target, other))
        ]
        emit_transposed(builder, sides[0], sides[1], count, right - left, block)


def emit_staged(emitter: NestEmitter, k: int, tile: dict[int, tuple[Index, Index]]) -> SSAValue:
    """
    Copy the tile of input `k` to a buffer that is contiguous along the second loop of the tile, as the input is along
    the first.
    """
    builder, nest = emitter.builder, emitter.nest
    access = cast(Access, nest.inputs[k])
    other, inner = tile
    element = buffer_of(access.root).element_type
    buffer = builder.alloca(memref_type((TILE, TILE), element))
    block = block_of(builder.vector_bits, width_of(element), 1, nest.sizes[inner], nest.sizes[other])
    with emitter.scope():
        for loop, (start, _) in tile.items():
            emitter.indices[loop] = start
        root = emitter.roots.get(access.root, access.root)
        source = Side(root, emitter.offset(access), access.strides[inner])
        counts = [end - start for start, end in (tile[inner], tile[other])]
        emit_transposed(builder, source, Side(buffer, 0, TILE), counts[0], counts[1], block)
    return buffer
