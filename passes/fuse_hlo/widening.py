"""
Move the conversion of a narrow factor into the kernels of the products that read it: weights in bf16 or int8 go through
memory once, in their own type.

Only a conversion that is a kernel of its own moves, and only one that is exact: the products are the same to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Block, Operation

from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.types import bit_width, element_of, is_boolean, is_unsigned, shape_of
from .decisions import Decision, Verdict
from .epilogues import merged
from .graph import bytes_of

LEAST = 1 << 14
"""Elements of a factor whose conversion is worth moving: small products read their factors several times."""


def fuse_widening(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Merge each fusion in `block` that only converts to a wider type with the products that alone read the result.

    Fusions that the program was `given` with stay as they are. Returns a decision per conversion.
    """
    for op in list(block.ops):
        conversion = None if op in given or not isinstance(op, FusionOp) else _conversion_in(op)
        if not isinstance(op, FusionOp) or conversion is None:
            continue
        users = list(dict.fromkeys(use.operation for use in op.outs[0].uses))
        products = [_product_of(user, op) for user in users if user not in given]
        if not users or len(products) != len(users) or None in products:
            continue
        saved = bytes_of(op.outs[0]) * (1 + len(users))  # written, and read by each
        last = products[-1]
        assert last is not None
        yield Decision(Verdict.FUSED, conversion, last, "dot", saved)
        for user in users:
            assert isinstance(user, FusionOp)
            merged(op, user)
        op.detach()
        op.erase()


def _conversion_in(fusion: FusionOp) -> ConvertOp | None:
    """The operation of a fusion that widens its operand and does nothing else."""
    ops = [op for op in fusion.body.block.ops if op.name != "hlo.return"]
    op = ops[0] if len(ops) == 1 else None
    if fusion.kind.data != "loop" or not isinstance(op, ConvertOp) or math.prod(shape_of(op.results[0])) < LEAST:
        return None
    return op if _widens(element_of(op.operands[0]), element_of(op.results[0])) else None


def _widens(narrow: Attribute, wide: Attribute) -> bool:
    """Whether products of the wide type can read the narrow one: floats of 16 bits, signed integers of up to 16."""
    if isinstance(narrow, (BFloat16Type, Float16Type)):
        return isinstance(wide, (Float32Type, Float64Type))
    if not isinstance(narrow, IntegerType) or is_boolean(narrow) or is_unsigned(narrow):
        return False
    is_i32 = isinstance(wide, IntegerType) and not is_unsigned(wide) and bit_width(wide) == 32
    return bit_width(narrow) in (8, 16) and (is_i32 or isinstance(wide, (Float32Type, Float64Type)))


def _product_of(user: Operation, conversion: FusionOp) -> Operation | None:
    """The product of a fusion that reads the converted factor, and alone reads it there."""
    if not isinstance(user, FusionOp) or user.parent is not conversion.parent:
        return None
    if user.kind.data not in ("dot", "custom") or list(user.operands).count(conversion.outs[0]) != 1:
        return None
    (use, *others) = user.body.block.args[list(user.operands).index(conversion.outs[0])].uses
    return None if others or use.operation.name != "hlo.dot_general" else use.operation
