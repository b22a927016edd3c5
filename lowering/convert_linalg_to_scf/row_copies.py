"""
Gathers of long rows: a function that copies a row and asks for one of the next.

    out[i, j] = table[rows[i], j]

A processor foresees the lines of a row, but not where the next one is. Rows to come are asked for into the second-level
cache, which waits for more lines at a time than the first one. Results that leave the caches anyway are written past
them, as transposed ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects import memref
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Operation, SSAValue

from ...dialects.llvm_ops import FenceOp
from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import row_major
from ...dialects.support.scalar import width_of
from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..device.cpu import CPU
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.loop_builder import Index, IndexValue, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest, address_of
from .transposition import BEYOND_CACHES, ROWS_BEYOND_CACHES, begins_at_line, can_transpose, vectors_of_line

if TYPE_CHECKING:
    from ..convert_contractions_to_vector.vectors import VectorBuilder

LONG, LONG_IN_MEMORY = 512, 128
"""Bytes of a row from which it is worth a call, and asking for the next ones; of a table in memory."""

IN_MEMORY = 2 * BEYOND_CACHES
"""Bytes of such a table."""

AHEAD_BYTES, MOST_AHEAD = 16 * 1024, 32
"""Bytes between what is copied and what is asked for, and rows at most."""

TOGETHER = 4
"""Vectors that one iteration copies."""


@dataclass(frozen=True)
class RowGather:
    """A nest that copies rows, whose places other operands tell."""

    row: int
    inner: int
    row_bytes: int
    load: memref.LoadOp
    ops: tuple[Operation, ...]
    """The operations of the body up to the load."""


def row_gather_of(nest: Nest) -> RowGather | None:
    """The gather that a canonical nest is; None if it is none, its rows are short or its result is in the L2 cache."""
    free, body = list(nest.free), nest.body
    if body is None or len(free) < 2 or len(nest.outputs) != 1:
        return None
    *ops, last = body.ops
    loads = [op for op in ops if isinstance(op, memref.LoadOp)]
    if len(loads) != 1 or not isinstance(last, YieldOp) or last.operands[0] is not loads[0].res:
        return None
    (load,), (output,) = loads, nest.outputs
    inner, buffer, source = free[-1], buffer_of(load.memref), address_of(load.memref)
    row_bytes = nest.sizes[inner] * width_of(buffer.element_type) // 8
    if load is not ops[-1] or any(op.regions for op in ops) or output.strides[inner] != 1:
        return None
    if not can_transpose(buffer.element_type) or source.strides != row_major(buffer.get_shape()):
        return None
    long = LONG_IN_MEMORY if byte_size(buffer) >= IN_MEMORY else LONG
    if row_bytes < long or byte_size(buffer_of(output.root)) < CPU.l2_bytes:
        return None
    if any(isinstance(x, Access) and x.strides[inner] for x in nest.inputs) or source.root is output.root:
        return None
    along = [op for op in ops if isinstance(op, IndexOp) and nest.dims[int(op.dim.value.data)] == inner]
    *_, place = load.indices
    # The index of the innermost loop is the last one of the load, and nothing else depends on it.
    if len(along) != 1 or along[0].result is not place or not place.has_one_use():
        return None
    return RowGather(free[-2], inner, row_bytes, load, tuple(ops))


def emit_row_gather(emitter: NestEmitter, found: RowGather, bounds: Bounds) -> None:
    """Emit the free loops within `bounds`, of which none is the innermost one."""
    builder, nest = emitter.builder, emitter.nest
    (output,) = nest.outputs
    outer = [loop for loop in nest.free if loop not in (found.row, found.inner)]
    past_caches = byte_size(buffer_of(output.root)) >= ROWS_BEYOND_CACHES
    ahead = min(MOST_AHEAD, -(-AHEAD_BYTES // found.row_bytes))
    lower, upper = bounds.get(found.row, (0, nest.sizes[found.row]))
    emitter.indices[found.inner] = 0
    with emitter.loops(outer, bounds, innermost=False), builder.loop(lower, upper) as row:
        places: list[Index] = []
        # The task after this one is often the same thread's.
        for index in (builder.min(row + ahead, nest.sizes[found.row] - 1), row):
            with emitter.scope():
                emitter.bind(found.row, index)
                places.append(_place(emitter, found))
        with emitter.scope():
            emitter.indices[found.row] = row
            to = emitter.offset(output)
        target = emitter.roots.get(output.root, output.root)
        source = address_of(found.load.memref).root
        arguments = (source, places[1], places[0], target, to, nest.sizes[found.inner])
        facts = _Facts(builder.vector_bits, past_caches and vectors_of_line(builder.vector_bits) is not None)
        call_known(builder, builder.kernel, "row", arguments, facts, _emit)
    if past_caches:
        builder.insert(FenceOp("seq_cst"))


def _place(emitter: NestEmitter, found: RowGather) -> Index:
    """The place of the row's first element in the root buffer, for the indices that are bound."""
    body = emitter.nest.body
    assert body is not None
    inputs = body.args[: len(emitter.nest.inputs)]
    mapping: dict[SSAValue, SSAValue] = {x: emitter.load_input(k) for k, x in enumerate(inputs) if x.first_use}
    _, *indices = emitter.clone(found.ops, mapping)
    place = address_of(found.load.memref).offset_at(emitter.builder)
    for index, stride in zip(indices, row_major(buffer_of(found.load.memref).get_shape()), strict=True):
        place += emitter.builder.index(index) * stride
    return place


