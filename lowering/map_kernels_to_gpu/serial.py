"""Host-level loops: parallel loops over threads, anything else in one thread."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from ...dialects.linalg_ext.base import DestinationOp
from ...dialects.support.editing import erase_op
from ..convert_linalg_to_scf.conversion import convert_nests
from ..loop_nests.kernel_builder import known_number
from .threads.launch import KernelMapper, Launch
from .threads.phases import Phase
from .threads.ranges import blocks_over, over_threads


def map_serially(mapper: KernelMapper, phase: Phase) -> None:
    """Run any phase in one thread."""
    indexing = any(isinstance(op, DestinationOp) for op in phase.ops)
    phase.require(not indexing, "sorts, scans and scatters have plans of their own")
    launch = Launch(mapper, phase)
    for op in launch.copies:
        _loops_for_parallel(op)
    structured = launch.phase.structured
    if structured:
        convert_nests(launch.builder, structured, launch.phase.absorbed)
    launch.finish(1, 1)


def parallel_range(op: Operation) -> range | None:
    """The iterations of a parallel loop; None if their number is unknown, or there are several dimensions."""
    if not isinstance(op, scf.ParallelOp) or len(op.lowerBound) != 1:
        return None
    lower, upper, step = (known_number(bounds[0]) for bounds in (op.lowerBound, op.upperBound, op.step))
    return None if lower is None or upper is None or step is None else range(lower, upper, step)


def map_parallel_loop(mapper: KernelMapper, phase: Phase, threads: int) -> None:
    """Map with one thread per iteration of a parallel loop."""
    launch = Launch(mapper, phase)
    op, builder = launch.copies[0], launch.builder
    iterations = parallel_range(op)
    assert isinstance(op, scf.ParallelOp) and iterations is not None
    box = (len(iterations),)
    with over_threads(builder, box, threads) as (number,):
        body, index = op.body.block, iterations.start + number * iterations.step
        mapping: dict[SSAValue, SSAValue] = {body.args[0]: builder.index(index).value}
        for inner in body.ops:
            if inner is not body.last_op:
                copy = inner.clone(mapping)
                copy.location = inner.location
                mapping.update(zip(inner.results, copy.results, strict=True))
                builder.insert(copy)
                _loops_for_parallel(copy)
    erase_op(op)
    launch.finish(blocks_over(box, threads), threads)


def _loops_for_parallel(op: Operation) -> None:
    """Make parallel loops inside `op` serial: one thread runs all of their iterations."""
    for inner in list(op.walk()):
        if isinstance(inner, scf.ParallelOp):
            _serial(inner)


def _serial(op: scf.ParallelOp) -> None:
    block = op.body.block
    last = block.last_op
    assert last is not None and op.parent is not None
    erase_op(last)
    block.add_op(scf.YieldOp())
    region = op.detach_region(op.body)
    loop = scf.ForOp.create(
        operands=[op.lowerBound[0], op.upperBound[0], op.step[0]],
        regions=[region],
        attributes={},
    )
    loop.location = op.location
    op.parent.insert_op_before(loop, op)
    erase_op(op)
