"""
Pads of whole arrays: calls of a function that copies rows between padding, for arrays of any sizes.

Programs share it, so that a pad is no code for LLVM. As an elementwise operation a pad would look at every index. Pads
of rows of few elements are permutations of lanes instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DenseArrayBase, Float32Type, Float64Type, IntegerType, i1
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, SSAValue

from ...dialects.support.buffers import row_major
from ...dialects.support.editing import erase_op
from ...dialects.support.kernel import PADDING
from ...dialects.support.llvm_layout import byte_width
from ...hlo_dialect.walking import operations_of
from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..loop_nests.cost import copy_work, task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import known_number
from ..loop_nests.loop_builder import Index, IndexValue, LoopBuilder, buffer_of
from ..loop_nests.nest import ElementAddress, address_of
from .plain_rows import LONGER, call_copy
from .weaving import WIDEST, Place, Strand, Weave, block_of, emit_weave

RANK = 4
"""Dimensions of the function's arrays; those without padding are one with the dimension before them."""

_OF_INDICES = (
    IndexOp,
    arith.AddiOp,
    arith.AndIOp,
    arith.CmpiOp,
    arith.ConstantOp,
    arith.MaxSIOp,
    arith.MinSIOp,
)

_READ = frozenset((memref.LoadOp, *_OF_INDICES))


Start: TypeAlias = tuple[SSAValue, IndexValue]
"""A buffer, and the place there of an array's first element."""

_INTEGERS = tuple(IntegerType(width) for width in (8, 16, 32, 64))


@dataclass(frozen=True)
class _Dimension:
    """One dimension: its size in the source and in the target, and where the source begins."""

    inner: int
    outer: int
    low: int


@dataclass(frozen=True)
class Pad:
    """A pad: where its arrays are in buffers, the padding and the dimensions, of which there are RANK."""

    source: ElementAddress
    target: ElementAddress
    value: SSAValue
    sizes: tuple[int, ...]
    """Those of the source's own dimensions."""
    dimensions: tuple[_Dimension, ...]

    @property
    def elements(self) -> int:
        return math.prod(each.outer for each in self.dimensions)

    @property
    def element_type(self) -> Attribute:
        return buffer_of(self.target.root).element_type


def pad_of(op: GenericOp) -> Pad | None:
    """The pad that a marked generic is; None if others are fused into it, or its elements are no common numbers."""
    lows, body = op.attributes.get(PADDING), op.body.block
    last = body.last_op
    if not isinstance(lows, DenseArrayBase) or not isinstance(last, YieldOp) or len(last.operands) != 1:
        return None
    chosen = last.operands[0].owner
    if not isinstance(chosen, arith.SelectOp):
        return None
    inner = operations_of(body)
    reads = [each for each in inner if isinstance(each, memref.LoadOp)]
    if len(reads) != 1 or {each for each in inner if type(each) not in _READ} != {chosen, last}:
        return None
    if chosen.lhs is not reads[0].res or not isinstance(chosen.rhs.owner, arith.ConstantOp):
        return None
    values = (reads[0].memref, op.outputs[0])
    source, target = map(address_of, values)
    shapes = [buffer_of(value).get_shape() for value in values]
    places = zip(reads[0].indices, lows.get_values(), strict=True)
    if not all(_is_shifted(place, dim, low) for dim, (place, low) in enumerate(places)):
        return None
    joined = _joined([_Dimension(*each) for each in zip(*shapes, lows.get_values(), strict=True)])
    dense = all(each.strides == row_major(shape) for each, shape in zip((source, target), shapes, strict=True))
    if joined is None or not dense:
        return None
    # As an elementwise operation a pad of truth values is in lanes, as far as its rows are whole vectors.
    pad = Pad(source, target, chosen.rhs, shapes[0], joined)
    truths = pad.element_type == i1
    return pad if (_is_ragged(joined[-1]) if truths else _is_common(pad.element_type)) else None


def _is_shifted(place: SSAValue, dim: int, low: int) -> bool:
    """Whether a place is the index of a dimension without the padding before it, kept within the source."""
    owner = place.owner
    while isinstance(owner, arith.MaxSIOp | arith.MinSIOp) and known_number(owner.rhs) is not None:
        owner = owner.lhs.owner
    if low and isinstance(owner, arith.AddiOp) and known_number(owner.rhs) == -low:
        owner, low = owner.lhs.owner, 0
    return low == 0 and isinstance(owner, IndexOp) and owner.dim.value.data == dim


def _is_common(type_: Attribute) -> bool:
    return isinstance(type_, Float32Type | Float64Type) or type_ in _INTEGERS


def _is_ragged(row: _Dimension) -> bool:
    """Whether short rows of bytes end in several elements that fill no vector: those take longer than a copied row."""
    return 8 < row.outer < 32 and row.outer % 16 >= 4


def _joined(dimensions: Sequence[_Dimension]) -> tuple[_Dimension, ...] | None:
    """RANK dimensions that are the same in memory; None if there are more."""
    found: list[_Dimension] = []
    for each in dimensions:
        if found and each.inner == each.outer:
            size, last = each.inner, found.pop()
            each = _Dimension(last.inner * size, last.outer * size, last.low * size)
        found.append(each)
    one = _Dimension(1, 1, 0)
    return None if len(found) > RANK else (*[one] * (RANK - len(found)), *found)


def convert_pads(kernel: func.FuncOp, marked: Sequence[GenericOp], vector_bits: int) -> None:
    """Replace those generics of a kernel that are pads."""
    for op in marked:
        pad = pad_of(op)
        if pad is None:
            continue
        builder = LoopBuilder(kernel)
        builder.vector_bits = vector_bits
        builder.insert_at(op)
        _emit_pad(builder, kernel, pad)
        erase_op(op)


