"""
Sums that are only read rounded: a library writes them rounded, in half the bytes.

    product -> f32 -> (round to bf16, add a bias, ..) -> bf16    becomes    product -> bf16 -> (add a bias, ..) -> bf16

A product of 16-bit floats is summed in f32. If the next operation begins by rounding each sum, and nothing else reads
the sums, the buffer between the two may hold them rounded: the results are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.gpu.plans import set_plan
from ...dialects.support.buffers import i32_array, memref_type
from ...dialects.support.editing import erase_op, replace_uses
from ..loop_nests.loop_builder import buffer_of


@dataclass(frozen=True)
class Narrowing:
    """The operation that reads sums, and only rounded."""

    consumer: GenericOp
    operand: int
    """The number of the input that holds the sums."""
    element: Attribute
    """The type that they are rounded to."""

    sums: SSAValue
    contraction: Operation

    def apply(self) -> None:
        """Round the sums in a separate operation, which joins the contraction, and read them rounded."""
        buffer = memref.AllocOp.create(
            result_types=[memref_type(buffer_of(self.sums).get_shape(), self.element)],
            properties={"operandSegmentSizes": i32_array((0, 0))},
        )
        body = Block(arg_types=[buffer_of(self.sums).element_type, self.element])
        rounding = arith.TruncFOp.create(operands=[body.args[0]], result_types=[self.element])
        body.add_ops([rounding, YieldOp(rounding.results[0])])
        rank = len(buffer_of(self.sums).get_shape())
        identity = AffineMapAttr(AffineMap.identity(rank))
        parallel = IteratorTypeAttr(IteratorType.PARALLEL)
        generic = GenericOp([self.sums], [buffer.memref], Region(body), [identity] * 2, [parallel] * rank)
        for op in (buffer, generic, *body.ops):
            op.location = self.contraction.location
        block = self.contraction.parent_block()
        assert block is not None
        block.insert_ops_after([buffer, generic], self.contraction)
        set_plan(generic, None, joins=True)
        self._read(buffer.memref)

    def _read(self, buffer: SSAValue) -> None:
        """Make the operation read a buffer of rounded sums instead."""
        block = self.consumer.body.block
        old = block.args[self.operand]
        new = block.insert_arg(self.element, self.operand)
        for use in list(old.uses):
            rounding = use.operation
            replace_uses(rounding.results[0], new)
            erase_op(rounding)
        block.erase_arg(old)
        self.consumer.operands[self.operand] = buffer


def narrowing_of(sums: SSAValue, contraction: Operation) -> Narrowing | None:
    """How to store a contraction's sums in fewer bits; None if they are also read unrounded."""
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
    return Narrowing(consumer, operand, elements.pop(), sums, contraction)
