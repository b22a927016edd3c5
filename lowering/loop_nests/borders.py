"""
Index arithmetic that only the border of a loop needs, as for a padded stencil:

    %p = arith.addi %i, %minus_one       // %i is the loop's index
    %a = arith.cmpi sge, %p, %zero       // true in all iterations but the first
    %b = arith.maxsi %p, %zero           // %p itself in all iterations but the first

Inside, where the comparisons hold and the clamps do nothing, loads through these indices are contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation, SSAValue

from .kernel_builder import SIGNED_COMPARISONS, known_number
from .nest import Nest

LEAST_INSIDE = 32
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
    first, end = 0, size
    clamps, tests = set[Operation](), set[Operation]()
    for op in block.ops:
        if isinstance(op, IndexOp):
            if nest.dims[int(op.dim.value.data)] == loop:
                places[op.result] = 0
            continue
        if len(op.operands) != 2 or op.operands[0] not in places or (number := known_number(op.operands[1])) is None:
            continue
        at = number - places[op.operands[0]]
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
                if sign > 0:
                    first = max(first, at - rest)
                else:
                    end = min(end, at + rest + 1)
                tests.add(op)
            case _:
                pass
    small = end - first < max(LEAST_INSIDE, size // 2)
    return None if small or not clamps else Inside(first, end, frozenset(clamps), frozenset(tests))
