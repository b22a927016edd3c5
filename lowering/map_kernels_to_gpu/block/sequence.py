"""The operations of a block one after the other, with the loops around them, and the barriers between them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.support.editing import erase_op
from ....dialects.support.views import is_view, root_buffer
from ...convert_linalg_to_scf.conversion import Structured, initial_values, without_fills
from ...loop_nests.fills import absorbed_fills
from ..threads.builder import GpuBuilder
from .nests import emit_alone, emit_shared
from .shares import Share, share_of

STRUCTURED = (FillOp, GenericOp, memref.CopyOp)


def accesses(op: Operation) -> Iterator[tuple[SSAValue, bool]]:
    """The buffers that an operation reads or writes, its regions included, and whether it writes them."""
    for inner in op.walk():
        for number, value in enumerate(inner.operands):
            if isinstance(value.type, MemRefType) and not is_view(inner):
                yield root_buffer(value), _writes(inner, number)


def _writes(op: Operation, number: int) -> bool:
    match op:
        case FillOp() | GenericOp():
            return number >= len(op.inputs)
        case memref.CopyOp() | memref.StoreOp():
            return number == 1
        case _:
            return False


class SequenceEmitter:
    """Emits the operations of a device function; every thread goes through all of them, and through all loops."""

    def __init__(
        self, builder: GpuBuilder, threads: int, numbers: Collection[SSAValue], constant: Collection[SSAValue]
    ):
        """`numbers`: the buffers that every thread has a copy of; `constant`: those that nobody writes any more."""
        self._builder = builder
        self._threads = threads
        self._own = {*numbers, *constant}
        self._read: set[SSAValue] = set()
        self._written: set[SSAValue] = set()
        """The buffers that threads may have read or written since the last barrier."""
        self._numbers = set(numbers)

    def block(self, block: Block) -> None:
        """Replace the operations of a block."""
        ops = list(block.ops)
        structured: list[Structured] = [op for op in ops if isinstance(op, STRUCTURED)]
        absorbed = absorbed_fills(ops)
        run = set(without_fills(structured, absorbed))
        for op in ops:
            if isinstance(op, STRUCTURED):
                if op in run:
                    self._emit(op, absorbed)
            elif isinstance(op, (scf.WhileOp, scf.IfOp, scf.IndexSwitchOp)):
                # The branches and iterations begin and end with what every thread can see.
                self.barrier(op)
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)
            elif isinstance(op, memref.LoadOp):
                self._touch(op)
        if block.last_op is not None and block.parent_op() is not self._builder.function:
            self.barrier(block.last_op)
        for op in structured:
            erase_op(op)

    def barrier(self, place: Operation) -> None:
        """A barrier before `place`, if there is anything to wait for."""
        if self._read or self._written:
            self._builder.insert_at(place)
            self._builder.barrier()
            self._read.clear()
            self._written.clear()

    def _touch(self, op: Operation) -> None:
        """Let an operation see what others wrote, and write what others have read."""
        reads, writes = set[SSAValue](), set[SSAValue]()
        for buffer, writing in accesses(op):
            if buffer not in self._own:
                (writes if writing else reads).add(buffer)
        if reads & self._written or writes & (self._read | self._written):
            self.barrier(op)
        self._read |= reads
        self._written |= writes

    def _emit(self, op: Structured, absorbed: dict[GenericOp, tuple[FillOp | None, ...]]) -> None:
        self._touch(op)
        self._builder.insert_at(op)
        share, inits = share_of(op, self._builder.warp), initial_values(op, absorbed)
        if is_alone(op, share, self._numbers):
            emit_alone(self._builder, share, inits)
        else:
            emit_shared(self._builder, share, inits, self._threads)


def is_alone(op: Operation, share: Share, numbers: Collection[SSAValue]) -> bool:
    """Whether all threads compute the only result of an operation, which each of them keeps."""
    return share.results == share.reduced == 1 and all(root in numbers for root, writes in accesses(op) if writes)
