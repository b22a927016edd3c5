"""Launches for one linalg_ext operation, which several device functions may share the work of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ....dialects.build.buffers import INDEX, row_major
from ....dialects.linalg_ext.base import DestinationOp
from ...loop_nests import arithmetic
from ...loop_nests.loop_builder import Index, LoopBuilder
from ..threads.builder import GpuBuilder
from ..threads.launch import KernelMapper, Launch
from ..threads.phases import Phase
from ..threads.ranges import THREADS, over_threads

OpT = TypeVar("OpT", bound=DestinationOp)


class ExtLaunch(Generic[OpT]):
    """A device function with a copy of the operation, whose operands and regions are the function's own."""

    def __init__(self, mapper: KernelMapper, op: OpT):
        self.launch = Launch(mapper, Phase((op,), {}))
        self.op = cast(OpT, self.launch.copies[0])
        self.builder: GpuBuilder = self.launch.builder

    def buffer(self, scratch: SSAValue) -> SSAValue:
        """The parameter for a buffer of the kernel's."""
        return self.launch.parameter(scratch)

    def flat(self, buffer: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """A contiguous buffer under another shape."""
        return self.builder.strided_view(buffer, 0, shape, row_major(shape))

    def finish(self, blocks: int, threads: int) -> None:
        self.op.detach()
        self.op.erase()
        self.launch.finish(blocks, threads)

    def finish_over(self, sizes: Sequence[int], body: Callable[[list[Index]], None], threads: int = THREADS) -> None:
        """A thread for each point of a box."""
        self.finish(over_threads(self.builder, sizes, body, threads), threads)


def erase_now(op: Operation) -> None:
    op.detach()
    op.erase()


def shift_left(builder: LoopBuilder, value: Index, count: Index) -> SSAValue:
    return arithmetic.emit(builder, arith.ShLIOp, [builder.index(value), builder.index(count)], INDEX)


def shift_right(builder: LoopBuilder, value: Index, count: Index) -> SSAValue:
    return arithmetic.emit(builder, arith.ShRUIOp, [builder.index(value), builder.index(count)], INDEX)


def at_least_zero(builder: LoopBuilder, value: Index) -> SSAValue:
    return arithmetic.binary(builder, arith.MaxSIOp, builder.index(value), builder.index(0))


def select(builder: LoopBuilder, condition: SSAValue, first: Index, second: Index) -> SSAValue:
    return arithmetic.choose(builder, condition, builder.index(first), builder.index(second))
