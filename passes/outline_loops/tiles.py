"""The functions that run independent iterations of a loop on several threads: tiles with their own loops inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use

from ...dialects.cpu import SlotOp
from ...dialects.support.attributes import return_op
from ...dialects.support.buffer_ops import byte_size, index_constant
from ...dialects.support.buffers import INDEX, Buffer, i32_array, memref_type
from ...dialects.support.editing import erase_op, replace_uses
from ...dialects.support.kernel import Kernel
from ...dialects.support.views import is_view, uses_through_views
from ...hlo_dialect.walking import operations_in
from ...lowering.loop_nests.writes import Writes
from ..outline_parallel_loops.captures import capture
from ..plan_buffers.offsets import ALIGNMENT, aligned
from .body import ON_STACK, Group, LoopBody, groups_of, offset_of


def tiles_refusal(loop: scf.WhileOp, writes: Writes, kernels: Mapping[str, func.FuncOp]) -> str | None:
    """In words why the iterations of a loop of independent ones cannot run at once; None if they can."""
    counter = counter_of(loop)
    if counter is None:
        return "its counter is not found"
    if any(use.operation.operands[use.index].type != counter.type for use in uses_of_counter(loop, counter)):
        return "its counter is used in another form"
    inside: set[SSAValue] = {value for op in operations_in(loop) for value in op.results}
    for buffer in _outside(loop.after_region, inside):
        if buffer is counter:
            continue
        uses = [use for use in uses_through_views(buffer) if loop.is_ancestor(use.operation)]
        written = [use for use in uses if writes.is_write(use.operation, use.index)]
        for use in written:
            call = use.operation
            callee = kernels.get(call.callee.root_reference.data) if isinstance(call, func.CallOp) else None
            if callee is None or use.index not in Kernel(callee).tied:
                return "an iteration writes more than its own part of an array"
        if written and any(isinstance(use.operation, memref.CopyOp) for use in uses):
            return "an iteration copies an array that others write"
    return None


def _outside(region: Region, inside: set[SSAValue]) -> Iterator[SSAValue]:
    """The buffers from outside that a region uses, each once."""
    found: dict[SSAValue, None] = {}
    for op in region.walk():
        for value in () if isinstance(op, memref.ViewOp) else op.operands:
            if isinstance(value.type, MemRefType):
                root = _root(value)
                if root not in inside:
                    found[root] = None
    return iter(found)


def _root(value: SSAValue) -> SSAValue:
    """The buffer in the arena, or the parameter, that a memref is a view of."""
    while is_view(owner := value.owner) and not isinstance(owner, memref.ViewOp):
        value = owner.operands[0]
    return value


def counter_of(loop: scf.WhileOp) -> SSAValue | None:
    """The buffer of the number that the condition of a loop compares."""
    inside: set[SSAValue] = {value for op in operations_in(loop) for value in op.results}
    numbers = [value for value in _outside(loop.before_region, inside) if _is_number(cast(Buffer, value.type))]
    return numbers[0] if len(numbers) == 1 else None


def uses_of_counter(loop: scf.WhileOp, counter: SSAValue) -> Iterator[Use]:
    """The uses of the counter's buffer in a loop: of itself, or of a view that is made before the loop."""
    pending = [counter]
    while pending:
        for use in pending.pop().uses:
            if loop.is_ancestor(use.operation):
                yield use
            elif is_view(use.operation):
                pending.append(use.operation.results[0])


def _is_number(type_: Buffer) -> bool:
    return (
        type_.element_type != IntegerType(1) and isinstance(type_.element_type, IntegerType) and not type_.get_shape()
    )


