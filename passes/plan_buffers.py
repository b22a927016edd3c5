"""Place all buffers of a program in one arena: liveness intervals, then non-overlapping offsets."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType, ModuleOp, UnrankedMemRefType
from xdsl.dialects.builtin import i64 as i64_type
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ..dialects.cpu import SHARED, GuardOp
from ..dialects.support.buffer_ops import alloc, byte_size, index_constant, take_block_arguments
from ..dialects.support.buffers import Buffer, memref_type
from ..dialects.support.guard_zones import guarded_places
from ..dialects.support.kernel import ARENA_SIZE, entry_name, is_kernel, kernels_of
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.limits import shown, too_much
from ..hlo_dialect.walking import operations_in
from ..lowering.device.parts import device_modules

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector."""

MAX_ARENA = 1 << 46
"""Bytes, more than any machine has; larger programs are refused instead of overflowing offsets."""


@dataclass
class Interval:
    """A buffer and the positions, first and last, of the host operations that use it."""

    op: memref.AllocOp
    size: int
    start: int
    end: int
    last: Operation
    """The last operation that uses it, itself or by a region, after which it may be overwritten."""
    offset: int = field(default=-1)


def hoist_kernel_buffers(module: ModuleOp) -> None:
    """Turn each top-level memref.alloc of a kernel into a parameter and an alloc before each call."""
    extra: dict[str, list[Buffer]] = {}
    for function in kernels_of(module):
        block = function.body.block
        for op in list(block.ops):
            if isinstance(op, memref.AllocOp):
                argument = block.insert_arg(op.memref.type, len(block.args))
                argument.name_hint = op.memref.name_hint or "scratch"
                op.memref.replace_all_uses_with(argument)
                extra.setdefault(function.sym_name.data, []).append(op.memref.type)
                op.detach()
                op.erase()
        take_block_arguments(function)
    for op in operations_in(module) if extra else ():
        if isinstance(op, func.CallOp) and (types := extra.get(op.callee.root_reference.data)):
            buffers = [alloc(type_) for type_ in types]
            block = cast(Block, op.parent)
            block.insert_ops_before(buffers, op)
            op.operands = [*op.operands, *(buffer.memref for buffer in buffers)]


_RUN_ONCE = (func.FuncOp, memref.AllocaScopeOp, scf.ExecuteRegionOp, scf.IfOp, scf.IndexSwitchOp)
"""Operations whose regions run at most once each time that they are reached."""


def _receivers(op: Operation, buffer: memref.AllocOp) -> Iterator[SSAValue]:
    """The values that may alias an operand of `op`, as views or through control flow."""
    carriers = [op]
    if op.has_trait(IsTerminator, value_if_unregistered=False):
        around = cast(Operation, op.parent_op())
        carriers.append(around)
        if around.is_ancestor(buffer) and not isinstance(around, _RUN_ONCE):
            fail(
                buffer,
                f"is carried from one iteration of '{around.name}' to the next: plan-buffers gives the buffers of all "
                "iterations one place",
            )
    for carrier in carriers:
        yield from carrier.results
        yield from (argument for region in carrier.regions for block in region.blocks for argument in block.args)


def _aliases(buffer: memref.AllocOp) -> list[SSAValue]:
    """The buffer and every value that may alias it: any memref that an operation derives from an alias."""
    found: dict[SSAValue, None] = {buffer.memref: None}
    pending: list[SSAValue] = [buffer.memref]
    while pending:
        for use in pending.pop().uses:
            for value in _receivers(use.operation, buffer):
                if value not in found and isinstance(value.type, (MemRefType, UnrankedMemRefType)):
                    found[value] = None
                    pending.append(value)
    return list(found)


def _user_beside(op: Operation, user: Operation) -> Operation:
    """
    The ancestor of `user` (or `user` itself) in the block of `op`, or in the nearest enclosing block that holds both.
    """
    block = cast(Block, op.parent)
    while (found := block.find_ancestor_op_in_block(user)) is None:
        block = cast(Block, block.parent_block())
    return found


