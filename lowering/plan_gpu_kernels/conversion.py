"""Decide how each kernel is mapped to a GPU, and write the decisions to its operations as attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation

from ...dialects.gpu.plans import Plan, Points, Serial, set_plan
from ...dialects.support.kernel import CONTRACTION, Kernel, kernels_of
from ...hlo_dialect.diagnostics import Diagnostic, engine_of
from ..device.gpu import GpuChip
from ..device.gpu_pass import GpuPass
from ..map_kernels_to_gpu.indexing.mapping import convert_others
from ..map_kernels_to_gpu.serial import parallel_range
from ..map_kernels_to_gpu.threads.phases import Phase, joined, phases_of, planned_length
from .elementwise import plan_elementwise, plan_together
from .indexing import plan_ext
from .reduction import plan_chain, plan_reduction

Remark = Callable[[Operation, str], None]
"""Takes an operation and what is to be said about it."""

Planner = Callable[[Phase, GpuChip], tuple[Plan, ...]]
"""The plan of a phase, or one for each of its operations; none if the planner does not handle the phase."""


def plan_contraction(phase: Phase, chip: GpuChip) -> tuple[Plan, ...]:
    """See contraction.py, whose import takes longer than planning a program without contractions."""
    if not any(CONTRACTION in op.attributes for op in phase.ops):
        return ()
    from . import contraction

    return contraction.plan_contraction(phase, chip)


def plan_rest(phase: Phase, chip: GpuChip) -> tuple[Plan, ...]:
    """Any phase: a thread per iteration of a parallel loop, otherwise one thread."""
    parallel = len(phase.ops) == 1 and parallel_range(phase.ops[0]) is not None
    return (Points() if parallel else Serial(),)


RUN_PLANNERS: tuple[Planner, ...] = (plan_contraction, plan_chain, plan_together)
"""Tried in order on runs of several phases, the longest run first: a reduction with its users, a row kernel."""

PLANNERS: tuple[Planner, ...] = (
    plan_elementwise,
    plan_contraction,
    plan_chain,
    plan_reduction,
    plan_ext,
    plan_rest,
)
"""Tried in order on each phase; the last one accepts any."""


def plan_kernel(kernel: func.FuncOp, chip: GpuChip, libraries: str, remark: Remark) -> None:
    """Write plans to the operations of a kernel that have none; `remark` is told why products are apart from rows."""
    convert_others(kernel)
    phases = phases_of(kernel)
    if libraries != "always" and _plan_products_of_rows(kernel, phases, chip, remark):
        return
    if _plan_block(kernel, phases, chip):
        return
    while phases:
        count = planned_length(phases)
        if not count:
            # A plan written by hand ends the run of phases that a launch may take.
            free = next((n for n, one in enumerate(phases) if one.written_plan is not None), len(phases))
            count = _plan_run(kernel, phases[:free], chip, libraries)
        del phases[:count]


def _plan_block(kernel: func.FuncOp, phases: Sequence[Phase], chip: GpuChip) -> bool:
    """Plan a kernel with loops around its operations as a whole, if it is one."""
    loops = any(op.regions and not isinstance(op, GenericOp) for phase in phases for op in phase.ops)
    if not loops or any(phase.written_plan is not None for phase in phases):
        return False
    from .block import plan_block

    return bool((plans := plan_block(kernel, phases, chip)) and _write(phases, plans))


def _plan_products_of_rows(kernel: func.FuncOp, phases: Sequence[Phase], chip: GpuChip, remark: Remark) -> bool:
    """Plan a row kernel with products, such as attention, as a whole, if it is one and can be."""
    multiplies = any(CONTRACTION in op.attributes for phase in phases for op in phase.ops)
    given = any(phase.written_plan is not None for phase in phases)
    if not Kernel(kernel).rows or not multiplies or given:
        return False
    from .streamed_rows import streamed_plan

    plan = streamed_plan(joined(kernel, phases), chip)
    if isinstance(plan, str):
        remark(phases[0].anchor, f"the products of these rows are launches of their own: {plan}")
        return False
    return _write(phases, (plan,)) > 0


def _plan_run(kernel: func.FuncOp, phases: Sequence[Phase], chip: GpuChip, libraries: str) -> int:
    """Plan the longest run of leading phases that one launch or call handles as a whole; returns its length."""
    structured = next((n for n, phase in enumerate(phases) if not phase.is_structured), len(phases))
    if libraries != "never":
        from .library import plan_library

        for count in range(structured, 0, -1):
            plans = plan_library(joined(kernel, phases[:count]), chip, always=libraries == "always")
            if plans:
                return _write(phases[:count], plans)
    for count in range(structured, 1, -1):
        whole = joined(kernel, phases[:count])
        for planner in RUN_PLANNERS:
            if plans := planner(whole, chip):
                return _write(phases[:count], plans)
    return _write(phases[:1], next(plans for planner in PLANNERS if (plans := planner(phases[0], chip))))


def _write(run: Sequence[Phase], plans: tuple[Plan, ...]) -> int:
    for number, (phase, plan) in enumerate(zip_longest(run, plans)):
        set_plan(phase.anchor, plan, joins=number > 0)
    return len(run)


@dataclass(frozen=True)
class PlanGpuKernelsPass(GpuPass):
    """
    Write each kernel's mapping to blocks and threads as an attribute; existing plans stay.

    Before: `linalg.generic {..} ins(%a : memref<1000xf32>) outs(%b : memref<1000xf32>) {..}` in a kernel
    After:  `linalg.generic {..} ins(..) outs(..) attrs = {gpu.plan = #gpu.elementwise<width = 4>} {..}`
    Assumes: the output of bufferize; linear indexing maps.
    Leaves: a plan on every operation of a kernel that has an effect, `gpu.joined` on those that share a launch.
    """

    name = "plan-gpu-kernels"
    takes_tensors = False

    libraries: Literal["never", "auto", "always"] = "never"
    """The contractions that become calls of cuBLASLt: none, the large ones, or all that it supports."""

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)

        def remark(op: Operation, text: str) -> None:
            engine.emit(Diagnostic("remark", text, op.location))

        for kernel in list(kernels_of(module)):
            plan_kernel(kernel, self.gpu, self.libraries, remark)
