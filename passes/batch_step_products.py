"""Products of each step's slice of an input become one product before the loop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ..hlo_dialect.attributes import DotDimensionNumbersAttr
from ..hlo_dialect.diagnostics import Diagnostic, engine_of
from ..hlo_dialect.expressions.tensor import Builder
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.loops import Loop
from ..hlo_dialect.ops.contraction import DotGeneralOp
from ..hlo_dialect.ops.control_flow import WhileOp
from ..hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ..hlo_dialect.ops.movement import ReshapeOp
from ..hlo_dialect.types import bit_width, element_of, shape_of
from ..hlo_dialect.walking import operations_in

MOST_ROWS = 64
"""Rows of a step's product from which it is as fast as one of all steps."""

MOST_BYTES = 1 << 26
"""Bytes of the product of all steps."""


@dataclass(frozen=True)
class Step:
    """A product of the slice that a step reads and of an invariant matrix."""

    dot: DotGeneralOp
    read: DynamicSliceOp
    side: int
    """The operand of the product that is the slice."""
    dropped: bool
    """Whether the slice lost its first dimension, of size 1."""


class BatchStepProductsPass(HloPass):
    """
    Compute products of the steps' slices of an input at once, before the loop.

    Before: `hlo.while(%i = %zero, ..) .. do { %x = hlo.dynamic_slice %xs, %i, ..  %1 = hlo.dot_general %x, %w, .. }`
    After:  `%all = hlo.dot_general %xs, %w, ..`, and in the loop `hlo.dynamic_slice %all, %i, ..`
    Assumes: the level after hoist-loop-invariants: what does not change is computed outside.
    Leaves: products of many rows, which gain nothing, and those whose results for all steps take more than 64 MB.

    A loop that writes its results step by step, of the type of the products of all steps, writes them over these.
    The sums are the same; their order may be another, as it may between matrix products of different sizes.
    """

    name = "batch-step-products"
    only_for = ("hlo.while",)
    works_on_functions = True

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)
        for op in operations_in(module):
            if not isinstance(op, WhileOp):
                continue
            loop, batched = Loop(op), False
            for each in list(loop.body.ops):
                if isinstance(each, DotGeneralOp) and (step := _step(each, loop)) is not None:
                    text = "the products of all steps are computed at once, before the loop"
                    engine.emit(Diagnostic("remark", text, each.location))
                    _batch(step, op)
                    batched = True
            if batched:
                _write_over(Loop(op))


def _step(dot: DotGeneralOp, loop: Loop) -> Step | None:
    """The product, if it is one of a step's slice and of a matrix from outside, and worth computing at once."""
    numbers = dot.dot_dimension_numbers
    if numbers.lhs_batching or dot.algorithm is not None:
        return None
    for side in (0, 1):
        value, other = dot.operands[side], dot.operands[1 - side]
        contracted = (numbers.lhs_contracting, numbers.rhs_contracting)[side]
        read, dropped = _slice_behind(value)
        if read is None or not loop.is_outside(other) or not loop.is_outside(read.operand):
            continue
        if not any(loop.is_step_slice(read, position) for position in loop.inductions):
            continue
        rows = math.prod(shape_of(value)[dim] for dim in (dot.lhs_free, dot.rhs_free)[side])
        columns = math.prod(shape_of(dot.result)) // max(rows, 1)
        steps = shape_of(read.operand)[0]
        size = steps * rows * columns * bit_width(element_of(dot.result)) // 8
        in_order = side == 0 or 1 in (rows, columns)
        used = 2 * (loop.trip_count or 0) >= steps
        if (dropped or 0 not in contracted) and in_order and used and 0 < rows <= MOST_ROWS and size <= MOST_BYTES:
            return Step(dot, read, side, dropped)
    return None


def _slice_behind(value: SSAValue) -> tuple[DynamicSliceOp | None, bool]:
    """The slice that a value is, and whether without its first dimension."""
    owner = value.owner
    if isinstance(owner, DynamicSliceOp):
        return owner, False
    read = owner.operand.owner if isinstance(owner, ReshapeOp) else None
    if isinstance(read, DynamicSliceOp) and shape_of(read.result) == (1, *shape_of(value)):
        return read, True
    return None, False


def _batch(step: Step, loop: WhileOp) -> None:
    dot, numbers = step.dot, step.dot.dot_dimension_numbers
    taken, kept = numbers.lhs_contracting, numbers.rhs_contracting
    stated: dict[str, Attribute] = {}
    precision = dot.precision_config
    if step.side == 1:
        taken, kept = kept, taken
        precision = None if precision is None else ArrayAttr(reversed(precision.data))
    if precision is not None:
        stated["precision_config"] = precision
    contracting = tuple(dim + step.dropped for dim in taken)
    before = Builder.before(loop)
    before.location = dot.location
    source, other = before.tensors([step.read.operand, dot.operands[1 - step.side]])
    every = source.dot(
        other,
        DotDimensionNumbersAttr.of(lhs_contracting=contracting, rhs_contracting=kept),
        element_of(dot.result),
        **stated,
    )
    inside = Builder.before(dot)
    first = inside.tensors([step.read.start_indices[0]])[0]
    zero = inside.splat(0, first.type)
    sizes = (1, *every.shape[1:])
    part = inside.tensors([every.value])[0].dynamic_slice([first, *[zero] * (len(sizes) - 1)], sizes)
    inside.replace(dot, part.reshape(shape_of(dot.result)))


def _write_over(loop: Loop) -> None:
    """
    Let results that a loop stacks begin as what it takes a slice of in each step, instead of a constant.

    Step i reads slice i before it writes it, nothing else reads either, and every slice is written: one buffer holds
    both.
    """
    for position, stacked in enumerate(loop.body.args):
        written = loop.returned[position].owner
        if not isinstance(written, DynamicUpdateSliceOp) or written.operand is not stacked:
            continue
        index = next((at for at in loop.inductions if loop.is_step_slice(written, at)), None)
        alone = stacked.has_one_use() and loop.cond.args[position].first_use is None
        if index is None or not alone or loop.trip_count != shape_of(stacked)[0]:
            continue
        before = _behind(written.update, loop)
        reads = [op for op in before if isinstance(op, DynamicSliceOp) and loop.is_step_slice(op, index)]
        read = next((op for op in reads if _is_last_read(op, stacked, loop, before)), None)
        if read is not None:
            loop.op.operands[position] = read.operand
            read.operands[0] = stacked
            return


def _is_last_read(read: DynamicSliceOp, stacked: SSAValue, loop: Loop, before: dict[Operation, None]) -> bool:
    """Whether an operation alone reads products of the loop's steps, for what is computed `before` the write."""
    source = read.operand
    if not isinstance(source.owner, DotGeneralOp) or source.type != stacked.type or not source.has_one_use():
        return False
    return loop.is_outside(source) and all(use.operation in before for use in read.result.uses)


def _behind(value: SSAValue, loop: Loop) -> dict[Operation, None]:
    """The operations of the loop's body that compute a value."""
    found: dict[Operation, None] = {}
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner.parent is loop.body and owner not in found:
            found[owner] = None
            pending += owner.operands
    return found
