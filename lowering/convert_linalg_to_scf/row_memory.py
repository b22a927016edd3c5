"""
How the rows of a row kernel come from memory and go there: values that wait in the output, and asking for the next row.

Where vectors are whole lines, values of a row wait in the output's row instead of a buffer, as the exponentials of a
softmax for their sum, if the last step reads them element by element. Lines of the output arrive while these values are
computed, and the processor foresees them and those of the input from one row to the next; prefetches would only
compete. Other row kernels, and all where vectors are shorter, ask for their next row while this one is computed: a
processor that takes twice as many instructions for a line foresees half as many.

The first loop over a row waits for memory: its elements come page by page, and processors do not foresee the next page.
The loops after it read caches. So the step with most arithmetic runs by tiles, and before each it asks for as much of
the next row, and of what later steps write of this one. Lines from beyond the second-level cache come into that
one: the first one can wait for few lines at a time, and those that are written would wait too. Results that are written
past the caches do not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import Buffer
from ...dialects.support.llvm_layout import byte_width
from ...dialects.support.views import root_buffer
from ..device.cpu import CPU
from ..loop_nests.cost import body_cost
from ..loop_nests.loop_builder import LINE, Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest
from .meanwhile import TILE, is_by_tiles

SHORTEST = 512
"""Elements of a row; of shorter ones, several are in a page."""

LEAST_BYTES = 1024
"""Bytes of rows whose values wait in the output: of shorter ones the next are in the same page."""

MOST_BYTES = 16 * 1024
"""Bytes of rows that are asked for: half of the first-level cache."""


@dataclass(frozen=True)
class NextRow:
    """The inputs of a row kernel that memory holds, to be asked for by one step."""

    step: int
    inputs: tuple[Access, ...]
    """By row and element."""
    outputs: tuple[Access, ...]
    """The outputs of steps after this one."""
    row: Index
    past_caches: bool
    """Whether those steps write past the caches."""

    def before_tile(self, builder: LoopBuilder, start: Index, end: Index) -> None:
        """Ask for the part of the next row that the tile from `start` reads of this one, and as much of its outputs."""
        for access in self.inputs:
            self._ask_for(builder, access, 1, start, to_write=False)
        for access in self.outputs:
            self._ask_for(builder, access, 0, start, to_write=True)

    def _ask_for(self, builder: LoopBuilder, access: Access, later: int, start: Index, to_write: bool) -> None:
        size = math.prod(buffer_of(access.root).get_shape())
        elements = builder.strided_view(access.root, 0, (size,), (1,))
        second_level = not to_write and not self.past_caches and byte_size(buffer_of(access.root)) > CPU.l2_bytes
        first = (self.row + later) * access.strides[0] + start + access.offset
        for line in range(0, TILE, LINE // _width(access)):
            builder.prefetch(elements, [first + line], to_write, second_level)


def _width(access: Access) -> int:
    return int(buffer_of(access.root).element_type.compile_time_size)


def next_row(
    nests: Sequence[Nest], temporaries: Collection[SSAValue], row: Index, past_caches: bool = False
) -> NextRow | None:
    """The elements to ask for, and the step that asks; None if rows are short or each step of one loop reduces."""
    steps = [k for k, nest in enumerate(nests) if len(nest.free) == 1 and nest.sizes[-1] >= SHORTEST]
    plain = [k for k in steps if is_by_tiles(nests[k])]
    inputs = {
        access.root: access
        for k in steps
        for access in nests[k].inputs
        if isinstance(access, Access) and _is_row_of_memory(access, temporaries)
    }
    longest = max((nests[k].sizes[-1] for k in steps), default=0)
    if not plain or not inputs or sum(longest * _width(access) for access in inputs.values()) > MOST_BYTES:
        return None
    asking = max(plain, key=lambda k: body_cost(nests[k]))
    outputs = {
        access.root: access
        for k in steps
        for access in nests[k].outputs
        if k > asking and _is_row_of_memory(access, temporaries)
    }
    return NextRow(asking, tuple(inputs.values()), tuple(outputs.values()), row, past_caches)


def _is_row_of_memory(access: Access, temporaries: Collection[SSAValue]) -> bool:
    """Whether an access goes through a row of a buffer that is no temporary, element by element."""
    is_contiguous = access.strides[0] > 0 and access.strides[-1] == 1
    return is_contiguous and access.root not in temporaries and not access.dynamic


@dataclass(frozen=True)
class InPlace:
    """A buffer of one row, and the output whose row takes its place."""

    temporary: SSAValue
    output: Access

    def apply(self, nest: Nest) -> Nest:
        """A step that reads and writes the output's row instead of the buffer."""
        return replace(
            nest,
            inputs=tuple(self._moved(x) if isinstance(x, Access) else x for x in nest.inputs),
            outputs=tuple(self._moved(x) for x in nest.outputs),
        )

    def _moved(self, access: Access) -> Access:
        if access.root is not self.temporary:
            return access
        strides = (self.output.strides[0], *access.strides[1:])
        return replace(access, root=self.output.root, offset=self.output.offset + access.offset, strides=strides)


def in_place(nests: Sequence[Nest], temporaries: Collection[SSAValue]) -> InPlace | None:
    """
    The buffer that one step writes and the last one reads, element by element as it writes an output of whole lines
    that no other step touches; None if there is none.
    """
    *before, last = nests
    if len(last.outputs) != 1 or len(last.free) != 1 or last.bound != 1 or any(last.reduction):
        return None
    (output,) = last.outputs
    buffer, size = buffer_of(output.root), last.sizes[-1]
    width = byte_width(buffer.element_type)
    if output.root in temporaries or output.dynamic or output.strides[-1] != 1 or touches(before, last, output.root):
        return None
    if output.strides[0] < size or size * width < LEAST_BYTES:
        return None
    if output.strides[0] * width % LINE or output.offset * width % LINE:
        return None
    for access in last.inputs:
        if isinstance(access, Access) and access.root in temporaries and _waits(access, nests, buffer, size):
            return InPlace(access.root, output)
    return None


def _waits(access: Access, nests: Sequence[Nest], output: Buffer, size: int) -> bool:
    """Whether one step writes a temporary row as long as the output's, and the last reads it element by element."""
    buffer, (*before, last) = buffer_of(access.root), nests
    if buffer.element_type != output.element_type or buffer.get_shape()[-1] != size:
        return False
    reads = [x for x in last.inputs if isinstance(x, Access) and x.root is access.root]
    if any((x.offset, x.dynamic, x.strides[-1]) != (0, (), 1) for x in reads):
        return False
    writers = [nest for nest in before for x in nest.outputs if x.root is access.root]
    return len(writers) == 1 and len(writers[0].free) == 1 and not any(writers[0].reduction)


def touches(before: Sequence[Nest], last: Nest, root: SSAValue) -> bool:
    """Whether a step touches a buffer that the last one writes, besides writing it."""
    if any(access.root is root for nest in before for access in nest.accesses):
        return True
    if any(isinstance(x, Access) and x.root is root for x in last.inputs):
        return True
    bodies = (nest.body for nest in (*before, last) if nest.body is not None)
    loads = (op for body in bodies for op in body.walk() if isinstance(op, memref.LoadOp))
    return any(root_buffer(load.memref) is root for load in loads)
