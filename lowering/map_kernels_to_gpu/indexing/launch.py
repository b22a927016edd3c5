"""Launches for a linalg_ext operation whose work several device functions may share."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar, cast

from xdsl.ir import Operation, SSAValue

from ....dialects.linalg_ext.base import DestinationOp
from ....dialects.support.buffers import row_major
from ....dialects.support.editing import erase_op
from ...loop_nests.kernel_builder import Index
from ..threads.builder import GpuBuilder
from ..threads.launch import KernelMapper, Launch
from ..threads.phases import Phase
from ..threads.ranges import THREADS, blocks_over, over_threads

OpT = TypeVar("OpT", bound=DestinationOp)


class ExtLaunch(Generic[OpT]):
    """A device function with a copy of the operation, on the function's own operands and regions."""

    def __init__(self, mapper: KernelMapper, op: OpT):
        self.launch = Launch(mapper, Phase((op,), {}))
        self.op = cast(OpT, self.launch.copies[0])
        self.builder: GpuBuilder = self.launch.builder

    def buffer(self, scratch: SSAValue) -> SSAValue:
        """The parameter for a buffer of the kernel."""
        return self.launch.parameter(scratch)

    def flat(self, buffer: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """A contiguous buffer under another shape."""
        return self.builder.strided_view(buffer, 0, shape, row_major(shape))

    def finish(self, blocks: int, threads: int) -> None:
        erase_op(self.op)
        self.launch.finish(blocks, threads)

    @contextmanager
    def over(self, sizes: Sequence[int], threads: int = THREADS) -> Generator[list[Index]]:
        """Emit the `with` block for a thread per point of a box; calls `finish` after it."""
        with over_threads(self.builder, sizes, threads) as indices:
            yield indices
        self.finish(blocks_over(sizes, threads), threads)


def erase_now(op: Operation) -> None:
    erase_op(op)
