"""A check for tests and for those who write passes: no two iterations of a parallel loop write to the same place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..dialects.cpu import ParallelForOp
from ..dialects.support.views import root_buffer
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.walking import operations_in

_STORES = {
    **dict.fromkeys(("memref.store", "vector.store", "memref.copy", "vector.transfer_write"), (1, 0)),
    **dict.fromkeys(("vector.maskedstore", "vector.scatter", "vector.compressstore"), (0, -1)),
}
"""The operand that an operation writes to, and the one whose elements it stores; the others say where."""


class VerifyParallelLoopsPass(HloPass):
    """
    Refuse a cpu.parallel_for whose iterations all write to one place of memory that they share.

    Before: `memref.store %sum, %total[] : memref<f32>` in the body of a loop that captures %total
    After:  an error at the store
    Assumes: the level after outline-parallel-loops.
    Leaves: the module as it is. A place is right if the iteration's number or slot has a part in it, in memory that the
            body makes, or under a condition that depends on them; that two numbers never lead to one place is not
            proved. Atomic operations may meet.
    """

    name = "verify-parallel-loops"
    only_for = ("cpu.parallel_for",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
        found = _SharedWrites(functions)
        for loop in [op for op in operations_in(module) if isinstance(op, ParallelForOp)]:
            name = loop.callee.root_reference.data
            count = len(functions[name].function_type.inputs.data)
            for write in found.of(name, frozenset({count - 2, count - 1})).values():
                fail(write, f"writes to one place in every iteration of @{name}, which run at once")


class _SharedWrites:
    """Writes of functions to their parameters, at places in which no parameter that varies has a part."""

    def __init__(self, functions: Mapping[str, func.FuncOp]):
        self.functions = functions
        self._known: dict[tuple[str, frozenset[int]], dict[int, Operation]] = {}

    def of(self, name: str, varying: frozenset[int]) -> Mapping[int, Operation]:
        """For each parameter that is written so, one write, given the numbers of the parameters that vary."""
        key = name, varying
        if key not in self._known:
            self._known[key] = {}  # for a function that calls itself
            function = self.functions.get(name)
            if function is not None and not function.is_declaration:
                self._known[key] = self._find(function, varying)
        return self._known[key]

    def _find(self, function: func.FuncOp, varying: frozenset[int]) -> dict[int, Operation]:
        parameters = function.body.blocks[0].args
        ops = operations_in(function)[1:]
        vary = _varying(ops, {parameters[number] for number in varying})
        found: dict[int, Operation] = {}
        for op in ops:
            if _is_conditional(op, vary):
                continue
            for value in self._written(op, vary):
                root = root_buffer(value)
                if value not in vary and isinstance(root, BlockArgument) and root.owner is parameters[0].owner:
                    found.setdefault(root.index, op)
        return found

    def _written(self, op: Operation, vary: set[SSAValue]) -> Sequence[SSAValue]:
        """The memory that an operation writes to at a place that does not vary."""
        if isinstance(op, func.CallOp):
            varying = frozenset(number for number, value in enumerate(op.operands) if value in vary)
            return [op.operands[number] for number in self.of(op.callee.root_reference.data, varying)]
        if op.name not in _STORES:
            return ()
        target, stored = (op.operands[number] for number in _STORES[op.name])
        place = [value for value in op.operands if value is not stored]
        return () if any(value in vary for value in place) else [target]


def _varying(ops: Sequence[Operation], vary: set[SSAValue]) -> set[SSAValue]:
    """The values in which one of those has a part: by operands, through memory of the function, or a loop's state."""
    before = -1
    while len(vary) != before:
        before = len(vary)
        for op in ops:
            if vary.isdisjoint(op.operands):
                continue
            vary.update(op.results)
            vary.update(argument for region in op.regions for block in region.blocks for argument in block.args)
            if isinstance(op, (scf.YieldOp, scf.ConditionOp)) and (around := op.parent_op()) is not None:
                vary.update(around.results)
                vary.update(argument for region in around.regions for argument in region.blocks[0].args)
            if op.name in _STORES or isinstance(op, func.CallOp):
                # Views of it, and what is loaded from them, follow in the next round.
                roots = (root_buffer(value) for value in op.operands if isinstance(value.type, MemRefType))
                vary.update(root for root in roots if isinstance(root.owner, memref.AllocaOp))
    return vary


def _is_conditional(op: Operation, vary: set[SSAValue]) -> bool:
    """Whether an operation is under a condition that varies."""
    around = op.parent_op()
    while isinstance(around, (scf.IfOp, scf.ForOp, scf.WhileOp)):
        if isinstance(around, scf.IfOp) and around.cond in vary:
            return True
        around = around.parent_op()
    return False
