"""The kernels of a function's blocks that run again, where the function takes most memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.ir.core import Use

from ...dialects.support.kernel import REPEATED
from ...dialects.tensor_ops import is_reshape
from ...hlo_dialect.diagnostics import Diagnostic
from ...hlo_dialect.diagnostics.diagnostic import DiagnosticEngine
from ...hlo_dialect.limits import shown
from ..bufferize.in_place import KernelFacts
from .flow import Flow
from .rematerialize import Decision, KernelCost, Rematerialization, Repeat


@dataclass
class Repeats:
    """Repeats calls of kernels in the blocks of a function whose orders are settled."""

    flows: Mapping[Block, Flow]
    kernels: Mapping[str, KernelFacts]
    costs: Mapping[str, KernelCost]
    worth: int
    memory: int
    """The most bytes that the function takes at once, arguments and results included."""
    engine: DiagnosticEngine

    def make(self, block: Block, beside: int) -> int:
        """
        Repeat what pays in a block and in the regions of its operations, which run while `beside` bytes are alive
        elsewhere. Returns the most bytes that are alive at once in the block afterwards.
        """
        flow = self.flows[block]
        alive, _ = flow.profile(range(len(flow.ops)))
        for number, op in enumerate(flow.ops):
            if op.regions and beside + alive[number] >= self.memory:
                outside = beside + alive[number] - flow.inside[number]
                flow.inside[number] = max(self.make(region.block, outside) for region in op.regions)
        peak = max(alive, default=0)
        if beside + peak < self.memory:
            return peak
        search = Rematerialization(flow, self.kernels, self.costs, self.memory, self.worth)
        decisions = search.run()
        for decision in decisions:
            self._report(flow, search, decision)
            if decision.pays:
                _apply(block, flow, decision.repeats)
        return flow.peak(range(len(flow.ops))) - sum(each.saved for each in decisions if each.pays)

    def _report(self, flow: Flow, search: Rematerialization, decision: Decision) -> None:
        count = len(decision.repeats) - 1
        among = f", with {count} other{'s' * (count > 1)}" if count else ""
        again = "runs again" if decision.pays else "does not run again"
        part, cost = decision.saved / self.memory, decision.cost.part_of(search.whole)
        text = f"less memory for {cost:.1%} more work in its block"
        for repeat in decision.repeats:
            op = cast(func.CallOp, flow.ops[search.maker[repeat.value]])
            name = op.callee.root_reference.data
            message = f"{name} {again} for late readers{among}: {shown(decision.saved)} ({part:.1%}) {text}"
            self.engine.emit(Diagnostic("remark", message, op.location))


def _apply(block: Block, flow: Flow, repeats: list[Repeat]) -> None:
    """Insert the calls that `repeats` ask for, and let the operations from there on use their results."""
    place = {op: number for number, op in enumerate(flow.ops)}
    for repeat in repeats:
        user = flow.ops[repeat.before]
        (original,) = (v for v, n in flow.value_of.items() if n == repeat.value and not _is_view(v))
        assert isinstance(original, OpResult)
        again = original.op.clone()
        again.attributes[REPEATED] = UnitAttr()
        block.insert_op_before(again, user)
        renewed: dict[SSAValue, SSAValue] = {original: again.results[original.index]}
        renewed[original].name_hint = original.name_hint
        for use in _uses(original, block):
            beside = block.find_ancestor_op_in_block(use.operation)
            if beside is None or place.get(beside, -1) < repeat.before or _is_view(beside):
                continue
            use.operation.operands[use.index] = _renewed(use.operation.operands[use.index], renewed, block, user)


def _uses(value: SSAValue, block: Block) -> list[Use]:
    """The uses of a value and of its views in the block."""
    found = list(value.uses)
    for use in value.uses:
        if _is_view(use.operation) and use.operation.parent is block:
            found += _uses(use.operation.results[0], block)
    return found


def _is_view(thing: Operation | SSAValue) -> bool:
    owner = thing.owner if isinstance(thing, SSAValue) else thing
    return is_reshape(owner)


def _renewed(value: SSAValue, renewed: dict[SSAValue, SSAValue], block: Block, before: Operation) -> SSAValue:
    """The value, a view of one that was computed again, as a view of the new one."""
    if value not in renewed:
        view = cast(Operation, value.owner).clone()
        view.operands = [_renewed(view.operands[0], renewed, block, before)]
        block.insert_op_before(view, before)
        renewed[value] = view.results[0]
    return renewed[value]
