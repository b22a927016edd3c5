"""The notation for indices and regions that lowerings to loops use."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Region

from xhlo.dialects.support.buffers import INDEX, memref_type
from xhlo.lowering.loop_nests.indices import chunk, delinearized, linearized
from xhlo.lowering.loop_nests.kernel_builder import IndexValue
from xhlo.lowering.loop_nests.loop_builder import LoopBuilder


@pytest.fixture
def kernel() -> func.FuncOp:
    block = Block(arg_types=[INDEX, memref_type((8,), f32)])
    block.add_op(func.ReturnOp())
    return func.FuncOp("kernel", ([INDEX, memref_type((8,), f32)], []), Region(block))


@pytest.fixture
def builder(kernel: func.FuncOp) -> LoopBuilder:
    return LoopBuilder(kernel)


def names(block: Block) -> list[str]:
    return [op.name for op in block.ops]


def test_known_operands_fold(kernel: func.FuncOp, builder: LoopBuilder) -> None:
    i = builder.index(kernel.body.block.args[0])
    assert (i + 0, 0 + i, i * 1, 1 * i, i // 1, i - 0) == (i,) * 6
    assert (i * 0, 0 * i, i % 1) == (0, 0, 0)
    assert names(kernel.body.block) == ["func.return"]
    four = builder.index(4)
    assert (four + 3, 3 - four, four * four, four // 3, four % 3, builder.min(four, 9)) == (7, -1, 16, 1, 1, 4)
    assert names(kernel.body.block) == ["arith.constant", "func.return"]


def test_expressions_are_inserted_in_order(kernel: func.FuncOp, builder: LoopBuilder) -> None:
    i = builder.index(kernel.body.block.args[0])
    place = 8 - i // 2 * 3 % 5
    assert isinstance(place, IndexValue)
    inserted = [op for op in kernel.body.block.ops if not isinstance(op, (arith.ConstantOp, func.ReturnOp))]
    assert [op.name for op in inserted] == ["arith.divui", "arith.muli", "arith.remui", "arith.subi"]
    assert inserted[-1].operands[1] is inserted[-2].results[0]


def test_comparisons_never_fold(builder: LoopBuilder) -> None:
    one = builder.index(1)
    conditions = [one < 2, one <= 2, one > 2, one >= 2, one.below(2), one.compare("eq", 1)]
    predicates = [condition.value.owner.predicate.value.data for condition in conditions]
    assert predicates == [2, 3, 4, 5, 6, 0]


def test_results_of_a_loop(kernel: func.FuncOp, builder: LoopBuilder) -> None:
    n, buffer = kernel.body.block.args
    with builder.loop(0, builder.index(n), carry=[builder.index(n)]) as (i, values):
        inside = list(values)
        builder.yield_(builder.index(builder.index(values[0]) + i))
    loop = values[0].owner
    assert isinstance(loop, scf.ForOp) and inside == [loop.body.block.args[1]]
    with builder.loop(3, 4, carry=[values[0]]) as (i, values):
        builder.store(builder.load(buffer, [i]), buffer, [i + 1])
        builder.yield_(*values)
    assert values == [loop.results[0]]  # one iteration is no loop
    assert names(kernel.body.block)[-3:] == ["memref.load", "memref.store", "func.return"]


def test_a_loop_yields_what_it_carries(kernel: func.FuncOp, builder: LoopBuilder) -> None:
    n = builder.index(kernel.body.block.args[0])
    with pytest.raises(AssertionError, match="yields other values"), builder.loop(0, n, carry=[n]):
        pass


def test_branches(kernel: func.FuncOp, builder: LoopBuilder) -> None:
    n, buffer = kernel.body.block.args
    with builder.when(builder.index(n) < 8) as loaded:
        builder.yield_(builder.load(buffer, [builder.index(n)]))
    with builder.otherwise():
        scratch = builder.alloc(memref_type((1,), f32))
        builder.yield_(builder.load(scratch, [0]))
    branch = loaded[0].owner
    assert isinstance(branch, scf.IfOp)
    assert names(branch.true_region.block) == names(branch.false_region.block) == ["memref.load", "scf.yield"]
    # The buffer of the second branch is allocated before both.
    assert names(kernel.body.block)[-3:] == ["memref.alloc", "scf.if", "func.return"]
    kernel.verify()


def test_otherwise_follows_when(builder: LoopBuilder) -> None:
    with pytest.raises(AssertionError, match="follows when"), builder.otherwise():
        pass


def test_while(kernel: func.FuncOp, builder: LoopBuilder) -> None:
    n = builder.index(kernel.body.block.args[0])
    with builder.loop_while([n]) as state:
        builder.go_on_if(builder.index(state[0]) > 1)
        builder.yield_(builder.index(builder.index(state[0]) // 2))
    loop = state[0].owner
    assert isinstance(loop, scf.WhileOp)
    assert names(loop.before_region.block) == ["arith.cmpi", "scf.condition"]
    assert names(loop.after_region.block) == ["arith.divui", "scf.yield"]
    kernel.verify()


def test_points_of_boxes(builder: LoopBuilder) -> None:
    assert [linearized(delinearized(number, (2, 3, 4)), (2, 3, 4)) for number in range(24)] == list(range(24))
    assert [chunk(builder, number, 4, 10) for number in range(3)] == [(0, 4), (4, 8), (8, 10)]
