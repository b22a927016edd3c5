"""
Index arithmetic that only the border of a loop needs, as for a padded stencil:

    %p = arith.addi %i, %minus_one       // %i is the loop's index
    %a = arith.cmpi sge, %p, %zero       // true in all iterations but the first
    %b = arith.maxsi %p, %zero           // %p itself in all iterations but the first

Inside, where the comparisons hold and the clamps do nothing, loads through these indices are contiguous.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, Operation, SSAValue

from .kernel_builder import SIGNED_COMPARISONS, known_number
from .nest import Nest

LEAST_INSIDE = 16
"""Iterations inside that make two more loops for the border worth it."""

MOST_OPERATIONS = 100
"""Operations of a body that is emitted three times."""


@dataclass(frozen=True)
class Inside:
    """The iterations of a loop from `first` up to `end` in which these operations of the body are settled."""

    first: int
    end: int
    clamps: frozenset[Operation]
    """Their result is their first operand."""
    tests: frozenset[Operation]
    """Their result is true."""


def inside_of(nest: Nest, loop: int) -> Inside | None:
    """The inside of a loop; None if no operation of the body depends on the border, or the inside is small."""
    block, size = nest.body, nest.sizes[loop]
    if block is None or size < LEAST_INSIDE or len(block.ops) > MOST_OPERATIONS:
        return None
    places: dict[SSAValue, int] = {}
    """The values that are the loop's index and a number."""
    chosen = set[SSAValue]()
    """Those of them that the program computes with, whose comparisons need not belong to a border."""
    first, end, least = 0, size, max(LEAST_INSIDE, size // 2)
    clamps, tests = set[Operation](), set[Operation]()
    others: list[tuple[Operation, int, int]] = []
    for op in block.ops:
        if isinstance(op, IndexOp):
            if nest.dims[int(op.dim.value.data)] == loop:
                places[op.result] = 0
            continue
        if isinstance(op, arith.IndexCastOp):
            # An index of 8 bits begins again in the middle of the loop.
            if op.input in places and size <= _limit_of(op.result.type):
                places[op.result] = places[op.input]
                chosen.add(op.result)
            continue
        if len(op.operands) != 2 or op.operands[0] not in places or (number := known_number(op.operands[1])) is None:
            continue
        at = number - places[op.operands[0]]
        if op.operands[0] in chosen and not isinstance(op, arith.CmpiOp):
            continue
        match op:
            case arith.AddiOp():
                places[op.result] = places[op.lhs] + number
            case arith.MaxSIOp():
                first = max(first, at)
                places[op.result] = places[op.lhs]
                clamps.add(op)
            case arith.MinSIOp():
                end = min(end, at + 1)
                places[op.result] = places[op.lhs]
                clamps.add(op)
            case arith.CmpiOp() if op.predicate.value.data in SIGNED_COMPARISONS:
                sign, rest = SIGNED_COMPARISONS[op.predicate.value.data]
                lower, upper = (at - rest, size) if sign > 0 else (0, at + rest + 1)
                if op.lhs in chosen:
                    others.append((op, lower, upper))
                else:
                    first, end = max(first, lower), min(end, upper)
                    tests.add(op)
            case _:
                pass
    for op, lower, upper in others:
        if min(end, upper) - max(first, lower) >= least:
            first, end = max(first, lower), min(end, upper)
            tests.add(op)
    return None if end - first < least or not clamps else Inside(first, end, frozenset(clamps), frozenset(tests))


def _limit_of(type_: Attribute) -> int:
    """The number up to which a type has the numbers of iterations, and those a few places around them."""
    return 1 << type_.bitwidth - 2 if isinstance(type_, IntegerType) else sys.maxsize
