"""Loops of the host program around small kernels become kernels that one block of a GPU runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import Buffer
from ...dialects.support.kernel import INDEPENDENT, PROGRAM, TRIP_COUNT
from ...dialects.support.views import is_view, uses_through_views
from ...hlo_dialect.diagnostics import Diagnostic, engine_of
from ...hlo_dialect.walking import operations_in
from ...lowering.device.gpu import MOST_NS, PAYS, GpuChip
from ...lowering.device.gpu_pass import GpuPass
from ...lowering.loop_nests.writes import Writes
from ...lowering.map_kernels_to_gpu.block.sequence import STRUCTURED, accesses
from ...lowering.plan_gpu_kernels.block import Estimate, estimate
from ..outline_loops.stated import StatedKernels
from ..outline_loops.tiles import tiles_refusal
from .body import BlockLoop

SMALL_COPY = 1 << 16
"""Bytes of a copy before a loop up to which the block makes it."""

MOST_OPERATIONS = 4000
"""Operations of a loop with its kernels: assemblers take more time the larger a function is."""

PART = 8
"""The part of a loop's time that a kernel before it may take, whose results then never leave the block."""

_PLAIN = (
    memref.AllocOp,
    memref.CopyOp,
    memref.GetGlobalOp,
    memref.LoadOp,
    scf.ConditionOp,
    scf.IfOp,
    scf.IndexSwitchOp,
    scf.WhileOp,
    scf.YieldOp,
)
"""The operations that a loop may have besides calls, arithmetic and views."""

_OF_SCALARS = ("arith.", "math.", "math_ext.")
"""How the names of operations of scalars begin."""


@dataclass(frozen=True)
class OutlineBlockLoopsPass(GpuPass):
    """
    Make a kernel of each loop of the entry whose kernels are so small that launching them takes longer than computing.

    Before: `scf.while { .. func.call @k(%a, %b) .. }` in the entry
    After:  `func.call @loop_0(%a, %b)`, and `func.func private @loop_0` with the loop and the operations of its kernels
    Assumes: the output of bufferize: a loop's state is in memory.
    Leaves: loops of unknown length, and around sorts, scans, scatters, loops of a kernel and calls of the host; those
            whose operations take a single block longer than the launches of their kernels.

    The iterations of a loop over tiles (tile-loops) become those of an `scf.parallel`, one for each block. Copies
    before the loop, and cheap kernels that compute what only the loop reads, move with it.
    """

    name = "outline-block-loops"
    only_for = ("hlo.while", "scf.while")
    takes_tensors = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        if PROGRAM not in module.attributes:
            return
        engine, stated = engine_of(ctx), StatedKernels(module)
        entry = stated.entry
        if entry is None:
            return
        loops, names = _Loops(stated, self.gpu), stated.names()
        for op in operations_in(entry):
            if isinstance(op, scf.WhileOp) and entry.is_ancestor(op):
                reason = loops.refusal(op)
                text = f"the loop stays in the host program: {reason}"
                if reason is None:
                    text = loops.outline(op, next(names))
                engine.emit(Diagnostic("remark", text, op.location))
        stated.finish()


