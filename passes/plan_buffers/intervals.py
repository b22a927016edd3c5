"""When each buffer of a host function is used: from its allocation to the last operation that reads or writes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.kernel import INDEPENDENT
from ...dialects.support.views import uses_through_views
from ...hlo_dialect.diagnostics import fail


@dataclass
class Interval:
    """A buffer and the positions, first and last, of the host operations that use it."""

    op: memref.AllocOp
    size: int
    start: int
    end: int
    last: Operation
    """The last operation that uses it, itself or by a region, after which it may be overwritten."""
    repeated: bool = field(default=False)
    """Whether several threads may need it at once, each for itself: it stays in the arena, where there is room."""
    offset: int = field(default=-1)
    result: BlockArgument | None = field(default=None)
    """The result in whose memory it is, at its offset, instead of the arena."""


_RUN_ONCE = (func.FuncOp, memref.AllocaScopeOp, scf.ExecuteRegionOp, scf.IfOp, scf.IndexSwitchOp)
"""Operations whose regions run at most once each time that they are reached."""


def _receivers(op: Operation, buffer: memref.AllocOp) -> Iterator[SSAValue]:
    """The values that may alias an operand of `op`, as views or through control flow."""
    carriers = [op]
    if op.has_trait(IsTerminator, value_if_unregistered=False):
        around = cast(Operation, op.parent_op())
        carriers.append(around)
        if around.is_ancestor(buffer) and not isinstance(around, _RUN_ONCE):
            fail(
                buffer,
                f"is carried from one iteration of '{around.name}' to the next: plan-buffers gives the buffers of all "
                "iterations one place",
            )
    for carrier in carriers:
        yield from carrier.results
        yield from (argument for region in carrier.regions for block in region.blocks for argument in block.args)


def _aliases(buffer: memref.AllocOp) -> list[SSAValue]:
    """The buffer and every value that may alias it: any memref that an operation derives from an alias."""
    found: dict[SSAValue, None] = {buffer.memref: None}
    pending: list[SSAValue] = [buffer.memref]
    while pending:
        for use in pending.pop().uses:
            for value in _receivers(use.operation, buffer):
                if value not in found and isinstance(value.type, (MemRefType, UnrankedMemRefType)):
                    found[value] = None
                    pending.append(value)
    return list(found)


def _user_beside(op: Operation, user: Operation) -> Operation:
    """
    The ancestor of `user` (or `user` itself) in the block of `op`, or in the nearest enclosing block that holds both.
    """
    block = cast(Block, op.parent)
    while (found := block.find_ancestor_op_in_block(user)) is None:
        block = cast(Block, block.parent_block())
    return found


def _is_repeated(op: Operation) -> bool:
    """Whether an operation is in a loop whose iterations may run at once."""
    parent = op.parent_op()
    while parent is not None and INDEPENDENT not in parent.attributes:
        parent = parent.parent_op()
    return parent is not None


class Positions:
    """The positions of the operations of a host function in a walk; one with regions has those of all inside."""

    def __init__(self, function: func.FuncOp):
        self.first: dict[Operation, int] = {}
        self.last: dict[Operation, int] = {}
        self.allocs: list[memref.AllocOp] = []
        self._number(function.body.block)

    def _number(self, block: Block) -> None:
        for op in block.ops:
            self.first[op] = len(self.first)
            if isinstance(op, memref.AllocOp):
                self.allocs.append(op)
            for region in op.regions:
                for inner in region.blocks:
                    self._number(inner)
            self.last[op] = len(self.first) - 1

    def intervals(self) -> list[Interval]:
        """The live intervals of all buffers."""
        found: list[Interval] = []
        for op in self.allocs:
            users = (_user_beside(op, use.operation) for alias in _aliases(op) for use in alias.uses)
            latest = max((op, *users), key=lambda user: self.last[user])
            repeated = _is_repeated(op)
            found.append(Interval(op, byte_size(op.memref.type), self.first[op], self.last[latest], latest, repeated))
        return found

    def first_use(self, parameter: BlockArgument) -> int | None:
        """Where the buffer that is a parameter of the function is used first; None if it is not."""
        users = (parameter.block.find_ancestor_op_in_block(use.operation) for use in uses_through_views(parameter))
        return min((self.first[user] for user in users if user is not None), default=None)