class TileBody(LoopBody):
    """
    Moves the iterations of a loop, with the loops inside, into a function that runs them on several threads.

    The buffers of an iteration are on the stack, or in a part of the arena for each thread.
    """

    def __init__(self, loop: scf.WhileOp, arena: SSAValue, kernels: Mapping[str, func.FuncOp], count: int, whole: int):
        """`count`: the iterations that run at once, the first of `whole`."""
        super().__init__(loop, arena, kernels, count)
        self.count = count
        self.threads = whole
        self.taken = byte_size(cast(Buffer, arena.type))
        """Bytes of the arena, with those that are added for the threads."""
        for slot in [op for op in operations_in(loop) if isinstance(op, SlotOp)]:
            zero = index_constant(0)  # the loops of an iteration run on its thread
            cast(Block, slot.parent).insert_op_before(zero, slot)
            replace_uses(slot.slot, zero.result)
            erase_op(slot)

    def function(self, name: str) -> func.FuncOp:
        counter, region = counter_of(self.loop), self.loop.after_region
        assert counter is not None, "tiles_refusal refuses a loop without"
        self.loop.detach_region(self.loop.before_region)
        number = self._count_privately(counter, region.block)
        own = self._place_buffers(region.block)
        region.block.insert_ops_before([number, *self.stack], cast(Operation, region.block.first_op))
        self._take_arena(own)
        self.loop.detach_region(region)
        capture(region, self.captures, set(region.block.args))
        last = cast(Operation, region.block.last_op)
        region.block.insert_op_before(scf.ReduceOp.create(), last)
        erase_op(last)
        bounds = [index_constant(bound) for bound in (0, self.count, 1)]
        parallel = scf.ParallelOp.create(
            operands=[bound.result for bound in bounds],
            regions=[region],
            properties={"operandSegmentSizes": i32_array((1, 1, 1, 0))},
            location=self.loop.location,
        )
        self.block.add_ops([*self.captures.repeated, *bounds, parallel, return_op()])
        return self._function(name, own)

    def _count_privately(self, counter: SSAValue, block: Block) -> memref.AllocaOp:
        """Let each iteration have its number in a buffer of its own."""
        element = cast(Buffer, counter.type).element_type
        number = memref.AllocaOp.get(element, alignment=ALIGNMENT, shape=[])
        for use in list(uses_of_counter(self.loop, counter)):
            use.operation.operands[use.index] = number.memref
        stated = arith.IndexCastOp(block.insert_arg(INDEX, 0), element)
        block.insert_ops_before([stated, memref.StoreOp.get(stated, number, [])], cast(Operation, block.first_op))
        return number

    def _place_buffers(self, block: Block) -> set[SSAValue]:
        """Put small buffers of an iteration on the stack, others into a part of the arena; returns those parts."""
        own: set[SSAValue] = set()
        slot = SlotOp.create(result_types=[INDEX])
        for group in groups_of([op for op in operations_in(self.loop) if self._is_in_arena(op)]):
            if group.is_one_buffer and group.end - group.start <= ON_STACK:
                type_ = cast(Buffer, group.views[0].result.type)
                local = memref.AllocaOp.get(type_.element_type, alignment=ALIGNMENT, shape=type_.get_shape())
                self.stack.append(local)
                for view in group.views:
                    _replace(view, local.memref)
            else:
                own.add(self._give_part(group, slot.slot, block))
        if own:
            block.insert_op_before(slot, cast(Operation, block.first_op))
        return own

    def _give_part(self, group: Group, slot: SSAValue, block: Block) -> SSAValue:
        """Put buffers that overlap into a part of the arena that has them for each thread; returns the part."""
        start, size = aligned(self.taken), aligned(group.end - group.start)
        self.taken = start + size * self.threads
        at = index_constant(start)
        part = memref.ViewOp.create(
            operands=[self.arena, at.result],
            result_types=[memref_type((size * self.threads,), IntegerType(8))],
            location=self.loop.location,
        )
        cast(Block, self.loop.parent).insert_ops_before([at, part], self.loop)
        bytes_ = index_constant(size)
        base = arith.MuliOp(slot, bytes_.result)
        new: list[Operation] = [bytes_, base]
        made: dict[tuple[int, Attribute], SSAValue] = {}
        for view in group.views:
            key = offset_of(view), view.result.type
            if key not in made:
                distance = index_constant(offset_of(view) - group.start)
                shift = arith.AddiOp(base.result, distance.result)
                own = memref.ViewOp.create(operands=[part.result, shift.result], result_types=[view.result.type])
                own.location = view.location
                new += [distance, shift, own]
                made[key] = own.result
            _replace(view, made[key])
        block.insert_ops_before(new, cast(Operation, block.first_op))
        return part.result


def _replace(view: memref.ViewOp, value: SSAValue) -> None:
    replace_uses(view.result, value)
    erase_op(view)
