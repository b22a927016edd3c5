"""Products of each step's slice of an input as one product before the loop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, SSAValue

from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.loops import Loop
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.types import bit_width, element_of, shape_of

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


def batch_before(loop: Loop) -> list[DotGeneralOp]:
    """Compute the products of slices and of invariant matrices before the loop; returns those products."""
    found: list[DotGeneralOp] = []
    for each in list(loop.body.ops):
        if isinstance(each, DotGeneralOp) and (step := _step(each, loop)) is not None:
            found.append(_batch(step, loop.op))
    return found


def _step(dot: DotGeneralOp, loop: Loop) -> Step | None:
    """The product, if it is one of a step's slice and of a matrix from outside, and worth computing at once."""
    numbers = dot.dot_dimension_numbers
    if numbers.lhs_batching or dot.algorithm is not None:
        return None
    for side in (0, 1):
        value, other = dot.operands[side], dot.operands[1 - side]
        contracted = (numbers.lhs_contracting, numbers.rhs_contracting)[side]
        read, dropped = step_slice(value)
        if read is None or not loop.is_outside(other) or not loop.is_outside(read.operand):
            continue
        if loop.step_places(read) is None:
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


def step_slice(value: SSAValue) -> tuple[DynamicSliceOp | None, bool]:
    """The slice that a value is, and whether without its first dimension."""
    owner = value.owner
    if isinstance(owner, DynamicSliceOp):
        return owner, False
    read = owner.operand.owner if isinstance(owner, ReshapeOp) else None
    if isinstance(read, DynamicSliceOp) and shape_of(read.result) == (1, *shape_of(value)):
        return read, True
    return None, False


def _batch(step: Step, loop: WhileOp) -> DotGeneralOp:
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
    assert isinstance(every.value.owner, DotGeneralOp)
    return every.value.owner
