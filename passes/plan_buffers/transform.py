"""Place all buffers of a program in one arena: liveness intervals, then non-overlapping offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.builtin import i64 as i64_type
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ...dialects.cpu import SHARED, GuardOp
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffer_ops import alloc, byte_size, index_constant, reshape, take_block_arguments
from ...dialects.support.buffers import Buffer, memref_type
from ...dialects.support.creation import create_op
from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.kernel import ARENA_SIZE, PROGRAM, entry_name, is_kernel, kernels_of
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.limits import refuse_size, shown, too_much
from ...hlo_dialect.walking import operations_in
from ...lowering.convert_contractions_to_vector.shared_function import known_functions
from ...lowering.device.parts import device_modules
from .intervals import Interval, Positions
from .offsets import ResultMemory, assign_offsets

MAX_ARENA = 1 << 46
"""Bytes, more than any machine has; larger programs are refused instead of overflowing offsets."""


def hoist_kernel_buffers(module: ModuleOp) -> None:
    """Turn each top-level memref.alloc of a kernel into a parameter and an alloc before each call."""
    extra: dict[str, list[Buffer]] = {}
    for function in kernels_of(module):
        block = function.body.block
        for op in list(block.ops):
            if type(op) is memref.AllocOp:
                argument = block.insert_arg(op.memref.type, len(block.args))
                argument.name_hint = op.memref.name_hint or "scratch"
                replace_uses(op.memref, argument)
                extra.setdefault(function.sym_name.data, []).append(op.memref.type)
                erase_op(op)
        take_block_arguments(function)
        _note_scratch(function, extra.get(function.sym_name.data, ()))
    for op in operations_in(module) if extra else ():
        if type(op) is func.CallOp and (types := extra.get(op.callee.root_reference.data)):
            buffers = [alloc(type_) for type_ in types]
            block = cast(Block, op.parent)
            block.insert_ops_before(buffers, op)
            op.operands = [*op.operands, *(buffer.memref for buffer in buffers)]


def _note_scratch(kernel: func.FuncOp, types: Sequence[Buffer]) -> None:
    """Tell those who will call a kernel without its body what it takes after its arguments."""
    key = kernel.attributes.get(SHARED)
    if isinstance(key, StringAttr) and (known := known_functions()) is not None:
        known.scratch[key.data] = tuple(types)


def assign_guarded_offsets(intervals: list[Interval], side: str) -> int:
    """Give each buffer a place of its own, between pages that nothing may access; return the arena size."""
    from ...dialects.support.guard_zones import guarded_places

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
            insert_before(end, last)
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
        if interval.result is not None:
            _replace_alloc(interval, reshape(interval.result, interval.op.memref.type))
            continue
        if interval.offset not in offsets:
            constant = index_constant(interval.offset)
            constants.append(constant)
            offsets[interval.offset] = constant.result
        view = create_op(
            memref.ViewOp,
            operands=[arena, offsets[interval.offset]],
            result_types=[interval.op.memref.type],
            location=interval.op.location,
        )
        _replace_alloc(interval, view)
    if constants:
        block.insert_ops_before(constants, cast(Operation, block.first_op))
    take_block_arguments(function)


def _replace_alloc(interval: Interval, view: memref.ViewOp | memref.ReinterpretCastOp) -> None:
    insert_before(view, interval.op)
    view.result.name_hint = interval.op.memref.name_hint
    replace_uses(interval.op.memref, view.result)
    erase_op(interval.op)


def result_memory(module: ModuleOp, function: func.FuncOp, positions: Positions) -> list[ResultMemory]:
    """The memory of the entry's results, as far as they are not in that of donated arguments."""
    program = module.attributes.get(PROGRAM)
    inputs = program.data.get("inputs") if isinstance(program, DictionaryAttr) else None
    if function.sym_name.data != entry_name(module) or not isinstance(inputs, ArrayAttr):
        return []
    found: list[ResultMemory] = []
    for parameter in function.body.block.args[len(cast("ArrayAttr[Attribute]", inputs)) :]:
        first = positions.first_use(parameter)
        if first is not None:
            found.append(ResultMemory(parameter, cast(Buffer, parameter.type), first))
    return found


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
        place = function if largest is None or largest.size < entry else largest.op
        refuse_size(place, f"{why}: the program's buffers")


def _refuse_new_buffers(module: ModuleOp) -> None:
    """An arena is there already: nothing is left to do unless somebody added a buffer, which has no place in it."""
    for op in operations_in(module):
        if type(op) is memref.AllocOp:
            fail(op, "is new in a module whose buffers are planned: remove xhlo.arena_size and the parameter %arena")


@dataclass(frozen=True)
class PlanBuffersPass(HloPass):
    """
    Place all buffers in one arena, reusing the space of dead ones. The arena is a parameter of the host function.

    Before: `%b = memref.alloc() : memref<4xf32>`
    After:  `%b = memref.view %arena[%c64][] : memref<128xi8> to memref<4xf32>`; the module attribute xhlo.arena_size
            is the entry's arena in bytes. With `guard=end` no two buffers share a place, gaps separate them, and
            `cpu.guard "begin"` and `"end"` enclose the uses of each (dialects/support/guard_zones.py). With
            `results=true` buffers of a large arena may be in the memory of results that are written later.
    Assumes: the level after bufferize or convert-linalg-to-scf; host functions call kernels and declarations only, and
             allocs of kernels are at their top level.
    Leaves: no memref.alloc.
    """

    name = "plan-buffers"
    takes_tensors = False
    illegal = ("memref.alloc",)

    guard: str = ""
    results: bool = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        if ARENA_SIZE in module.attributes:
            _refuse_new_buffers(module)
            return
        entry = entry_name(module)
        hoist_kernel_buffers(module)
        hosts = {
            op.sym_name.data: op
            for op in module.body.block.ops
            if type(op) is func.FuncOp and not op.is_declaration and not is_kernel(op) and SHARED not in op.attributes
        }
        for function in hosts.values():
            for op in operations_in(function):
                if type(op) is func.CallOp and op.callee.root_reference.data in hosts:
                    fail(op, "calls a host function, which has an arena of its own: plan-buffers comes after inline")
            positions = Positions(function)
            intervals = positions.intervals()
            if self.guard:
                size = assign_guarded_offsets(intervals, self.guard)
            else:
                results = result_memory(module, function, positions) if self.results else []
                size = assign_offsets(intervals, results)
            _check_memory(function, intervals, size, bool(device_modules(module)))
            use_arena(function, intervals, size, bool(self.guard))
            if function.sym_name.data == entry:
                module.attributes[ARENA_SIZE] = integer_attr(size, i64_type)
