"""Views of buffers: the one predicate that every analysis of aliasing uses."""

from __future__ import annotations

import random

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, f32
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Block, Operation, Region
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation, VerificationContext, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from counting import calls
from xhlo.dialects.support.buffer_ops import alloc, copy
from xhlo.dialects.support.buffers import memref_type
from xhlo.dialects.support.views import ViewLike, is_view, root_buffer, uses_through_views
from xhlo.lowering.loop_nests.nest import access_of
from xhlo.lowering.map_kernels_to_gpu.reduction.chain import only_used_by
from xhlo.passes.plan_buffers.intervals import Interval
from xhlo.passes.plan_buffers.offsets import MANY, assign_offsets
from xhlo.passes.plan_buffers.transform import PlanBuffersPass

BUFFER = memref_type((16,), f32)


@irdl_op_definition
class ForeignView(IRDLOperation):
    """A view declared by the dialect of another package."""

    name = "foreign.view"
    source = operand_def(MemRefType)
    result = result_def(MemRefType)
    traits = traits_def(ViewLike())


def _makes_memrefs(op: type[Operation]) -> bool:
    results = op.get_irdl_definition().results
    try:
        results[0][1].constr.verify([BUFFER], VerificationContext())
    except (IndexError, VerifyException):
        return False
    return True


def test_every_pure_operation_that_makes_a_memref_of_a_memref_is_a_view() -> None:
    """Also one that the next xDSL adds."""
    found: set[str] = set()
    for cls in memref.MemRef.operations:
        op = cls.create(operands=[alloc(BUFFER).memref], result_types=[BUFFER])
        if cls.get_irdl_definition().operands and _makes_memrefs(cls) and is_side_effect_free(op):
            assert is_view(op), f"{op.name} is not in dialects/support/views.py"
            found.add(op.name)
    assert {"memref.collapse_shape", "memref.expand_shape", "memref.subview", "memref.view"} < found
    assert not is_view(memref.LoadOp.create(operands=[alloc(BUFFER).memref], result_types=[f32]))
    assert not is_view(alloc(BUFFER))


def test_root_and_uses_through_a_chain_of_views() -> None:
    buffer = alloc(BUFFER)
    first = memref.CastOp.get(buffer.memref, BUFFER)
    second = ForeignView.create(operands=[first.dest], result_types=[BUFFER])
    user = copy(second.result, buffer.memref)
    assert root_buffer(second.result) is buffer.memref
    assert {(use.operation, use.index) for use in uses_through_views(buffer.memref)} == {(user, 0), (user, 1)}
    assert only_used_by(buffer.memref, {user})
    assert not only_used_by(buffer.memref, set())


def test_plan_buffers_knows_the_views_of_other_packages() -> None:
    block = Block(arg_types=[BUFFER])
    (x,) = block.args
    a, b = alloc(BUFFER), alloc(BUFFER)
    view = ForeignView.create(operands=[a.memref], result_types=[BUFFER])
    block.add_ops([a, view, b, copy(x, b.memref), copy(view.result, x), func.ReturnOp()])
    module = ModuleOp([func.FuncOp("main", FunctionType.from_lists([BUFFER], []), Region(block))])
    PlanBuffersPass().run(Context(), module)
    places = [op.byte_shift for op in block.ops if isinstance(op, memref.ViewOp)]
    assert len(places) == 2
    assert places[0] is not places[1], "two live buffers in one place"


def test_accesses_through_a_cast_are_accesses_of_its_source() -> None:
    """Otherwise two names of one buffer would count as two buffers."""
    buffer = alloc(memref_type((4, 4), f32))
    view = memref.MemorySpaceCastOp(buffer.memref, buffer.memref.type)
    fill = FillOp.create(operands=[alloc(memref_type((), f32)).memref, view.dest])
    access = access_of(view.dest, AffineMap.identity(2), fill)
    assert access.root is buffer.memref
    assert access.strides == (4, 1)


def _peak(intervals: list[Interval]) -> int:
    """The most bytes that are in use at one position."""
    changes = [(each.start, each.size) for each in intervals] + [(each.end + 1, -each.size) for each in intervals]
    used = peak = 0
    for _, change in sorted(changes):
        used += change
        peak = max(peak, used)
    return peak


def test_many_buffers_share_the_arena() -> None:
    """More than are compared with each other: no two that are alive at once overlap, and little space is lost."""
    rng, some = random.Random(3), alloc(memref_type((4,), f32))
    intervals: list[Interval] = []
    for start in range(MANY + 1000):
        size, length = rng.choice((0, 64, 256, 1024, 1000 * 64)), rng.choice((0, 1, 5, 50, 4000))
        intervals.append(Interval(some, size, start, start + length, some))
    total = assign_offsets(intervals)
    assert all(each.offset % 64 == 0 and 0 <= each.offset <= total - each.size for each in intervals)
    assert total <= 1.2 * _peak(intervals)
    owner: dict[int, int] = {}  # for each line of 64 bytes the last position at which its buffer is in use
    for each in intervals:
        for line in range(each.offset // 64, (each.offset + each.size) // 64):
            assert owner.get(line, -1) < each.start
            owner[line] = each.end


def test_work_on_buffers_grows_with_their_number() -> None:
    some = alloc(memref_type((4,), f32))

    def work(count: int) -> int:
        return calls(lambda: assign_offsets([Interval(some, 64, i, 2 * count - i, some) for i in range(count)]))

    assert work(4 * MANY) < 2.5 * work(2 * MANY)
