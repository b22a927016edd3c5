"""Tuples become their elements."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import SSAValue

from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.op import replace_op
from ..hlo_dialect.tuples import GetTupleElementOp, TupleOp


@dataclass(frozen=True)
class FlattenTuplesPass(HloPass):
    """
    An element taken out of a tuple becomes the value that was put in; the tuples themselves go.

    Before: `%t = hlo.tuple %a, %b` and `%0 = hlo.get_tuple_element %t[1]`
    After:  %b
    Assumes: the level after inline. A tuple that crosses a function's or a region's border is refused.
    Leaves: no tuples.
    """

    name = "flatten-tuples"
    illegal = ("hlo.tuple", "hlo.get_tuple_element")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        tuples: list[TupleOp] = []
        for op in list(module.walk()):
            if isinstance(op, TupleOp):
                tuples.append(op)
            elif isinstance(op, GetTupleElementOp) and isinstance(op.operands[0].owner, TupleOp):
                replace_op(op, (), [op.operands[0].owner.operands[op.index.value.data]])
        for op in reversed(tuples):
            if op.results[0].first_use is None:
                op.detach()
                op.erase()
        for op in module.walk():
            values: list[SSAValue] = [*op.operands, *op.results]
            if any(isinstance(value.type, TupleType) for value in values):
                fail(op, "passes a tuple on, which is not supported: pass its elements")
