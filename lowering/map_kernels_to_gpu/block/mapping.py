"""
A kernel whose operations one block runs in order, with the loops around them, as recurrences and small systems need.

Between operations that use what others write, the threads of the block wait for each other at a barrier. A loop's state
is in shared memory, and so is what its steps read again and again, as far as the plan says; buffers of one element,
such as counters, are values of each thread. Iterations of a parallel loop around all of it are blocks.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IntegerType, MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.gpu.plans import PLAN
from ....dialects.gpu.plans import Block as BlockPlan
from ....dialects.support.buffer_ops import byte_size, copy
from ....dialects.support.buffers import Buffer, memref_type
from ....dialects.support.editing import erase_op, insert_before, replace_uses
from ....dialects.support.rewriting import set_type
from ....dialects.support.views import is_view
from ..serial import parallel_range
from ..threads.launch import KernelMapper, Launch
from ..threads.phases import Phase
from .buffers import Buffers
from .nests import emit_shared
from .numbers import promote
from .sequence import STRUCTURED, SequenceEmitter
from .shares import share_of

ALIGNMENT = 128
"""Bytes between parts of a buffer that blocks have for themselves."""


_MEMORY = (memref.AllocOp, memref.CopyOp, memref.DeallocOp, memref.LoadOp)
"""The uses of buffers by operations between the structured ones, besides views."""


def holds_operations(op: Operation) -> bool:
    """Whether a loop has structured operations inside: a block may run it."""
    return not isinstance(op, STRUCTURED) and any(isinstance(inner, STRUCTURED) for inner in op.walk())


def refusal(ops: tuple[Operation, ...]) -> str | None:
    """In words why no block runs these operations of a kernel; None if one can."""
    for op in ops:
        for inner in op.walk():
            if isinstance(inner, scf.ParallelOp) and (len(ops) > 1 or inner is not op or parallel_range(op) is None):
                return "a parallel loop is around all operations, and of known length"
            apart = not _is_in_nest(inner, op)
            if apart and isinstance(inner, (scf.ForOp, memref.StoreOp)):
                return f"{inner.name} is in no structured operation"
            memory = is_view(inner) or isinstance(inner, _MEMORY) or (not apart and inner.name.startswith("memref."))
            if not (memory or inner.name.startswith(("arith.", "math.", "math_ext.", "linalg.", "scf."))):
                return f"{inner.name} is not for a block"
    return None


def _is_in_nest(op: Operation, top: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and op is not top:
        if isinstance(parent, STRUCTURED):
            return True
        parent = parent.parent_op()
    return False


def map_block(mapper: KernelMapper, phase: Phase) -> None:
    """Map to one launch, of one block or of one for each iteration of a parallel loop."""
    (plan,) = phase.plans
    assert isinstance(plan, BlockPlan)
    reason = refusal(phase.ops)
    phase.require(reason is None, str(reason))
    planned = next((inner for op in phase.ops for inner in op.walk() if PLAN in inner.attributes), None)
    phase.require(planned is None, f"{planned and planned.name}, which the block runs, has a plan of its own")
    others = [op for op in mapper.kernel.body.block.ops if isinstance(op, STRUCTURED) or op.regions]
    phase.require(set(others) <= set(phase.ops), "a block runs all operations of a kernel")
    buffers = Buffers.of(mapper.kernel, mapper.chip.warp)
    phase.require(plan.threads % mapper.chip.warp == 0, f"{plan.threads} threads are no whole warps")
    for number in plan.shared:
        fits = number < len(buffers.all) and buffers.can_be_shared(number)
        phase.require(fits, f"buffer {number} is none that is allocated here or only read")
    _Block(mapper, phase, plan, buffers).run()


class _Block:
    """One kernel that blocks run."""

    def __init__(self, mapper: KernelMapper, phase: Phase, plan: BlockPlan, buffers: Buffers):
        self.mapper = mapper
        self.plan = plan
        self.buffers = buffers
        self.inside = {op.memref for each in phase.ops for op in each.walk() if isinstance(op, memref.AllocOp)}
        """The buffers that an operation allocates inside."""
        self.launch = Launch(mapper, phase)
        self.builder = self.launch.builder

    def run(self) -> None:
        grid = self._spread()
        first = self.launch.block.first_op
        assert first is not None
        numbers, staged = self._place(grid, first)
        for source, place in staged:
            move = copy(source, place)
            insert_before(move, first)
            self.builder.insert_at(first)
            emit_shared(self.builder, share_of(move, self.builder.warp), (), self.plan.threads)
            erase_op(move)
        if staged:
            self.builder.barrier()
        SequenceEmitter(self.builder, self.plan.threads, numbers, self._constant(staged)).block(self.launch.block)
        promote(self.builder, numbers)
        self.launch.finish(grid, self.plan.threads)

    def _constant(self, staged: list[tuple[SSAValue, SSAValue]]) -> set[SSAValue]:
        """The buffers that nobody writes."""
        own = self.buffers.all[: self.buffers.parameters]
        found = {self.launch.mapping.get(buffer) for buffer in own if buffer not in self.buffers.written}
        return {place for _, place in staged} | {buffer for buffer in found if buffer is not None}

    def _spread(self) -> int:
        """Make a block of each iteration of the parallel loop around, if there is one; returns their number."""
        loop = self.launch.copies[0]
        if not isinstance(loop, scf.ParallelOp):
            return 1
        iterations = parallel_range(loop)
        assert iterations is not None
        self.builder.insert_at(loop)
        index = self.builder.block_id() * iterations.step + iterations.start
        block = loop.body.block
        replace_uses(block.args[0], self.builder.index(index).value)
        for op in list(block.ops):
            if op is not block.last_op:
                op.detach()
                insert_before(op, loop)
        erase_op(loop)
        return len(iterations)

    def _place(self, grid: int, first: Operation) -> tuple[list[SSAValue], list[tuple[SSAValue, SSAValue]]]:
        """
        Give each buffer its place, before the operation `first`; returns the numbers, and the parameters that are
        copied to shared memory, with the copies.
        """
        inner = iter([op for op in self.launch.block.walk() if isinstance(op, memref.AllocOp)])
        numbers: list[SSAValue] = []
        staged: list[tuple[SSAValue, SSAValue]] = []
        for number, buffer in enumerate(self.buffers.all):
            allocation = next(inner) if buffer in self.inside else None
            here = self.launch.mapping.get(buffer) if allocation is None else allocation.memref
            if here is None:
                continue  # nothing uses it
            type_ = cast(Buffer, here.type)
            if buffer in self.buffers.numbers:
                self.builder.insert_at(first)
                place = self.builder.alloca(type_, here=True)
                numbers.append(place)
            elif number in self.plan.shared:
                place = self.builder.shared(type_.get_shape(), type_.element_type)
            elif allocation is not None:
                place = self._scratch(type_, grid, first)
            else:
                continue
            replace_uses(here, place)
            _give_space(place)
            if allocation is not None:
                erase_op(allocation)
            elif number < self.buffers.parameters:
                staged.append((here, place))
        return numbers, staged

    def _scratch(self, type_: Buffer, grid: int, first: Operation) -> SSAValue:
        """A part of global memory for each block."""
        if grid == 1:
            return self.launch.parameter(self.mapper.scratch(type_))
        size = -(-byte_size(type_) // ALIGNMENT) * ALIGNMENT
        whole = self.launch.parameter(self.mapper.scratch(memref_type((grid * size,), IntegerType(8))))
        self.builder.insert_at(first)
        start = self.builder.index(self.builder.block_id() * size).value
        return self.builder.insert(memref.ViewOp.create(operands=[whole, start], result_types=[type_])).result


def _give_space(buffer: SSAValue) -> None:
    """Give the views of a buffer its memory space."""
    space = cast("MemRefType", buffer.type).memory_space
    if isinstance(space, NoneAttr):
        return
    for use in list(buffer.uses):
        if is_view(use.operation):
            view = use.operation.results[0]
            old = cast(Buffer, view.type)
            set_type(view, MemRefType(old.element_type, old.shape, old.layout, space))
            _give_space(view)
