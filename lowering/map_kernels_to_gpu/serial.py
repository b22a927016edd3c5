"""What has no mapping of its own: parallel loops over threads, all else in one thread."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from ..convert_linalg_to_scf.conversion import convert_nests
from ..loop_nests.loop_builder import Index, known
from .threads.launch import Dims, KernelMapper, Launch, Phase
from .threads.ranges import THREADS, over_threads


def map_serially(mapper: KernelMapper, phase: Phase) -> bool:
    """Map any phase: one scf.parallel becomes threads, anything else runs in one thread."""
    launch = Launch(mapper, phase)
    if len(launch.copies) == 1 and isinstance(launch.copies[0], scf.ParallelOp):
        grid = _map_parallel(launch, launch.copies[0])
        if grid is not None:
            launch.finish(grid, (THREADS, 1, 1))
            return True
    for op in launch.copies:
        _loops_for_parallel(launch, op)
    structured = launch.phase.structured
    if structured:
        convert_nests(launch.builder, structured, launch.phase.absorbed)
    launch.finish((1, 1, 1), (1, 1, 1))
    return True


def _map_parallel(launch: Launch, op: scf.ParallelOp) -> Dims | None:
    """A thread for each iteration; None where the number of iterations is not known."""
    lower, upper, step = (known(bounds[0]) for bounds in (op.lowerBound, op.upperBound, op.step))
    if len(op.lowerBound) != 1 or not (isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int)):
        return None
    builder = launch.builder
    start, stride = lower, step
    count = max(0, -(-(upper - lower) // step))

    def iteration(indices: list[Index]) -> None:
        index = builder.add(start, builder.mul(indices[0], stride))
        body = op.body.block
        mapping: dict[SSAValue, SSAValue] = {body.args[0]: builder.index(index)}
        for inner in body.ops:
            if inner is not body.last_op:
                copy = inner.clone(mapping)
                copy.location = inner.location
                mapping.update(zip(inner.results, copy.results, strict=True))
                builder.insert(copy)
                _loops_for_parallel(launch, copy)

    grid = over_threads(builder, (count,), iteration)
    op.detach()
    op.erase()
    return grid


def _loops_for_parallel(launch: Launch, op: Operation) -> None:
    """Parallel loops inside of `op` become serial ones: a thread runs them by itself."""
    for inner in list(op.walk()):
        if isinstance(inner, scf.ParallelOp):
            _serial(inner)


def _serial(op: scf.ParallelOp) -> None:
    block = op.body.block
    last = block.last_op
    assert last is not None and op.parent is not None
    last.detach()
    last.erase()
    block.add_op(scf.YieldOp())
    region = op.detach_region(op.body)
    loop = scf.ForOp.create(
        operands=[op.lowerBound[0], op.upperBound[0], op.step[0]],
        regions=[region],
        attributes={},
    )
    loop.location = op.location
    op.parent.insert_op_before(loop, op)
    op.detach()
    op.erase()
