"""Loops that replace large tensors make two iterations at a time, from one buffer to another and back."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.support.kernel import PAIRED
from ..hlo_dialect.diagnostics import Diagnostic, engine_of
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.loops import Loop
from ..hlo_dialect.loops.analysis import host_loops
from ..hlo_dialect.op import HloOp, replace_op
from ..hlo_dialect.ops.control_flow import OptimizationBarrierOp, ReturnOp, WhileOp
from ..hlo_dialect.types import bit_width, element_of, shape_of
from .unroll_loops import repeat_body

LARGE = 1 << 14
"""Bytes of a tensor whose copy takes longer than starting a kernel."""

_COMPUTED = frozenset({"elementwise", "reduce", "dot", "concatenate"})
"""Roles of operations whose kernels write a new buffer."""


@dataclass(frozen=True)
class PairIterationsPass(HloPass):
    """
    Repeat the body of an hlo.while of an even number of iterations: no state is copied to where the last one was.

    Before: `hlo.while(%i = .., %u = ..) .. do { %1 = stencil of %u  hlo.return .., %1 }`
    After:  `.. do { %1 = stencil of %u  %b = hlo.optimization_barrier %1  %2 = stencil of %b  hlo.return .., %2 }`
    Assumes: the level before fuse-hlo.
    Leaves: the attribute xhlo.paired; as they are, loops whose tensors are small or updated in place,
            and bodies with control flow, or of more than most-operations, constants aside.
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
                _pair(op)

    def _gains(self, op: WhileOp) -> bool:
        loop = Loop(op)
        count = None if PAIRED in op.attributes else loop.trip_count
        if count is None or count < 4 or count % 2:
            return False
        ops = [each for each in loop.body.ops if each.name != "hlo.constant"]
        if len(ops) > self.most_operations or any(each.regions and not _combines(each) for each in ops):
            return False
        return any(
            isinstance(value.owner, HloOp)
            and value.owner.ROLE in _COMPUTED
            and math.prod(shape_of(value)) * bit_width(element_of(value)) // 8 >= LARGE
            for value in loop.returned
        )


def _combines(op: Operation) -> bool:
    return isinstance(op, HloOp) and op.ROLE == "reduce"


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
