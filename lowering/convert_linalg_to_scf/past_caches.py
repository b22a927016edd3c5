"""
Results of row kernels that leave the caches anyway, written past them.

A store to a line that is in no cache waits until the line is read, and that is a third of what such a kernel moves.
Where no step before can ask for these lines, and arithmetic does not take longer, as in normalizations, the last step
of each row writes to a buffer of one row, which stays in the first-level cache; from there whole lines are stored past
the caches. Where vectors are half a line, only the arithmetic of the last step counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ...dialects.cost import Cost
from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import memref_type
from ...dialects.support.llvm_layout import byte_width
from ...dialects.support.scalar import width_of
from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..device.cpu import CPU
from ..loop_nests.cost import body_cost
from ..loop_nests.kernel_builder import IndexValue
from ..loop_nests.loop_builder import LINE, Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest
from .row_memory import next_row, touches
from .transposition import ROWS_BEYOND_CACHES, begins_at_line, vectors_of_line

LEAST_BYTES, MOST_BYTES = 1024, CPU.l1_bytes // 4
"""Bytes of a row that are worth a call, and that stay in the cache beside those that the step reads."""

WIDTHS = (32, 64)
"""Bits of elements: shorter ones are converted and stored as half vectors, which a load of a whole one waits for."""

TOGETHER = 4
"""Vectors that one iteration copies."""


@dataclass(frozen=True)
class PastCaches:
    """The last step of a row kernel, with a buffer in place of its output."""

    nest: Nest
    output: Access
    buffer: SSAValue

    def copy(self, builder: LoopBuilder, row: IndexValue) -> None:
        """Copy the buffer to a row of the output."""
        output = self.output
        to = row * output.strides[0] + output.offset
        arguments = (self.buffer, output.root, to, self.nest.sizes[-1])
        call_known(builder, builder.kernel, "far", arguments, builder.vector_bits, _emit)


def past_caches(builder: LoopBuilder, nests: Sequence[Nest], temporaries: Collection[SSAValue]) -> PastCaches | None:
    """The last step, if it writes long rows of an output that no cache holds, and that no step reads."""
    *before, last = nests
    if len(last.outputs) != 1 or len(last.free) != 1 or last.bound != 1 or any(last.reduction):
        return None
    (output,) = last.outputs
    buffer, size = buffer_of(output.root), last.sizes[-1]
    row = size * byte_width(buffer.element_type)
    if output.strides[-1] != 1 or output.dynamic or output.root in temporaries:
        return None
    if vectors_of_line(builder.vector_bits) is None or width_of(buffer.element_type) not in WIDTHS or row % LINE:
        return None
    if not LEAST_BYTES <= row <= MOST_BYTES or byte_size(buffer) < ROWS_BEYOND_CACHES or output.strides[0] < size:
        return None
    if touches(before, last, output.root) or _is_asked_for(nests, temporaries, output.root):
        return None
    # Processors run a few vectors ahead: past half lines, less of the last step beside the arithmetic of those before.
    if not CPU.hides(_cost_of_row(nests, temporaries, nests if builder.vector_bits == 8 * LINE else [last])):
        return None
    one = builder.alloca(memref_type((size,), buffer.element_type))
    return PastCaches(replace(last, outputs=(Access(one, 0, (), (0, 1)),)), output, one)


def _cost_of_row(nests: Sequence[Nest], temporaries: Collection[SSAValue], counted: Sequence[Nest]) -> Cost:
    """The arithmetic of some steps of one row, and what all read and write of buffers that hold many."""
    operations = sum(math.prod(nest.sizes[nest.bound :]) * (body_cost(nest) - len(nest.accesses)) for nest in counted)
    moved = {
        access.root: nest.sizes[-1] * byte_width(buffer_of(access.root).element_type)
        for nest in nests
        for access in nest.accesses
        if access.root not in temporaries and access.strides[0]
    }
    return Cost(sum(moved.values()), operations)


def _is_asked_for(nests: Sequence[Nest], temporaries: Collection[SSAValue], root: SSAValue) -> bool:
    """Whether a step with more arithmetic asks for the lines before, so that they are there."""
    ahead = next_row(nests, temporaries, 0)
    return ahead is not None and any(access.root is root for access in ahead.outputs)


@writes(1)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], vector_bits: int) -> None:
    """Copy whole vectors from the beginning of a buffer to a place in another."""
    # Few row kernels have such results, and most programs need no vector dialect.
    from ..convert_contractions_to_vector.vectors import VectorBuilder

    source, target, at, count = parameters
    to, size = builder.index(at), builder.index(count)
    lanes = vector_bits // 8 // byte_width(buffer_of(source).element_type)
    vectors = VectorBuilder(builder)

    def copy(store: Callable[[SSAValue, SSAValue, Sequence[Index]], None]) -> None:
        together = size // (TOGETHER * lanes) * (TOGETHER * lanes)
        for lower, upper, several in ((0, together, TOGETHER), (together, size, 1)):
            with builder.loop(lower, upper, step=several * lanes) as first:
                places = [first + number * lanes for number in range(several)]
                loaded = [vectors.load(builder.strided_view(source, p, (lanes,), (1,)), [0], lanes) for p in places]
                for place, value in zip(places, loaded, strict=True):
                    store(value, builder.strided_view(target, to + place, (lanes,), (1,)), [0])

    with builder.when(begins_at_line(builder, target, [to])):
        copy(vectors.store_past_caches)
    with builder.otherwise():
        copy(vectors.store)
