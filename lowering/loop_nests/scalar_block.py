"""Blocks of operations on scalars as facts of functions that programs share."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects.support.classes import one_of

_is_plain = one_of(
    arith.AddiOp,
    arith.AndIOp,
    arith.BitcastOp,
    arith.CmpfOp,
    arith.CmpiOp,
    arith.ConstantOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.MuliOp,
    arith.OrIOp,
    arith.SelectOp,
    arith.ShLIOp,
    arith.ShRSIOp,
    arith.ShRUIOp,
    arith.SubiOp,
    arith.TruncIOp,
    arith.XOrIOp,
)


@dataclass(frozen=True)
class ScalarBlock:
    """
    A block that computes values from scalars. If it `is_alone`, the representation states all that it does: it is equal
    for blocks that do the same.
    """

    text: str
    is_alone: bool
    """Whether it depends on its arguments only, and has no operations that may become calls."""
    block: Block = field(repr=False, compare=False)

    @staticmethod
    def of(block: Block) -> ScalarBlock:
        numbers: dict[SSAValue, int] = {argument: number for number, argument in enumerate(block.args)}
        lines = [" ".join(map(str, block.arg_types))]
        for op in block.ops:
            if not (_is_plain(op) or op is block.last_op) or not numbers.keys() >= set(op.operands):
                return ScalarBlock("", False, block)
            words = [op.name, *(str(numbers[operand]) for operand in op.operands)]
            words += _stated(op.properties), _stated(op.attributes), *(str(result.type) for result in op.results)
            lines.append(" ".join(words))
            numbers |= {result: len(numbers) + k for k, result in enumerate(op.results)}
        return ScalarBlock("; ".join(lines), True, block)


def _stated(attributes: dict[str, Attribute]) -> str:
    return "{" + ", ".join(f"{name} = {value}" for name, value in sorted(attributes.items())) + "}"
