"""Which values of a host function are read later: what may be overwritten, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue


class Liveness:
    """
    The order of operations, and what it says about values.

    Operations of a block run in order; of the branches of an scf.if or scf.index_switch one runs, once; the regions of
    an scf.while run again and again, so that what one iteration reads of a value from outside the next one needs.
    """

    def __init__(self) -> None:
        self._position: dict[Operation, int] = {}
        """The position of each operation in its block."""

    def number(self, ops: Sequence[Operation]) -> None:
        """Note the operations of a block, in order; before questions about any of them."""
        self._position.update((op, position) for position, op in enumerate(ops))

    def replace(self, op: Operation, new: Operation) -> None:
        """Note that `new`, which has the regions of `op` now, is at its place."""
        self._position[new] = self._position[op]

    def needed_after(self, value: SSAValue, op: Operation, inside: bool = True) -> bool:
        """
        Whether an operation may read `value` after `op` has run, or, with `inside`, in the regions of `op`. `op` itself
        may take it as an operand. The results of an operation around `op` do not exist yet, and count as not needed.
        """
        levels = _levels(op, _home(value))
        if levels is None or (len(levels) > 1 and value.owner is levels[-1]):
            return False
        return any(
            self._is_later(use.operation, level, inside if level is op else None)
            for use in value.uses
            for level in levels
        )

    def is_over(self, value: SSAValue, op: Operation) -> bool:
        """
        Whether nothing after `op` can read `value`, which is of the block of `op` and read for the last time, or of a
        region that was left.
        """
        levels = _levels(op, _home(value))
        return levels is None or (len(levels) == 1 and not self.needed_after(value, op))

    def _is_later(self, user: Operation, level: Operation, inside: bool | None) -> bool:
        """
        Whether `user` comes after `level`. If it is inside: `inside`, or where that is None, whether `level`, which
        holds the operation in question, may run it again.
        """
        beside = cast(Block, level.parent).find_ancestor_op_in_block(user)
        if beside is None or user is level:
            return False
        position = self._position.get(beside)
        if position is None:
            return False  # it is new, and stands for a use by an operation that is still there
        if position != self._position[level]:
            return position > self._position[level]
        return not isinstance(level, (scf.IfOp, scf.IndexSwitchOp)) if inside is None else inside


def _home(value: SSAValue) -> Block | None:
    """The block in which a value exists."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def _levels(op: Operation, home: Block | None) -> list[Operation] | None:
    """`op` and the operations around it, up to the one in the block `home`; None if it is not inside of `home`."""
    levels = [op]
    while levels[-1].parent is not home:
        around = levels[-1].parent_op()
        if around is None or around.parent is None:
            return None
        levels.append(around)
    return levels
