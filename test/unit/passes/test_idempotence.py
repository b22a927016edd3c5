"""Simplification and fusion leave their own results as they are, and do not depend on the order of a program's text."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from xdsl.dialects import func
from xdsl.ir import Block, Operation, OpResult

import conformance
from hlo_programs import Program
from xhlo.hlo_dialect.ops.fusion import FusionOp
from xhlo.passes.manager.pipelines import FRONT, FUSE

pytestmark = pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)

NAMES = conformance.jax_programs()
UP_TO_CSE = FRONT[: FRONT.index("cse") + 1]


@pytest.mark.long(3)
@pytest.mark.sample(12)
@pytest.mark.parametrize("name", NAMES)
def test_a_second_run_changes_nothing(name: str) -> None:
    simplified = Program(conformance.jax_program(name).text).after(*UP_TO_CSE)
    assert str(simplified.after("simplify-hlo", "cse").module) == str(simplified.module)
    fused = simplified.after(*FUSE)
    assert str(fused.after("fuse-hlo").module) == str(fused.module)


@pytest.mark.long(4)
@pytest.mark.sample(12)
@pytest.mark.parametrize("name", NAMES)
def test_fusions_do_not_depend_on_the_order_of_operations(name: str) -> None:
    program = Program(conformance.jax_program(name).text).after(*UP_TO_CSE)
    first = fusions(program.after("fuse-hlo"))
    for seed in (0, 1):
        for function in program.module.body.block.ops:
            if isinstance(function, func.FuncOp):
                shuffle(function.body.block, random.Random(seed))
        assert fusions(program.after("fuse-hlo")) == first


def fusions(program: Program) -> Counter[tuple[str, tuple[str, ...]]]:
    """The kinds of fusions with the names of their operations."""
    found = (op for op in program.module.walk() if isinstance(op, FusionOp))
    return Counter((op.kind.data, tuple(sorted(inner.name for inner in op.body.block.ops))) for op in found)


def shuffle(block: Block, numbers: random.Random) -> None:
    """Put the operations of a block into another order in which each follows its operands."""
    last = block.last_op
    left = [op for op in block.ops if op is not last]
    numbers.shuffle(left)
    placed: set[Operation] = set()
    while left:
        for op in left:
            needed = (value.op for inner in op.walk() for value in inner.operands if isinstance(value, OpResult))
            if all(each in placed or each.parent is not block for each in needed):
                break
        else:
            raise AssertionError("a block without an order")
        left.remove(op)
        placed.add(op)
        op.detach()
        assert last is not None
        block.insert_op_before(op, last)
