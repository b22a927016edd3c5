"""
Rows of few elements that are copied from other rows, or are one number: whole vectors by permutations of lanes.

    out[i, 0:3] = x[i, 0:3]; out[i, 3] = 0      # a pad, a concatenation
    out[i, 0:3] = out[i, 3:6] = x[i, 0:3]       # repeated pixels

Some rows of the result are a few vectors. Where the elements of each lie is known: those of a vector are within a few
vectors of the sources.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import SSAValue

from ...dialects.support.scalar import width_of
from ..loop_nests.emission import NestEmitter
from ..loop_nests.loop_builder import Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest

WIDEST = 16
"""Elements of a row of the result."""

WOVEN = (32, 64)
"""Bits of elements that vector units of all kinds move to any lane; LLVM interleaves narrower ones about as well."""

MOST_VECTORS = 16
"""Vectors of the result that one iteration writes."""

MOST_SOURCES = 3
"""Vectors from which the elements of one are put together."""


@dataclass(frozen=True)
class Strand:
    """Rows of a source: the place of the first one, and the elements from one to the next."""

    buffer: SSAValue
    at: Index
    step: int


@dataclass(frozen=True)
class Place:
    """An element of each row: that of a strand, after the row's first one."""

    strand: int
    offset: int


@dataclass(frozen=True)
class Weave:
    """Rows of a result from some place on, each with these elements, one after the other."""

    target: SSAValue
    at: Index
    strands: Sequence[Strand]
    columns: Sequence[Place | SSAValue]
    """An element's place, or a number that it is in all rows."""


@dataclass(frozen=True)
class Part:
    """A nest that writes some neighbours in each row, whose other loops are bound."""

    emitter: NestEmitter
    row: int
    """The loop over rows."""
    short: Sequence[int]
    """The loops over the neighbours, the outer ones first."""


def weave_of(parts: Sequence[Part]) -> Weave | None:
    """The weave that parts are, of which each follows the one before; None if one computes, or reads the result."""
    output = parts[0].emitter.nest.outputs[0]
    builder, element = parts[0].emitter.builder, buffer_of(output.root).element_type
    strands: list[Strand] = []
    columns: list[Place | SSAValue] = []
    sources = [_copied(builder, part.emitter.nest) for part in parts]
    if width_of(element) not in WOVEN or any(source is None for source in sources):
        return None
    for part, source in zip(parts, sources, strict=True):
        sizes = [range(part.emitter.nest.sizes[loop]) for loop in part.short]
        if isinstance(source, SSAValue):
            columns += [source] * math.prod(map(len, sizes))
        elif source is not None:
            if source.root is output.root or not source.strides[part.row]:
                return None
            offsets = (
                sum(at * source.strides[loop] for at, loop in zip(place, part.short, strict=True))
                for place in itertools.product(*sizes)
            )
            columns += [Place(len(strands), offset) for offset in offsets]
            strands.append(Strand(*_first(part, source), source.strides[part.row]))
    if output.strides[parts[0].row] != len(columns):
        return None
    return Weave(*_first(parts[0], output), strands, columns)


def _copied(builder: LoopBuilder, nest: Nest) -> Access | SSAValue | None:
    """The operand that a nest copies, or the number that it writes; None for other nests."""
    if len(nest.outputs) != 1:
        return None
    if nest.body is None:
        return nest.inputs[0]
    *ops, last = nest.body.ops
    (value,) = last.operands
    if not all(isinstance(op, arith.ConstantOp) for op in ops):
        return None
    if isinstance(value.owner, arith.ConstantOp) and isinstance(value.owner.value, IntegerAttr | FloatAttr):
        return builder.scalar(value.owner.value)
    return next((x for x, argument in zip(nest.inputs, nest.body.args, strict=False) if value is argument), None)


def _first(part: Part, access: Access) -> tuple[SSAValue, Index]:
    """The buffer of an operand, and the place there of the first row's first element."""
    emitter = part.emitter
    with emitter.scope():
        for loop in (part.row, *part.short):
            emitter.indices[loop] = 0
        return emitter.roots.get(access.root, access.root), emitter.offset(access)


@dataclass(frozen=True)
class Window:
    """A vector of a strand: its elements from one on, counted from the first one of a block's first row."""

    strand: int
    first: int
    lanes: int

    def has(self, element: Place) -> bool:
        return element.strand == self.strand and 0 <= element.offset - self.first < self.lanes


Source = Window | SSAValue


@dataclass(frozen=True)
class Block:
    """Rows that are written at once: each vector's sources, and for each of its lanes the source and its lane."""

    rows: int
    lanes: int
    vectors: Sequence[tuple[Sequence[Source], Sequence[tuple[int, int]]]]


def block_of(weave: Weave, rows: int, vector_bits: int) -> Block | None:
    """
    The block of fewest rows that are whole vectors, and as much as a vector of each strand; None if there is none of up
    to `rows` rows, or its vectors have too many sources.
    """
    width, size = len(weave.columns), width_of(buffer_of(weave.target).element_type)
    lanes = vector_bits // size
    count = lanes // math.gcd(width, lanes)
    while count <= rows and count * width <= MOST_VECTORS * lanes:
        ranges = _ranges(weave, count)
        if all(len(each) >= lanes for each in ranges.values()):
            vectors = [_vector(weave, first, lanes, ranges) for first in range(0, count * width, lanes)]
            return Block(count, lanes, vectors) if all(len(x) <= MOST_SOURCES for x, _ in vectors) else None
        count *= 2
    return None