def live_intervals(function: func.FuncOp) -> list[Interval]:
    """The live intervals of all buffers of a host function, in positions of a walk."""
    first: dict[Operation, int] = {}
    last: dict[Operation, int] = {}
    allocs: list[memref.AllocOp] = []

    def number(block: Block) -> None:
        for op in block.ops:
            first[op] = len(first)
            if isinstance(op, memref.AllocOp):
                allocs.append(op)
            for region in op.regions:
                for inner in region.blocks:
                    number(inner)
            last[op] = len(first) - 1

    number(function.body.block)
    intervals: list[Interval] = []
    for op in allocs:
        users = (_user_beside(op, use.operation) for alias in _aliases(op) for use in alias.uses)
        latest = max((op, *users), key=lambda user: last[user])
        intervals.append(Interval(op, byte_size(op.memref.type), first[op], last[latest], latest))
    return intervals


MANY = 2048
"""Buffers of which each is compared with each other one."""


def assign_offsets(intervals: list[Interval]) -> int:
    """
    Give each buffer aligned space that is free in its whole interval; return the arena size.

    Comparing buffers with each other needs less memory, but time that grows with the square of their number.
    """
    return _largest_first(intervals) if len(intervals) <= MANY else _in_program_order(intervals)


def _largest_first(intervals: list[Interval]) -> int:
    """
    The lowest offset that is free, large buffers first.

    Greedy by size, as in Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference (2020).
    """
    placed: list[Interval] = []
    total = 0
    for interval in sorted(intervals, key=lambda item: (-item.size, item.start)):
        offset = 0
        neighbours = (p for p in placed if p.start <= interval.end and interval.start <= p.end)
        for other in sorted(neighbours, key=lambda item: item.offset):
            if offset + interval.size <= other.offset:
                break
            offset = max(offset, _aligned(other.offset + other.size))
        interval.offset = offset
        placed.append(interval)
        total = max(total, _aligned(offset + interval.size))
    return total


def _in_program_order(intervals: list[Interval]) -> int:
    """Best fit: the smallest hole that the buffers dead by then have left, or new space at the end."""
    holes: list[tuple[int, int]] = []  # (size, offset), sorted; no two of them touch
    starts: dict[int, int] = {}  # the offset of each hole: its size
    ends: dict[int, int] = {}  # the end of each hole: its offset
    live: list[tuple[int, int, int]] = []  # (last position, offset, size), a heap
    total = 0

    def add_hole(offset: int, size: int) -> None:
        insort(holes, (size, offset))
        starts[offset], ends[offset + size] = size, offset

    def take_hole(offset: int) -> int:
        size = starts.pop(offset)
        del ends[offset + size], holes[bisect_left(holes, (size, offset))]
        return size

    for interval in sorted(intervals, key=lambda item: item.start):
        while live and live[0][0] < interval.start:
            _, offset, size = heappop(live)
            if offset + size in starts:
                size += take_hole(offset + size)
            if offset in ends:
                offset = ends[offset]
                size += take_hole(offset)
            add_hole(offset, size)
        size = _aligned(interval.size)
        found = bisect_left(holes, (size, 0))
        if not size:
            offset = 0
        elif found < len(holes):
            _, offset = holes[found]
            if rest := take_hole(offset) - size:
                add_hole(offset + size, rest)
        else:
            offset, total = total, total + size
        interval.offset = offset
        if size:
            heappush(live, (interval.end, offset, size))
    return total


