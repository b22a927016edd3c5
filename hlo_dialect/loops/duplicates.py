"""Equal operations that were moved out of both regions of a loop."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from xdsl.ir import Operation

from ...dialects.support.editing import erase_op, replace_uses


def merge_equal(ops: Iterable[Operation]) -> list[Operation]:
    """
    Replace pure operations of one block by an earlier equal one; return those that remain.

    Operations with regions are not compared.
    """
    known: dict[Hashable, Operation] = {}
    remaining: list[Operation] = []
    for op in ops:
        key = (type(op), tuple(op.operands), tuple(sorted(op.properties.items())), tuple(op.result_types))
        first = op if op.regions else known.setdefault(key, op)
        if first is op:
            remaining.append(op)
            continue
        for old, new in zip(op.results, first.results, strict=True):
            replace_uses(old, new)
        erase_op(op)
    return remaining
