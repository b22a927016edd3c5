"""Loops that replace large tensors make two iterations at a time, from one buffer to another and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ..dialects.support.editing import erase_op, insert_before
from ..dialects.support.kernel import PAIRED
from ..hlo_dialect.diagnostics import Diagnostic, engine_of
from ..hlo_dialect.donation import stated_donations
from ..hlo_dialect.expressions.tensor import Builder
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.loops import Loop
from ..hlo_dialect.loops.analysis import host_loops
from ..hlo_dialect.op import HloOp, replace_op
from ..hlo_dialect.ops.control_flow import OptimizationBarrierOp, ReturnOp, WhileOp
from ..hlo_dialect.ops.slicing import PadOp
from ..hlo_dialect.types import HloTensor, bit_width, element_of, shape_of
from .unroll_loops import repeat_body

LARGE = 1 << 14
"""Bytes of a tensor whose copy takes longer than starting a kernel."""

SMALL = 1 << 11
"""Bytes of a tensor whose copy takes a part of a kernel's time, where that reads neighbours and does little else."""

_COMPUTED = frozenset({"elementwise", "reduce", "dot", "concatenate"})
"""Roles of operations whose kernels write a new buffer."""

_AROUND = frozenset({"movement", "concatenate"})
_ELEMENTS = frozenset({"elementwise", "broadcast", "reshape", "iota", "gather"})


@dataclass(frozen=True)
class PairIterationsPass(HloPass):
    """
    Repeat the body of an hlo.while: no state is copied to where the last one was.

    Before: `hlo.while(%i = .., %u = ..) .. do { %1 = stencil of %u  hlo.return .., %1 }`
    After:  `.. do { %1 = stencil of %u  %b = hlo.optimization_barrier %1  %2 = stencil of %b  hlo.return .., %2 }`
            If their number is odd, the first is made before the loop, where the body does little but read
            neighbours, and no argument is donated to it.
    Assumes: the level before fuse-hlo.
    Leaves: the attribute xhlo.paired; as they are, other loops of an odd number of iterations, those whose tensors are
            small (smaller, where neighbours are read) or updated in place, and bodies with control flow, or of more
            than most-operations, constants aside.
    """

    name = "pair-iterations"
    only_for = ("hlo.while",)
    works_on_functions = True

    most_operations: int = 40

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)
        for op in host_loops(module):
            if self._gains(op):
                text = "two iterations at a time: saves copies of the state"
                engine.emit(Diagnostic("remark", text, op.location))
                if (Loop(op).trip_count or 0) % 2:
                    _run_first(op)
                _pair(op)

    def _gains(self, op: WhileOp) -> bool:
        loop = Loop(op)
        count = None if PAIRED in op.attributes else loop.trip_count
        if count is None or count < 4:
            return False
        ops = [each for each in loop.body.ops if each.name != "hlo.constant"]
        if len(ops) > self.most_operations or any(each.regions and not _combines(each) for each in ops):
            return False
        is_stencil = _is_stencil(ops)
        if count % 2 and not (is_stencil and all(map(_is_kept, op.operands))):
            return False
        least = SMALL if is_stencil else LARGE
        return any(
            isinstance(value.owner, HloOp)
            and value.owner.ROLE in _COMPUTED
            and math.prod(shape_of(value)) * bit_width(element_of(value)) // 8 >= least
            for value in loop.returned
        )


def _is_stencil(ops: Sequence[Operation]) -> bool:
    """Whether a body computes elements of those around them: in place, it would read what it has replaced."""
    roles = {op.ROLE for op in ops if isinstance(op, HloOp) and not isinstance(op, ReturnOp)}
    return roles <= _AROUND | _ELEMENTS and (bool(roles & _AROUND) or any(isinstance(op, PadOp) for op in ops))


def _is_kept(value: SSAValue) -> bool:
    """Whether a value is no argument whose memory a loop may take for its state; an iteration before would not."""
    function = value.owner.parent_op() if isinstance(value.owner, Block) else None
    return not isinstance(function, FuncOp) or cast("BlockArgument", value).index not in stated_donations(function)


def _combines(op: Operation) -> bool:
    return isinstance(op, HloOp) and op.ROLE == "reduce"


def _run_first(op: WhileOp) -> None:
    """Make the first iteration before the loop, so that the number of those left is even."""
    inductions = Loop(op).inductions
    copies: list[Operation] = []
    values = repeat_body(op, tuple(op.operands), copies)
    for each in copies:
        insert_before(each, op)
    builder = Builder.before(op)
    for position, value in enumerate(values):
        counter = inductions.get(position)
        if counter is not None and counter.start is not None:
            value = builder.splat(counter.start + counter.step, cast(HloTensor, value.type)).value
        op.operands[position] = value
    for each in reversed(copies):
        if all(result.first_use is None for result in each.results):
            erase_op(each)


def _pair(op: WhileOp) -> None:
    types = [value.type for value in op.operands]
    block = Block(arg_types=types)
    for argument, old in zip(block.args, op.body.block.args, strict=True):
        argument.name_hint = old.name_hint
    copies: list[Operation] = []
    values: tuple[SSAValue, ...] = block.args
    values = repeat_body(op, values, copies)
    # Apart, both iterations are the same kernels; fused, one would repeat parts of the other.
    barrier = OptimizationBarrierOp.create(operands=values, result_types=types, location=op.location)
    copies.append(barrier)
    values = repeat_body(op, tuple(barrier.results), copies)
    block.add_ops([*copies, ReturnOp.create(operands=values, location=op.location)])
    new = WhileOp.create(
        operands=op.operands,
        result_types=types,
        regions=[op.detach_region(op.cond), Region(block)],
        attributes={**op.attributes, PAIRED: UnitAttr()},
    )
    replace_op(op, (new,), new.results)