def _aligned(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def assign_guarded_offsets(intervals: list[Interval], side: str) -> int:
    """Give each buffer a place of its own, between pages that nothing may access; return the arena size."""
    places, total = guarded_places([each.size for each in intervals], side)
    for interval, place in zip(intervals, places, strict=True):
        interval.offset = place
    return total


def mark_lifetimes(arena: SSAValue, intervals: list[Interval]) -> None:
    """State where each buffer begins and ends to be used, for the guard. Its alloc is still there."""
    for number, interval in enumerate(intervals):
        place = interval.offset, interval.size
        begin, end = (GuardOp.make(event, number, [arena], interval.op.location, place) for event in ("begin", "end"))
        last, block = interval.last, cast(Block, interval.last.parent)
        if last.has_trait(IsTerminator, value_if_unregistered=False):
            block.insert_op_before(end, last)
        else:
            block.insert_op_after(end, last)
        cast(Block, interval.op.parent).insert_op_after(begin, interval.op)


def use_arena(function: func.FuncOp, intervals: list[Interval], size: int, guarded: bool) -> None:
    """Replace every alloc by a view of a new last parameter, the arena."""
    block = function.body.block
    arena = block.insert_arg(memref_type((size,), IntegerType(8)), len(block.args))
    arena.name_hint = "arena"
    if guarded:
        mark_lifetimes(arena, intervals)
    offsets: dict[int, SSAValue] = {}
    constants: list[Operation] = []
    for interval in intervals:
        if interval.offset not in offsets:
            constant = index_constant(interval.offset)
            constants.append(constant)
            offsets[interval.offset] = constant.result
        view = memref.ViewOp.create(
            operands=[arena, offsets[interval.offset]],
            result_types=[interval.op.memref.type],
            location=interval.op.location,
        )
        cast(Block, interval.op.parent).insert_op_before(view, interval.op)
        view.result.name_hint = interval.op.memref.name_hint
        interval.op.memref.replace_all_uses_with(view.result)
        interval.op.detach()
        interval.op.erase()
    if constants:
        block.insert_ops_before(constants, cast(Operation, block.first_op))
    take_block_arguments(function)


def _check_memory(function: func.FuncOp, intervals: list[Interval], arena: int, on_device: bool) -> None:
    """Refuse a program whose buffers, with inputs and outputs, do not fit into memory, at its largest value."""
    types = function.function_type.inputs.data
    entry = sum(byte_size(cast(Buffer, type_)) for type_ in types if isinstance(type_, MemRefType))
    if arena > MAX_ARENA:
        why = f"needs {shown(arena)} for its intermediate values, more than any machine has"
    else:
        why = None if on_device else too_much(arena + entry)
    if why is not None:
        largest = max(intervals, key=lambda interval: interval.size, default=None)
        fail(function if largest is None or largest.size < entry else largest.op, f"{why}: the program's buffers")


def _refuse_new_buffers(module: ModuleOp) -> None:
    """An arena is there already: nothing is left to do unless somebody added a buffer, which has no place in it."""
    for op in operations_in(module):
        if isinstance(op, memref.AllocOp):
            fail(op, "is new in a module whose buffers are planned: remove xhlo.arena_size and the parameter %arena")


@dataclass(frozen=True)
class PlanBuffersPass(HloPass):
    """
    Place all buffers in one arena, reusing the space of dead ones. The arena is a parameter of the host function.

    Before: `%b = memref.alloc() : memref<4xf32>`
    After:  `%b = memref.view %arena[%c64][] : memref<128xi8> to memref<4xf32>`; the module attribute xhlo.arena_size
            is the entry's arena in bytes. With `guard=end` no two buffers share a place, gaps separate them, and
            `cpu.guard "begin"` and `"end"` enclose the uses of each (dialects/support/guard_zones.py).
    Assumes: the level after bufferize or convert-linalg-to-scf; host functions call kernels and declarations only, and
             allocs of kernels are at their top level.
    Leaves: no memref.alloc.
    """

    name = "plan-buffers"
    takes_tensors = False
    illegal = ("memref.alloc",)

    guard: str = ""

    def run(self, ctx: Context, module: ModuleOp) -> None:
        if ARENA_SIZE in module.attributes:
            _refuse_new_buffers(module)
            return
        entry = entry_name(module)
        hoist_kernel_buffers(module)
        hosts = {
            op.sym_name.data: op
            for op in module.body.block.ops
            if isinstance(op, func.FuncOp)
            and not op.is_declaration
            and not is_kernel(op)
            and SHARED not in op.attributes
        }
        for function in hosts.values():
            for op in operations_in(function):
                if isinstance(op, func.CallOp) and op.callee.root_reference.data in hosts:
                    fail(op, "calls a host function, which has an arena of its own: plan-buffers comes after inline")
            intervals = live_intervals(function)
            size = assign_guarded_offsets(intervals, self.guard) if self.guard else assign_offsets(intervals)
            _check_memory(function, intervals, size, bool(device_modules(module)))
            use_arena(function, intervals, size, bool(self.guard))
            if function.sym_name.data == entry:
                module.attributes[ARENA_SIZE] = IntegerAttr(size, i64_type)
