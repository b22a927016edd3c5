"""
Kernels of a few operations that a loop of the host program calls in each iteration: LLVM may inline them, and the
numbers that they pass to each other stay in registers.

Other kernels stay functions. Their noalias arguments say more than what LLVM keeps of them where it inlines, and the
host program would grow.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import func
from xdsl.ir import Block

from ...dialects.support.kernel import is_kernel
from ..convert_loops_to_cf import LOOP_ATTRIBUTES

MOST_OPERATIONS, MOST_BLOCKS = 60, 6
"""Operations and blocks of such a kernel, whose loops are those of a search for one element."""


def inlined_kernels(functions: Iterable[func.FuncOp]) -> frozenset[str]:
    """The names of these kernels, at the level of cf."""
    functions = list(functions)
    called = {name for op in functions if not is_kernel(op) for name in _called_in_loops(op)}
    return frozenset(op.sym_name.data for op in functions if op.sym_name.data in called and _is_tiny(op))


def _is_tiny(op: func.FuncOp) -> bool:
    blocks = op.body.blocks
    if not is_kernel(op) or len(blocks) > MOST_BLOCKS or any(_is_of_elements(block) for block in blocks):
        return False
    return sum(1 for block in blocks for _ in block.ops) <= MOST_OPERATIONS


def _is_of_elements(block: Block) -> bool:
    """Whether a block ends a loop over elements, which is for vectors."""
    return block.last_op is not None and not block.last_op.attributes.keys().isdisjoint(LOOP_ATTRIBUTES)


def _called_in_loops(op: func.FuncOp) -> set[str]:
    """The functions that are called in blocks between the target of a branch backward and that branch."""
    blocks = list(op.body.blocks)
    number = {block: place for place, block in enumerate(blocks)}
    called: set[str] = set()
    for last, block in enumerate(blocks):
        targets = () if block.last_op is None else block.last_op.successors
        first = min((number[target] for target in targets), default=last + 1)
        for inside in blocks[first : last + 1]:
            called.update(x.callee.root_reference.data for x in inside.ops if type(x) is func.CallOp)
    return called
