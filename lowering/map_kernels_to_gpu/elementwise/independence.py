"""Whether several operations are independent through memory, so that blocks of one launch may run them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import SSAValue

from ...convert_linalg_to_scf.conversion import Structured
from ...loop_nests.nest import address_of


def are_independent(ops: Sequence[Structured]) -> bool:
    """Whether the operations may run in any order, and at the same time."""
    written = [_written(op) for op in ops]
    touched = [{address_of(x).root for inner in op.walk() for x in inner.operands if _is_buffer(x)} for op in ops]
    for i, j in combinations(range(len(ops)), 2):
        for one, other in ((i, j), (j, i)):
            for target in written[one]:
                if address_of(target).root not in touched[other]:
                    continue
                inputs = [x for x in ops[other].operands if _is_buffer(x) and x not in written[other]]
                roots = {address_of(x).root for x in inputs} | _roots_of_loads(ops[other])
                if address_of(target).root in roots or not all(_are_disjoint(target, x) for x in written[other]):
                    return False
    return True


def _is_buffer(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType)


def _written(op: Structured) -> list[SSAValue]:
    if isinstance(op, (GenericOp, FillOp)):
        return list(op.outputs)
    return [op.destination]


def _roots_of_loads(op: Structured) -> set[SSAValue]:
    return {address_of(inner.memref).root for inner in op.walk() if isinstance(inner, memref.LoadOp)}


def _are_disjoint(first: SSAValue, second: SSAValue) -> bool:
    """Whether two buffers are distinct, or static subviews of one buffer that do not overlap in some dimension."""
    if address_of(first).root is not address_of(second).root:
        return True
    one, other = first.owner, second.owner
    if not isinstance(one, memref.SubviewOp) or not isinstance(other, memref.SubviewOp):
        return False
    if one.source is not other.source:
        return False
    ranges = [
        zip(*(values.get_values() for values in (op.static_offsets, op.static_sizes, op.static_strides)), strict=True)
        for op in (one, other)
    ]
    return any(_is_before(a, b) or _is_before(b, a) for a, b in zip(*ranges, strict=True))


def _is_before(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether the range (offset, size, step) ends before the other begins."""
    if DYNAMIC_INDEX in first or DYNAMIC_INDEX in second:
        return False
    offset, size, step = first
    return offset + (size - 1) * step < second[0]
