"""Order the kernels of host functions for least memory, and run cheap ones again instead of keeping their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects.support.buffer_ops import buffer_type, byte_size, is_tensor
from ...dialects.support.editing import insert_before
from ...dialects.support.kernel import host_functions, kernels_of
from ...dialects.tensor_ops import is_reshape
from ...hlo_dialect.diagnostics import Diagnostic, engine_of
from ...hlo_dialect.diagnostics.diagnostic import DiagnosticEngine
from ...hlo_dialect.donation import placed_donations
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.limits import shown, static_bytes, too_much
from ..bufferize.in_place import KernelFacts
from ..bufferize.update_order import read_before_updates
from .flow import Flow, Homes
from .orders import orders

if TYPE_CHECKING:
    from .rematerialize import KernelCost

SMALL = 1 << 18
"""Bytes of values that need no better order: they fit into a part of the L2 cache."""

LEAST_GAIN = 32
"""Another order must save one in LEAST_GAIN bytes alive at once: neighbours in the program share caches."""


@dataclass(frozen=True)
class ScheduleKernelsPass(HloPass):
    """
    Order the kernels of host functions so that fewer bytes are alive at once; run cheap ones again for late readers.

    Before: `%a = func.call @big(%x)`, `%b = func.call @big(%y)`, `%c = func.call @sum(%a)`, `%d = func.call @sum(%b)`
    After:  `%a = func.call @big(%x)`, `%c = func.call @sum(%a)`, `%b = func.call @big(%y)`, `%d = func.call @sum(%b)`
    Assumes: the level before bufferize, host functions of calls, constants, views and control flow. With in-place=true
             bufferize writes results over arguments. Effects keep their order.
    Leaves: the program's order where no other is found that has a lower peak, and where values are small together.
            A kernel runs again only where the program takes most memory, and where the part of that memory which this
            saves is at least `worth` times the part of the bytes, or of the time, that it adds; whatever makes a
            program smaller that takes more memory than there is. A block's kernels run again together or not, and a
            remark on each says which.
    """

    name = "schedule-kernels"
    takes_buffers = False
    takes_unknown_sizes = False
    works_on_functions = False

    in_place: bool = False
    worth: int = 3

    def __post_init__(self) -> None:
        if self.worth < 0:
            raise ValueError(f"memory is worth no less than nothing, not {self.worth}")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        scheduler = Scheduler(module, engine_of(ctx), self.in_place, self.worth)
        for function in host_functions(module):
            if not function.is_declaration:
                scheduler.schedule(function)


@dataclass
class Scheduler:
    """Schedules host functions, the blocks of their control flow first."""

    module: ModuleOp
    engine: DiagnosticEngine
    in_place: bool
    worth: int
    flows: dict[Block, Flow] = field(default_factory=dict[Block, Flow])
    """The flow of each block, in its final order."""
    inside: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """The most bytes alive at once in the regions of operations."""
    _kernels: dict[str, KernelFacts] | None = None
    _costs: dict[str, KernelCost] | None = None

    def schedule(self, function: func.FuncOp) -> None:
        block = function.body.block
        terminator = block.last_op
        if _written_bytes(function) <= SMALL or terminator is None:
            return
        homes: dict[SSAValue, SSAValue | None] = {}
        donations = placed_donations(function)
        for number, output in donations.items():
            if output is not None:
                self._home(terminator.operands[output], block.args[number], block, homes)
        for value in terminator.operands:
            self._home(value, None, block, homes)
        self._block(block, homes, [block.args[number] for number in donations])
        flow = self.flows[block]
        peak = flow.peak(range(len(flow.ops)))
        if peak > SMALL:
            # Most programs take little memory.
            from .repeats import Repeats

            types = function.function_type
            placed = {output for output in donations.values() if output is not None}
            results = (type_ for number, type_ in enumerate(types.outputs) if number not in placed)
            beside = static_bytes((*types.inputs, *results))
            worth = 0 if too_much(peak + beside) else self.worth
            Repeats(self.flows, self.kernels, self.costs, worth, peak + beside, self.engine).make(block, beside)

    @property
    def kernels(self) -> Mapping[str, KernelFacts]:
        if self._kernels is None:
            functions = kernels_of(self.module)
            self._kernels = {each.sym_name.data: KernelFacts.of(each, self.in_place) for each in functions}
        return self._kernels

    @property
    def costs(self) -> Mapping[str, KernelCost]:
        if self._costs is None:
            from .rematerialize import KernelCost

            self._costs = {each.sym_name.data: KernelCost.of(each) for each in kernels_of(self.module)}
        return self._costs

    def _home(
        self, value: SSAValue, home: SSAValue | None, block: Block, homes: dict[SSAValue, SSAValue | None]
    ) -> None:
        """Note the memory of a value that the block gives, and of what is updated to become it."""
        while isinstance(value, OpResult) and value.op.parent is block:
            op = value.op
            if is_reshape(op):
                value = op.src
                continue
            if value in homes or not isinstance(op, (func.CallOp, scf.WhileOp, scf.IfOp, scf.IndexSwitchOp)):
                return
            homes[value] = home
            if isinstance(op, scf.WhileOp):
                value = op.operands[value.index]
            elif isinstance(op, func.CallOp):
                facts = self.kernels.get(op.callee.root_reference.data)
                tied = () if facts is None else facts.kernel.tied
                if value.index >= len(tied):
                    return
                value = op.operands[tied[value.index]]
            else:
                return

    def _block(self, block: Block, homes: Homes, overwritable: list[SSAValue]) -> None:
        for op in block.ops:
            if op.regions:
                self._regions(op)
        terminator = block.last_op
        assert terminator is not None
        read_before_updates(block, self.kernels)
        flow = Flow.of(block, self.kernels, homes, overwritable, self.inside)
        program = list(range(len(flow.ops)))
        before = flow.peak(program)
        peak = before
        if peak > SMALL:
            best = min(orders(flow), key=flow.peak)
            if flow.peak(best) * LEAST_GAIN <= before * (LEAST_GAIN - 1):
                for number in best:
                    flow.ops[number].detach()
                    insert_before(flow.ops[number], terminator)
                flow = Flow.of(block, self.kernels, homes, overwritable, self.inside)
                peak = flow.peak(program)
                text = f"kernels in another order: {shown(peak)} alive at once instead of {shown(before)}"
                around = block.parent_op()
                self.engine.emit(Diagnostic("remark", text, terminator.location if around is None else around.location))
        self.flows[block] = flow
        owner = block.parent_op()
        if owner is not None:
            self.inside[owner] = max(self.inside.get(owner, 0), peak)

    def _regions(self, op: Operation) -> None:
        for region in op.regions:
            block = region.block
            terminator = block.last_op
            assert terminator is not None
            homes: dict[SSAValue, SSAValue | None] = {}
            overwritable: list[SSAValue] = []
            if isinstance(op, scf.WhileOp) and region is op.after_region:
                overwritable = list(block.args)
                for value, argument in zip(terminator.operands, block.args, strict=True):
                    self._home(value, argument, block, homes)
            elif not isinstance(op, scf.WhileOp):
                for value in terminator.operands:
                    self._home(value, None, block, homes)
            self._block(block, homes, overwritable)


def _written_bytes(function: func.FuncOp) -> int:
    values = (result for op in function.walk() for result in op.results if isinstance(op, func.CallOp))
    return sum(byte_size(buffer_type(value.type)) for value in values if is_tensor(value))