def _ranges(weave: Weave, rows: int) -> dict[int, range]:
    """For each strand, the range of its elements that `rows` rows read."""
    found: dict[int, range] = {}
    for column in weave.columns:
        if isinstance(column, Place):
            low, high = sorted((column.offset, column.offset + (rows - 1) * weave.strands[column.strand].step))
            known = found.get(column.strand, range(low, high + 1))
            found[column.strand] = range(min(low, known.start), max(high + 1, known.stop))
    return found


def _vector(
    weave: Weave, first: int, lanes: int, ranges: Mapping[int, range]
) -> tuple[list[Source], list[tuple[int, int]]]:
    """The vector of a block's elements from one on: its sources, and the source and lane of each lane."""
    elements = [_element(weave, *divmod(first + lane, len(weave.columns))) for lane in range(lanes)]
    windows: list[Window] = []
    for strand, whole in ranges.items():
        left: list[int] = sorted(each.offset for each in elements if isinstance(each, Place) and each.strand == strand)
        while left:
            windows.append(Window(strand, min(left[0], whole.stop - lanes), lanes))
            left = [place for place in left if place >= windows[-1].first + lanes]
    sources = [*windows, *dict.fromkeys(each for each in elements if not isinstance(each, Place))]
    return sources, [_picked(sources, each) for each in elements]


def _element(weave: Weave, row: int, column: int) -> Place | SSAValue:
    """An element of a row of a block."""
    found = weave.columns[column]
    if not isinstance(found, Place):
        return found
    return Place(found.strand, found.offset + row * weave.strands[found.strand].step)


def _picked(sources: Sequence[Source], element: Place | SSAValue) -> tuple[int, int]:
    """The source that has an element, and its lane there."""
    if not isinstance(element, Place):
        return sources.index(element), 0
    found = ((at, each) for at, each in enumerate(sources) if isinstance(each, Window) and each.has(element))
    at, window = next(found)
    return at, element.offset - window.first


def emit_weave(builder: LoopBuilder, weave: Weave, block: Block, lower: Index, upper: Index) -> None:
    """Emit the rows within bounds: by blocks, or if they are fewer by elements."""
    if isinstance(lower, int) and isinstance(upper, int) and upper - lower >= block.rows:
        _emit_blocks(builder, weave, block, lower, upper)
        return
    with builder.when(builder.index(upper - lower) >= block.rows):
        _emit_blocks(builder, weave, block, lower, upper)
    with builder.otherwise(), builder.loop(lower, upper) as row:
        _emit_elements(builder, weave, row)


def _emit_blocks(builder: LoopBuilder, weave: Weave, block: Block, lower: Index, upper: Index) -> None:
    """Emit the rows, as many as a block has or more. The last block overlaps the one before if they are not whole."""
    even = isinstance(lower, int) and isinstance(upper, int) and (upper - lower) % block.rows == 0
    with builder.loop(lower, upper, step=block.rows) as row:
        _emit_block(builder, weave, block, row if even else builder.min(row, upper - block.rows))


def _emit_elements(builder: LoopBuilder, weave: Weave, row: Index) -> None:
    """Emit the copy of one row."""
    for number, column in enumerate(weave.columns):
        to = _view(builder, weave.target, weave.at + row * len(weave.columns) + number, 1)
        if isinstance(column, Place):
            strand = weave.strands[column.strand]
            view = _view(builder, strand.buffer, strand.at + row * strand.step + column.offset, 1)
            builder.store(builder.load(view, [0]), to, [0])
        else:
            builder.store(column, to, [0])


def _view(builder: LoopBuilder, buffer: SSAValue, at: Index, lanes: int) -> SSAValue:
    return builder.strided_view(buffer, at, (lanes,), (1,))


def _emit_block(builder: LoopBuilder, weave: Weave, block: Block, row: Index) -> None:
    """Emit the copy of a block, from a row on."""
    # Most programs copy no such rows, and need no vector dialect.
    from ..convert_contractions_to_vector.vectors import VectorBuilder

    vectors, lanes = VectorBuilder(builder), block.lanes
    made: dict[Source, SSAValue] = {}

    def vector(source: Source) -> SSAValue:
        if source not in made:
            if isinstance(source, Window):
                strand = weave.strands[source.strand]
                view = _view(builder, strand.buffer, strand.at + row * strand.step + source.first, lanes)
                made[source] = vectors.load(view, [0], lanes)
            else:
                made[source] = vectors.splat(source, lanes)
        return made[source]

    for number, (sources, picked) in enumerate(block.vectors):
        value = vector(sources[0])
        for at in range(1, max(2, len(sources))):
            mask = [_lane(at, lanes, here, *each) for here, each in enumerate(picked)]
            value = vectors.shuffled(value, vector(sources[min(at, len(sources) - 1)]), mask)
        to = weave.at + row * len(weave.columns) + number * lanes
        vectors.store(value, _view(builder, weave.target, to, lanes), [0])


def _lane(at: int, lanes: int, here: int, source: int, lane: int) -> int:
    """Where a lane is from, when source `at` joins those before it: the first one's lanes are not in place yet."""
    if source == at:
        return lanes + lane
    return lane if source == 0 and at == 1 else here
