"""Host-level kernels cut into phases, the operations of one launch, and the plans written on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, SSAValue

from ....dialects.cpu import HostCallOp
from ....dialects.gpu.plans import JOINED, PLAN, Plan, PlanAttr, attribute_of
from ....dialects.support.kernel import Kernel
from ....hlo_dialect.diagnostics import fail
from ...convert_linalg_to_scf.conversion import Absorbed, Structured, nest_of
from ...loop_nests.fills import absorbed_fills
from ...loop_nests.nest import Nest


@dataclass(frozen=True)
class Phase:
    """Operations of a kernel that one launch may run; a later phase may read data that any block of this one wrote."""

    ops: tuple[Operation, ...]
    """In order, with the fills that reductions absorbed."""
    absorbed: Absorbed
    rows: int = 0
    """For (a part of) a row kernel: the number of leading loops that the operations share."""
    plans: tuple[Plan, ...] = ()
    """The plans of the phase: one for all, or one per structured operation."""

    @property
    def structured(self) -> list[Structured]:
        """The operations that run, without absorbed fills. Only for a phase that `is_structured`."""
        skipped = {fill for fills in self.absorbed.values() for fill in fills}
        return [op for op in self.ops if isinstance(op, (FillOp, GenericOp, memref.CopyOp)) and op not in skipped]

    @property
    def is_structured(self) -> bool:
        return all(isinstance(op, (FillOp, GenericOp, memref.CopyOp)) for op in self.ops)

    @property
    def anchor(self) -> Operation:
        """The operation that carries the plan: the first one that runs."""
        skipped = {fill for fills in self.absorbed.values() for fill in fills}
        return next(op for op in self.ops if op not in skipped)

    @property
    def written_plan(self) -> Plan | None:
        """The plan on the anchor. Raises DiagnosticError if its attribute is not a plan."""
        attribute = self.anchor.attributes.get(PLAN)
        if attribute is not None and not isinstance(attribute, PlanAttr):
            fail(self.anchor, f"{PLAN} is {attribute}, not a plan such as #gpu.elementwise")
        return None if attribute is None else attribute.data

    def nests(self) -> list[Nest]:
        return [nest_of(op) for op in self.structured]

    def require(self, condition: bool, message: str) -> None:
        """Raises DiagnosticError at the operation if the phase's plan does not fit it."""
        if not condition:
            fail(self.anchor, f"{attribute_of(self.plans[0])} does not fit: {message}")


def phases_of(kernel: func.FuncOp) -> list[Phase]:
    """
    The kernel's operations with effects, cut into phases in order; none if the host runs the kernel.

    Each operation is a phase, together with the fills that it absorbed and the operations that use scalars it computes.
    """
    ops = list(kernel.body.block.ops)
    structured = [op for op in ops if isinstance(op, (FillOp, GenericOp, memref.CopyOp))]
    call = next((op for op in ops if isinstance(op, HostCallOp)), None)
    if call is not None:
        # The host runs it, between launches.
        if structured:
            fail(call, "is in a kernel with other operations; map-kernels-to-gpu takes it alone")
        return []
    absorbed = absorbed_fills(ops)
    skipped = {fill for fills in absorbed.values() for fill in fills if fill is not None}
    groups: list[list[Operation]] = []
    where: dict[Operation, int] = {}
    for op in ops:
        if op in skipped or not _has_effect(op, structured):
            continue
        producers = [
            where[p] for inner in op.walk() for x in inner.operands if (p := _owner(x)) is not None and p in where
        ]
        first = min(producers, default=len(groups))
        merged = [one for group in groups[first:] for one in group] + [op]
        groups[first:] = [merged]
        where.update(dict.fromkeys(merged, first))
    return [Phase(tuple(_with_fills(group, absorbed)), absorbed) for group in groups]


def joined(kernel: func.FuncOp, run: Sequence[Phase], plans: tuple[Plan, ...] = ()) -> Phase:
    """Consecutive phases merged into one."""
    rows = Kernel(kernel).rows if len(run) > 1 else 0
    return Phase(tuple(op for phase in run for op in phase.ops), run[0].absorbed, rows, plans)


def planned_length(phases: Sequence[Phase]) -> int:
    """The number of phases in the launch of the first one, by their attributes; 0 if it has no plan."""
    if not phases or phases[0].written_plan is None:
        return 0
    return next((n for n, phase in enumerate(phases) if n and JOINED not in phase.anchor.attributes), len(phases))


def planned_phases(kernel: func.FuncOp) -> list[Phase]:
    """The phases that launches run, with their plans, which are removed from the operations."""
    phases, found = phases_of(kernel), list[Phase]()
    while phases:
        count = planned_length(phases)
        if not count:
            joins = JOINED in phases[0].anchor.attributes
            problem = "joins a launch, but no operation before it has a plan" if joins else "has no plan"
            fail(phases[0].anchor, f"{problem}; plan-gpu-kernels writes plans, map-kernels-to-gpu reads them")
        run, phases = phases[:count], phases[count:]
        plans = tuple(plan for phase in run if (plan := phase.written_plan) is not None)
        found.append(joined(kernel, run, plans))
    for phase in found:
        for op in phase.ops:
            op.attributes.pop(PLAN, None)
            op.attributes.pop(JOINED, None)
    return found


def _owner(value: SSAValue) -> Operation | None:
    owner = value.owner
    if not isinstance(owner, Operation) or isinstance(value.type, MemRefType):
        return None
    return owner


def _with_fills(group: Sequence[Operation], absorbed: Absorbed) -> list[Operation]:
    found: list[Operation] = []
    for op in group:
        if isinstance(op, GenericOp):
            found += [fill for fill in absorbed.get(op, ()) if fill is not None]
        found.append(op)
    return found


def _has_effect(op: Operation, structured: Sequence[Operation]) -> bool:
    """Whether the operation writes memory, or reads memory that an operation of this kernel writes."""
    if op in structured or op.regions or isinstance(op, (func.CallOp, memref.StoreOp)):
        return True
    if isinstance(op, memref.LoadOp):
        return isinstance(op.memref.owner, memref.AllocOp)
    return False