class _Loops:
    """The loops of a module and its kernels."""

    def __init__(self, stated: StatedKernels, chip: GpuChip):
        self._stated = stated
        self._kernels = stated.kernels
        self._chip = chip
        self._module = stated.module
        self._constants: dict[str, Attribute] = {
            op.sym_name.data: op.initial_value for op in self._module.body.block.ops if isinstance(op, memref.GlobalOp)
        }

    def refusal(self, loop: scf.WhileOp) -> str | None:
        """In words why a loop stays in the host program."""
        size = 0
        for op in operations_in(loop):
            size += 1
            if isinstance(op, scf.WhileOp) and (op.operands or op.results):
                return "its state is not in memory"
            if isinstance(op, scf.WhileOp) and TRIP_COUNT not in op.attributes:
                return "it may not end"
            if op is not loop and INDEPENDENT in op.attributes:
                return "it runs tiles, which have a block each"
            if isinstance(op, func.CallOp):
                name = op.callee.root_reference.data
                if name not in self._kernels or not _is_plain(self._kernels[name]):
                    return f"@{name} is not for a block"
                size += len(operations_in(self._kernels[name]))
            elif not isinstance(op, _PLAIN) and not is_view(op) and not op.name.startswith("arith."):
                return f"{op.name} is not for a block"
        if not _takes_buffers_only([loop]):
            return "it uses numbers of the host program"
        if size > MOST_OPERATIONS:
            return f"it is a function of {size} operations"
        if INDEPENDENT in loop.attributes:
            if _int(loop, INDEPENDENT) != _int(loop, TRIP_COUNT):
                return "its tiles overlap"
            return tiles_refusal(loop, _Writes(self._kernels), self._kernels)
        found = self._estimate(loop)
        if found.block > MOST_NS:
            return f"one launch would take {found.block / 1e6:.0f} ms, and is not interrupted"
        if found.block >= PAYS * found.launches:
            return f"a block takes {found.block / 1000:.0f} us, launches take {found.launches / 1000:.0f}"
        return None

    def _estimate(self, op: Operation) -> Estimate:
        """The costs of what an operation does, with the kernels that it calls."""
        launches = block = 0.0
        for inner in operations_in(op):
            if isinstance(inner, func.CallOp):
                found = estimate(list(self._kernels[inner.callee.root_reference.data].body.block.ops), self._chip)
            elif isinstance(inner, memref.CopyOp):
                found = estimate([inner], self._chip)
            else:
                continue
            times, above = _times(inner, op), inner.parent_op()
            # The host program does not ask for the condition of a loop of known length.
            condition = isinstance(above, scf.WhileOp) and inner.parent is above.before_region.block
            launches += 0 if condition else times * found.launches
            block += times * found.block
        return Estimate(launches, block)

    def outline(self, loop: scf.WhileOp, name: str) -> str:
        """Replace the loop by a call of a function of that name; says what was done."""
        tiles = INDEPENDENT in loop.attributes
        first = [] if tiles else self._first(loop)
        calls = [op for top in (*first, loop) for op in operations_in(top) if isinstance(op, func.CallOp)]
        facts = {
            fact: sum(_times(op, loop) * self._fact(op, fact) for op in calls) for fact in ("ops", "bytes", "flops")
        }
        facts["ops"] = sum(self._fact(op, "ops") for op in calls)
        count = _int(loop, TRIP_COUNT)
        function, taken = BlockLoop(loop, first, self._kernels, self._constants).function(name, tiles)
        self._module.body.block.add_op(function)
        moved = sum(byte_size(cast(Buffer, value.type)) for value in taken)
        facts["bytes"] = min(facts["bytes"], moved)
        self._stated.add(function, facts)
        if tiles:
            return f"{count} blocks run a tile each, with its loop"
        also = len(first) and f", and {len(first)} operations before it"
        return f"one block runs the whole loop{also or ''}"

    def _fact(self, call: func.CallOp, fact: str) -> int:
        return self._stated.fact(call.callee.root_reference.data, fact)

    def _first(self, loop: scf.WhileOp) -> list[Operation]:
        """The small copies before a loop, and the cheap kernels that compute what only the loop reads, in order."""
        found: list[Operation] = []
        most = self._estimate(loop).block / PART
        op = loop.prev_op
        while op is not None:
            if isinstance(op, memref.CopyOp):
                if byte_size(cast(Buffer, op.destination.type)) > SMALL_COPY or not _takes_buffers_only([op]):
                    break
                found.append(op)
            elif isinstance(op, func.CallOp):
                if not _takes_buffers_only([op]) or not self._joins(op, [loop, *found], most):
                    break
                found.append(op)
            elif not (is_view(op) or isinstance(op, (arith.ConstantOp, memref.AllocOp, memref.GetGlobalOp))):
                break
            op = op.prev_op
        while found and isinstance(found[-1], memref.CopyOp) and not _are_related(found[-1], loop):
            found.pop()
        return found[::-1]

    def _joins(self, call: func.CallOp, users: list[Operation], most: float) -> bool:
        """Whether a kernel before a loop computes what only these use, in at most so many nanoseconds."""
        kernel = self._kernels.get(call.callee.root_reference.data)
        if kernel is None or not _is_plain(kernel):
            return False
        for place in _written(kernel):
            value = call.operands[place]
            uses = [use.operation for use in uses_through_views(value)]
            private = isinstance(value.owner, memref.AllocOp)
            if not private or not all(use is call or any(user.is_ancestor(use) for user in users) for use in uses):
                return False
        found = estimate(list(kernel.body.block.ops), self._chip)
        return found.block <= max(found.launches, most)


class _Writes(Writes):
    """The parameters that kernels of structured operations write to."""

    def of(self, name: str, parameter: int) -> bool:
        """Whether a kernel may write to the memory of a parameter."""
        kernel = self.functions.get(name)
        return kernel is None or parameter in _written(kernel)


def _times(op: Operation, loop: Operation) -> int:
    """How often a loop runs an operation, once if it is outside."""
    times, above = 1, op.parent_op()
    while above is not None and loop.is_ancestor(above):
        times *= _int(above, TRIP_COUNT) if TRIP_COUNT in above.attributes else 1
        above = above.parent_op()
    return times


def _int(op: Operation, name: str) -> int:
    return cast("IntegerAttr[Any]", op.attributes[name]).value.data


def _takes_buffers_only(ops: list[Operation]) -> bool:
    """Whether operations use nothing from outside but buffers, views at constant places, and constants."""
    own = {inner for op in ops for inner in operations_in(op)}
    pending = [value for op in own for value in op.operands]
    while pending:
        value = pending.pop()
        owner = value.owner
        if not isinstance(owner, Operation):
            # An argument of a region that is inside, or of the entry.
            if not isinstance(value.type, MemRefType) and owner.parent_op() not in own:
                return False
        elif owner in own or isinstance(owner, arith.ConstantOp):
            continue
        elif is_view(owner):
            pending += owner.operands
        elif not isinstance(value.type, MemRefType):
            return False
    return True


def _is_plain(kernel: func.FuncOp) -> bool:
    """Whether a kernel consists of structured operations, and of arithmetic between them."""
    if len(kernel.body.blocks) != 1:
        return False
    known = (*STRUCTURED, memref.AllocOp, memref.LoadOp, func.ReturnOp)
    return all(
        isinstance(op, known) or is_view(op) or (not op.regions and op.name.startswith(_OF_SCALARS))
        for op in kernel.body.block.ops
    )


def _written(kernel: func.FuncOp) -> Iterator[int]:
    """The parameters that a kernel writes."""
    written: set[SSAValue] = {root for op in kernel.body.block.ops for root, writes in accesses(op) if writes}
    return (number for number, argument in enumerate(kernel.body.block.args) if argument in written)


def _are_related(op: memref.CopyOp, loop: Operation) -> bool:
    """Whether a loop uses what a copy writes."""
    return any(loop.is_ancestor(use.operation) for use in uses_through_views(op.destination))
