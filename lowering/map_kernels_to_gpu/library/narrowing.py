"""
Sums that are only read rounded: a library writes them rounded, in half the bytes.

    product -> f32 -> (round to bf16, add a bias, ..) -> bf16    becomes    product -> bf16 -> (add a bias, ..) -> bf16

A product of 16-bit floats is summed in f32. Where what follows begins by rounding each sum, and nothing else reads the
sums, the buffer between the two may hold them rounded: the values that follow are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Operation, SSAValue


@dataclass(frozen=True)
class Narrowing:
    """The operation that reads sums, and only rounded ones."""

    consumer: GenericOp
    operand: int
    """Which input they are."""
    element: Attribute
    """What they are rounded to."""

    def apply(self, buffer: SSAValue) -> None:
        """The operation reads a buffer of rounded sums instead."""
        block = self.consumer.body.block
        old = block.args[self.operand]
        new = block.insert_arg(self.element, self.operand)
        for use in list(old.uses):
            rounding = use.operation
            rounding.results[0].replace_all_uses_with(new)
            rounding.detach()
            rounding.erase()
        block.erase_arg(old)
        self.consumer.operands[self.operand] = buffer


def narrowing_of(sums: SSAValue, contraction: Operation) -> Narrowing | None:
    """How the sums of a contraction could be stored in fewer bits; None where somebody reads them as they are."""
    if not isinstance(sums.owner, memref.AllocOp):
        return None
    readers = [use for use in sums.uses if use.operation is not contraction and not isinstance(use.operation, FillOp)]
    if len(readers) != 1:
        return None
    consumer, operand = readers[0].operation, readers[0].index
    if not isinstance(consumer, GenericOp) or operand >= len(consumer.inputs):
        return None
    users = [use.operation for use in consumer.body.block.args[operand].uses]
    elements = {user.results[0].type for user in users if isinstance(user, arith.TruncFOp)}
    if len(elements) != 1 or not all(isinstance(user, arith.TruncFOp) for user in users):
        return None
    return Narrowing(consumer, operand, elements.pop())
