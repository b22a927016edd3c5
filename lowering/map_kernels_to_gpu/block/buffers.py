"""Where the buffers of a kernel that blocks run are: in registers, in shared memory, or in global memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, memref
from xdsl.ir import Operation, SSAValue

from ....dialects.support.buffer_ops import byte_size
from ....dialects.support.buffers import Buffer
from ....dialects.support.views import is_view
from .sequence import STRUCTURED, accesses, is_alone
from .shares import share_of


@dataclass(frozen=True)
class Buffers:
    """The buffers of a kernel: its parameters, then those that it allocates, in order."""

    all: Sequence[SSAValue]
    parameters: int
    written: frozenset[SSAValue]
    numbers: frozenset[SSAValue]
    """Allocated buffers of one element that every thread computes for itself."""

    @staticmethod
    def of(kernel: func.FuncOp, warp: int) -> Buffers:
        block = kernel.body.block
        own = [op.memref for op in kernel.walk() if isinstance(op, memref.AllocOp)]
        scalars = {buffer for buffer in own if not cast(Buffer, buffer.type).get_shape() and not _has_views(buffer)}
        written: set[SSAValue] = set()
        stores: list[Operation] = []
        for op in kernel.walk():
            if isinstance(op, (*STRUCTURED, memref.StoreOp)):
                stores.append(op)
                written.update(root for root, writes in accesses(op) if writes)
        # A store by a thread alone depends on others' stores, if these are seen by nobody else.
        found, before = scalars, -1
        while len(found) != before:
            before = len(found)
            for op in stores:
                if isinstance(op, STRUCTURED) and not is_alone(op, share_of(op, warp), found):
                    found = found - {root for root, writes in accesses(op) if writes}
        return Buffers((*block.args, *own), len(block.args), frozenset(written), frozenset(found))

    def can_be_shared(self, number: int) -> bool:
        """Whether a buffer may be in shared memory: one of the kernel's own, or a copy of what nobody writes."""
        buffer = self.all[number]
        return buffer not in self.written if number < self.parameters else buffer not in self.numbers

    def bytes_of(self, number: int) -> int:
        return byte_size(cast(Buffer, self.all[number].type))


def _has_views(buffer: SSAValue) -> bool:
    return any(is_view(use.operation) for use in buffer.uses)
