"""Builds operations inside a device function: loops and arithmetic, thread numbers, barriers, shared memory."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.gpu.functions import WORKGROUP, GpuFuncOp
from ....dialects.gpu.threads import GpuBarrierOp, GpuBlockIdOp, GpuShuffleOp, GpuThreadIdOp
from ...loop_nests.loop_builder import IndexValue, LoopBuilder

I32 = IntegerType(32)


class GpuBuilder(LoopBuilder):
    """A LoopBuilder in a gpu.func. Thread and block numbers are read once each, at the top of the function."""

    def __init__(self, function: GpuFuncOp, warp: int):
        """`warp`: the threads of a warp of the chip."""
        super().__init__(function)
        self.warp = warp
        self.function = function
        self.parallel_body = self.top
        """Every thread runs the function: everything emitted in it is serial."""
        self._ids: dict[tuple[type[Operation], str], SSAValue] = {}

    def thread_id(self, dimension: str = "x") -> IndexValue:
        return self._id(GpuThreadIdOp, dimension)

    def block_id(self, dimension: str = "x") -> IndexValue:
        return self._id(GpuBlockIdOp, dimension)

    def _id(self, op: type[GpuThreadIdOp] | type[GpuBlockIdOp], dimension: str) -> IndexValue:
        found = self._ids.get((op, dimension))
        if found is None:
            made = op(dimension)
            made.location = self.location
            first = self.top.first_op
            assert first is not None
            self.top.insert_op_before(made, first)
            found = self._ids[op, dimension] = made.result
        return IndexValue(self, found)

    def barrier(self) -> None:
        """All threads of the block wait for each other; every thread must reach this point."""
        self.insert(GpuBarrierOp())

    def shared(self, shape: tuple[int, ...], element: Attribute) -> SSAValue:
        """A buffer shared by the threads of a block, initially undefined."""
        return self.function.add_workgroup_buffer(MemRefType(element, shape, NoneAttr(), WORKGROUP))

    def shuffle(self, mode: str, value: SSAValue, offset: int | SSAValue) -> SSAValue:
        """The value of `value` in the lane that `offset` selects of the warp (see gpu.shuffle)."""
        at = self.int32(offset) if isinstance(offset, int) else offset
        return self.insert(GpuShuffleOp(mode, value, at, self.int32(self.warp))).result

    def int32(self, value: int) -> SSAValue:
        return self.scalar(IntegerAttr(value, I32))
