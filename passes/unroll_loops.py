"""Short loops of cheap operations become straight-line code."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ..dialects.support.editing import clone_op
from ..hlo_dialect.diagnostics import Diagnostic, engine_of
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.loops import Loop
from ..hlo_dialect.op import EXPENSIVE, is_hlo, replace_op
from ..hlo_dialect.ops.control_flow import WhileOp
from ..hlo_dialect.types import shape_of
from ..hlo_dialect.walking import operations_in

FEWEST_ELEMENTS = 4096
"""Elements of the largest carried tensor from which the time saved is worth compiling more code."""

_FUSED = frozenset({"elementwise", "broadcast", "movement", "iota", "reshape", "constant"})
"""Roles of the operations that gain from being unrolled: they fuse across iterations."""


@dataclass(frozen=True)
class UnrollLoopsPass(HloPass):
    """
    Repeat the body of a short hlo.while of cheap operations as often as it runs.

    Before: `hlo.while(%i = %zero, %x = ..) cond { %i < 5 } do { .. }`
    After:  five copies of the body
    Assumes: the level after flatten-tuples.
    Leaves: loops of an unknown number of iterations, of more than most-iterations, of more than most-operations over
            all iterations, constants aside, on few elements, or that hold more than elementwise operations and
            movements. The rounds of JAX's random numbers are such a loop.
    """

    name = "unroll-loops"
    only_for = ("hlo.while",)
    works_on_functions = True

    most_iterations: int = 8
    most_operations: int = 400

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)
        for op in reversed(operations_in(module)):
            if type(op) is WhileOp and (count := self._times(op)) is not None:
                engine.emit(Diagnostic("remark", f"unrolled the {count} iterations of the loop", op.location))
                unroll(op, count)

    def _times(self, op: WhileOp) -> int | None:
        """The number of iterations of a loop to unroll; None if it stays."""
        loop = Loop(op)
        count = loop.trip_count
        if count is None or count > self.most_iterations:
            return None
        if count > 1 and max((math.prod(shape_of(value)) for value in op.operands), default=0) < FEWEST_ELEMENTS:
            return None
        inside = [each for each in loop.body.ops if each is not loop.body.last_op]
        ops = [each for each in inside if is_hlo(each) and each.ROLE in _FUSED and not each.regions]
        if len(ops) < len(inside):
            return None
        # Special functions are that many operations in the end.
        work = sum(each.COST if each.COST > EXPENSIVE else each.name != "hlo.constant" for each in ops)
        return count if work * count <= self.most_operations else None


def unroll(op: WhileOp, count: int) -> None:
    """Replace a loop by copies of its body."""
    copies: list[Operation] = []
    values: tuple[SSAValue, ...] = tuple(op.operands)
    for _ in range(count):
        values = repeat_body(op, values, copies)
    replace_op(op, copies, values)


def repeat_body(op: WhileOp, values: tuple[SSAValue, ...], copies: list[Operation]) -> tuple[SSAValue, ...]:
    """Append one copy of a loop's body, for these carried values, to `copies`; returns the next values."""
    body = op.body.block
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, values, strict=True))
    for each in body.ops:
        if each is body.last_op:
            return tuple(mapping.get(value, value) for value in each.operands)
        clone = clone_op(each, mapping)
        clone.location = each.location
        copies.append(clone)
    raise AssertionError("a region without a terminator passes no verifier")