def _emit_pad(builder: LoopBuilder, kernel: func.FuncOp, pad: Pad) -> None:
    """Emit the calls for all rows, by tasks if they are many; rows of few elements are permutations of lanes."""
    *outer, _ = pad.dimensions
    rows = math.prod(each.outer for each in outer)
    width = byte_width(pad.element_type)
    tasks = task_count(pad.elements, copy_work(pad.elements * width), rows)
    value = builder.scalar(cast(Any, pad.value.owner).value)
    from_, to = (each.offset_at(builder) for each in (pad.source, pad.target))
    weave = _woven(pad, from_, to, value)
    block = None if weave is None else block_of(weave, rows, builder.vector_bits)
    numbers = [number for each in pad.dimensions for number in (each.inner, each.outer, each.low)]

    def call(lower: Index, upper: Index) -> None:
        if weave is not None and block is not None:
            emit_weave(builder, weave, block, lower, upper)
            return
        arguments = (pad.source.root, pad.target.root, value, from_, to, lower, upper, *numbers)
        call_known(builder, kernel, "pad", arguments, builder.vector_bits // (8 * width), _emit)

    if tasks == 1:
        call(0, rows)
        return
    size = task_size(rows, tasks)
    with builder.parallel(-(-rows // size)) as task:
        call(*chunk(builder, task, size, rows))


def _woven(pad: Pad, from_: Index, to: Index, value: SSAValue) -> Weave | None:
    """The weave that a pad of rows of few elements is, if no other dimension is padded."""
    *outer, row = pad.dimensions
    truths = pad.element_type == i1  # a byte each in memory, a bit each in lanes
    if truths or row.outer > WIDEST or any(each.inner != each.outer for each in outer):
        return None
    columns = [Place(0, at - row.low) if 0 <= at - row.low < row.inner else value for at in range(row.outer)]
    return Weave(pad.target.root, to, [Strand(pad.source.root, from_, row.inner)], columns)


@writes(1)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    source, target, value, *places = parameters
    from_, to, lower, upper, *sizes = (builder.index(number) for number in places)
    inner, outer, low = sizes[0::3], sizes[1::3], sizes[2::3]
    _Rows(builder, (source, from_), (target, to), value, lanes, inner, outer, low).write(lower, upper)


@dataclass(frozen=True)
class _Rows:
    """The body of the function: it writes rows of the target, plane by plane."""

    builder: LoopBuilder
    source: Start
    target: Start
    value: SSAValue
    lanes: int
    inner: Sequence[IndexValue]
    outer: Sequence[IndexValue]
    low: Sequence[IndexValue]

    def write(self, first: IndexValue, end: IndexValue) -> None:
        """Write the rows from the first one up to the end."""
        builder, rows = self.builder, self.outer[2]
        planes = [self._divided(first, rows), self._divided(builder.index(end + rows - 1), rows)]
        with builder.loop(*planes) as plane:
            above = builder.index(plane * rows)
            begins = builder.index(first - above).max(0)
            self._write_plane(plane, begins, builder.index(builder.min(end - above, rows)))

    def _write_plane(self, plane: IndexValue, begins: IndexValue, ends: IndexValue) -> None:
        """Write the rows of a plane in a range. The gap between two rows of the source is filled at once."""
        builder, inner, outer, low = self.builder, self.inner, self.outer, self.low
        matrix = self._divided(plane, outer[1])
        places = [builder.index(matrix - low[0]), builder.index(plane - matrix * outer[1] - low[1])]
        inside = places[0].below(inner[0]) & places[1].below(inner[1])
        top = builder.index(builder.min(begins.max(low[2]), ends))
        bottom = builder.index(builder.min(low[2] + inner[2], ends)).max(top)
        # Without rows of the source, as where a task begins below them, all is filled as what is above them.
        some = inside & (top < bottom)
        top, bottom = builder.select(some, top, ends), builder.select(some, bottom, ends)
        above, width, last = plane * outer[2], outer[3], bottom - 1
        head = builder.select(some, low[3], 0)
        self._fill((above + begins) * width, (top - begins) * width + head)
        gap, tail = width - inner[3], width - inner[3] - low[3] + (ends - bottom) * width
        from_row = (places[0] * inner[1] + places[1]) * inner[2] - low[2]
        with builder.loop(top, bottom) as row:
            at = (above + row) * width + low[3]
            self._copy((from_row + row) * inner[3], at)
            self._fill(at + inner[3], builder.select(row.compare("eq", last), tail, gap))

    def _divided(self, number: IndexValue, by: IndexValue) -> IndexValue:
        return self.builder.binary(arith.DivUIOp, number, by)

    def _fill(self, at: Index, count: Index) -> None:
        # Few programs have pads, and most need no vector dialect.
        from ..convert_contractions_to_vector.row_vectors import fill_row

        fill_row(self.builder, self.value, _after(self.target, at), self.builder.index(count), self.lanes)

    def _copy(self, at: Index, to: Index) -> None:
        """Copy a row of the source, a long one as the C library does."""
        from ..convert_contractions_to_vector.row_vectors import copy_row

        builder, count = self.builder, self.inner[3]
        source, target = _after(self.source, at), _after(self.target, to)
        with builder.when(count * byte_width(buffer_of(source[0]).element_type) >= builder.index(LONGER)):
            call_copy(builder, builder.kernel, source, target, count)
        with builder.otherwise():
            copy_row(builder, source, target, count, self.lanes)


def _after(start: Start, elements: Index) -> tuple[SSAValue, Index]:
    """The place so many elements after the first one."""
    return start[0], start[1] + elements
