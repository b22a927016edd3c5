"""Products that the steps of a loop make one by one are made at once, before the loop or after it."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp

from ...hlo_dialect.diagnostics import Diagnostic, engine_of
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.loops import Loop
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.walking import operations_in
from .after import sum_after
from .before import batch_before
from .stacks import write_over


class BatchStepProductsPass(HloPass):
    """
    Compute products of the steps' slices of an input at once before the loop, and those that it sums up after it.

    Before: `hlo.while(%i = %zero, ..) .. do { %x = hlo.dynamic_slice %xs, %i, ..  %1 = hlo.dot_general %x, %w, .. }`
    After:  `%all = hlo.dot_general %xs, %w, ..`, and in the loop `hlo.dynamic_slice %all, %i, ..`
    Before: `hlo.while(%i = %zero, %sum = %a, ..) .. do { %1 = hlo.dot_general %x, %y, ..  %2 = hlo.add %sum, %1 .. }`
    After:  the loop stacks %y, and %x if it is no slice of an input; after it `hlo.dot_general %xs, %ys, ..`, plus %a
    Assumes: the level after hoist-loop-invariants: what does not change is computed outside.
    Leaves: products of many rows, which gain nothing, and those whose results for all steps take more than 64 MB;
            sums that are not much larger than what would be stacked.

    A loop that writes its results step by step, of the type of what it reads step by step, writes them over that.
    The sums are the same; their order may be another, as it may between matrix products of different sizes.
    """

    name = "batch-step-products"
    only_for = ("hlo.while",)
    works_on_functions = True

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)

        def remark(text: str, at: LocationAttr) -> None:
            engine.emit(Diagnostic("remark", text, at))

        for op in operations_in(module):
            if type(op) is not WhileOp:
                continue
            loop = Loop(op)
            before = batch_before(loop)
            for each in before:
                remark("the products of all steps are computed at once, before the loop", each.location)
            after = sum_after(loop)
            if after is not None:
                loop, places = after
                for each in places:
                    remark("the sum over all steps is computed at once, after the loop", each)
            if before or after is not None:
                write_over(loop)