@dataclass(frozen=True)
class _Facts:
    vector_bits: int
    past_caches: bool


@writes(3)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    # Most programs gather no long rows, and need no vector dialect.
    from ..convert_contractions_to_vector.vectors import VectorBuilder

    source, at, ahead, target, to, count = parameters
    lanes = facts.vector_bits // width_of(buffer_of(source).element_type)
    number = builder.index
    vectors = VectorBuilder(builder)
    copy = _Copy(builder, vectors, source, target, number(at), number(ahead), number(to), number(count), lanes)
    if facts.past_caches:
        with builder.when(begins_at_line(builder, target, [copy.to])):
            copy.whole(vectors.store_past_caches)
        with builder.otherwise():
            copy.whole(vectors.store)
    else:
        copy.whole(vectors.store)
    copy.rest()


@dataclass(frozen=True)
class _Copy:
    """The body of the function."""

    builder: LoopBuilder
    vectors: VectorBuilder
    source: SSAValue
    target: SSAValue
    at: IndexValue
    ahead: IndexValue
    to: IndexValue
    count: IndexValue
    lanes: int

    def whole(self, store: Callable[[SSAValue, SSAValue, Sequence[Index]], None]) -> None:
        """Copy whole vectors, some together; each asks for the same part of the row ahead."""
        builder, lanes = self.builder, self.lanes
        together = self.count // (TOGETHER * lanes) * (TOGETHER * lanes)
        for lower, upper, vectors in ((0, together, TOGETHER), (together, self.count // lanes * lanes, 1)):
            with builder.loop(lower, upper, step=vectors * lanes) as first:
                for number in range(vectors):
                    self._copy(first + number * lanes, store)

    def _copy(self, first: Index, store: Callable[[SSAValue, SSAValue, Sequence[Index]], None]) -> None:
        builder, lanes = self.builder, self.lanes
        self._ask_for(first)
        loaded = self.vectors.load(builder.strided_view(self.source, self.at + first, (lanes,), (1,)), [0], lanes)
        store(loaded, builder.strided_view(self.target, self.to + first, (lanes,), (1,)), [0])

    def _ask_for(self, index: Index) -> None:
        view = self.builder.strided_view(self.source, self.ahead + index, (1,), (1,))
        self.builder.prefetch(view, [0], second_level=True)

    def rest(self) -> None:
        """Copy the elements after the last whole vector, and ask for the line of the last one in the row ahead."""
        builder = self.builder
        self._ask_for(self.count - 1)
        with builder.loop(self.count // self.lanes * self.lanes, self.count) as index:
            element = builder.load(builder.strided_view(self.source, self.at + index, (1,), (1,)), [0])
            builder.store(element, builder.strided_view(self.target, self.to + index, (1,), (1,)), [0])
