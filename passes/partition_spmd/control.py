"""Loops and branches in partition-spmd: their carried values and results are split as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.rewriting import Replaced, like
from ...hlo_dialect.ops.control_flow import CaseOp, IfOp, WhileOp
from ...hlo_dialect.sharding.tilings import Tiling
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .layouts import Layouts
from .linear import carried

ATTEMPTS = 4
"""Attempts to find the tilings of a loop's state: the body may split a value that was whole at entry."""

Tilings = Sequence[Tiling | None]


class ControlFlow:
    """Rewrites loops and branches; `visit` rewrites the operations inside."""

    def __init__(self, layouts: Layouts, replaced: Replaced, visit: Callable[[Sequence[Operation]], None]):
        self.layouts = layouts
        self.replaced = replaced
        self.visit = visit

    def loop(self, op: WhileOp) -> None:
        """Insert a loop on parts before `op`."""
        tilings: Tilings = [
            self.layouts.wanted(result) or carried(value, self.layouts)
            for value, result in zip(op.operands, op.results, strict=True)
        ]
        for attempt in range(ATTEMPTS):
            operations, arguments = len(self.replaced.operations), len(self.replaced.arguments)
            new, returned = self._carrying(op, tilings)
            better = [before or after for before, after in zip(tilings, returned, strict=True)]
            if better == tilings or attempt == ATTEMPTS - 1:
                break
            del self.replaced.operations[operations:], self.replaced.arguments[arguments:]
            new.detach()
            new.erase(safe_erase=False)
            tilings = better
        else:
            raise AssertionError("the last attempt is kept")
        self._results(op, new, tilings)

    def _carrying(self, op: WhileOp, tilings: Tilings) -> tuple[WhileOp, Tilings]:
        """The loop with its state split by `tilings`, and the tilings of the values that its body yields."""
        operands = [self._as_carried(*pair) for pair in zip(op.operands, tilings, strict=True)]
        types = [value.type for value in operands]
        new = like(op, operands, types, regions=[region.clone() for region in op.regions])
        cast(Block, op.parent).insert_op_before(new, op)
        condition, body = (region.block for region in new.regions)
        self._inside(condition, operands, tilings)
        self._hand_out(condition, [None])
        self._inside(body, operands, tilings)
        assert body.last_op is not None
        returned = [carried(value, self.layouts) for value in body.last_op.operands]
        self._hand_out(body, tilings)
        return new, returned

    def _inside(self, block: Block, operands: Sequence[SSAValue], tilings: Tilings) -> None:
        """Turn the arguments of a region into parts and rewrite all operations but the terminator."""
        operations = list(block.ops)
        for argument, value, tiling in zip(list(block.args), operands, tilings, strict=True):
            if tiling is not None:
                part = block.insert_arg(value.type, argument.index)
                part.name_hint = argument.name_hint
                self.layouts.split(argument, tiling, part)
                self.replaced.arguments.append(argument)
        self.visit(operations[:-1])

    def _hand_out(self, block: Block, tilings: Tilings) -> None:
        last = block.last_op
        assert last is not None
        for index, (value, tiling) in enumerate(zip(last.operands, tilings, strict=True)):
            last.operands[index] = self._as_carried(value, tiling)

    def _as_carried(self, value: SSAValue, tiling: Tiling | None) -> SSAValue:
        if tiling is not None:
            return self.layouts.part(value, tiling)
        return self.layouts.whole(value)

    def _results(self, old: Operation, new: Operation, tilings: Tilings) -> None:
        for before, result, tiling in zip(old.results, new.results, tilings, strict=True):
            self.layouts.split(before, tiling or self.layouts.replicated(before), result)

    def branches(self, op: IfOp | CaseOp) -> None:
        """Insert a conditional before `op` whose results are split as one of the branches splits them."""
        blocks = [region.block for region in op.regions]
        for block in blocks:
            self._inside(block, (), ())
        tilings: list[Tiling | None] = []
        for index, result in enumerate(op.results):
            returned = (block.last_op.operands[index] for block in blocks if block.last_op is not None)
            found = (carried(value, self.layouts) for value in returned)
            tilings.append(self.layouts.wanted(result) or next((tiling for tiling in found if tiling), None))
        for block in blocks:
            self._hand_out(block, tilings)
        types = [
            result.type if tiling is None else make_tensor(tiling.part_shape(shape_of(result)), element_of(result))
            for result, tiling in zip(op.results, tilings, strict=True)
        ]
        new = like(op, [self.layouts.whole(op.operands[0])], types)
        cast(Block, op.parent).insert_op_before(new, op)
        self._results(op, new, tilings)
