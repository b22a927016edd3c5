"""Plans for kernels with loops around their operations, which blocks run: recurrences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.gpu.functions import WORKGROUP_ALIGNMENT
from ...dialects.gpu.plans import Block, Plan
from ...dialects.support.buffers import Buffer
from ...dialects.support.kernel import CONTRACTION, TRIP_COUNT
from ..convert_linalg_to_scf.conversion import Structured
from ..device.gpu import GpuChip
from ..loop_nests.cost import body_cost
from ..map_kernels_to_gpu.block.buffers import Buffers
from ..map_kernels_to_gpu.block.mapping import holds_operations, refusal
from ..map_kernels_to_gpu.block.sequence import STRUCTURED, accesses
from ..map_kernels_to_gpu.block.shares import MOST_THREADS, Share, share_of
from ..map_kernels_to_gpu.threads.phases import Phase

LATENCY_NS = 5
"""Nanoseconds of an element of a reduction in one thread, whose reads wait for each other only in part."""

TURN_NS = 150
"""Nanoseconds of reads and writes of a thread that wait for each other."""

ASSUMED = 16
"""The iterations of a loop that does not say how many it makes."""


def plan_block(kernel: func.FuncOp, phases: Sequence[Phase], chip: GpuChip) -> tuple[Plan, ...]:
    """The plan of a kernel with operations inside of loops; none for any other."""
    ops = tuple(op for phase in phases for op in phase.ops)
    if not any(map(holds_operations, ops)) or refusal(ops) is not None:
        return ()
    shares = [(op, share_of(op, chip.warp)) for top in ops for op in top.walk() if isinstance(op, STRUCTURED)]
    widest = max((share.threads for _, share in shares), default=1)
    threads = min(-(-widest // chip.warp) * chip.warp, MOST_THREADS)
    return (Block(threads, tuple(sorted(_shared(Buffers.of(kernel, chip.warp), ops, chip)))),)


def _shared(buffers: Buffers, ops: Sequence[Operation], chip: GpuChip) -> Iterator[int]:
    """The buffers in shared memory: those whose elements are used most often, as far as they fit."""
    reads: dict[SSAValue, float] = {}
    for op, times in _structured(ops):
        share = share_of(op, chip.warp)
        again = max(share.tile) / math.prod(share.tile)
        for root, _ in accesses(op):
            reads[root] = reads.get(root, 0) + times * share.results * share.reduced * again
    room = chip.shared_per_block

    def often(number: int) -> float:
        buffer = buffers.all[number]
        return reads.get(buffer, 0) / max(math.prod(cast(Buffer, buffer.type).get_shape()), 1)

    for number in sorted(range(len(buffers.all)), key=lambda each: -often(each)):
        size = -(-buffers.bytes_of(number) // WORKGROUP_ALIGNMENT) * WORKGROUP_ALIGNMENT
        if number < buffers.parameters and often(number) < 2:
            continue
        if buffers.can_be_shared(number) and 0 < size <= room:
            room -= size
            yield number


@dataclass(frozen=True)
class Estimate:
    """Nanoseconds of operations, as launches of their own and by one block."""

    launches: float
    block: float


def estimate(ops: Sequence[Operation], chip: GpuChip, blocks: int = 1) -> Estimate:
    """The costs of operations with the loops around them; `blocks`: those among which a launch is divided."""
    apart = together = 0.0
    waves = math.ceil(blocks / chip.multiprocessors)
    for op, times in _structured(ops):
        share = share_of(op, chip.warp)
        work = _work_ns(share, chip)
        alone = share.results == share.reduced == 1
        apart += times * (chip.launch_ns + work * blocks / chip.multiprocessors)
        together += times * waves * (0 if alone else chip.barrier_ns + max(work, _latency(share)))
    return Estimate(apart, together)


def _work_ns(share: Share, chip: GpuChip) -> float:
    """Nanoseconds of all iterations on one multiprocessor."""
    points, arithmetic = share.results * share.reduced, body_cost(share.nest) - len(share.nest.accesses)
    fused = CONTRACTION in share.nest.op.attributes
    loads = max(share.loads_of_a_tile, 1) / math.prod(share.tile)
    return points * max(loads / chip.loads_per_ns, arithmetic / (2 if fused else 1) / chip.operations_per_ns)


def _latency(share: Share) -> float:
    """Nanoseconds of the results of a thread, one after the other."""
    turns = math.ceil(share.threads / MOST_THREADS)
    return turns * (TURN_NS + LATENCY_NS * share.reduced / share.lanes * max(share.tile))


def _structured(ops: Sequence[Operation], times: float = 1) -> Iterator[tuple[Structured, float]]:
    """The operations with how often they run. The condition of a loop of known length is free in the host program."""
    for op in ops:
        if isinstance(op, STRUCTURED):
            yield op, times
            continue
        inside = times
        if isinstance(op, scf.WhileOp):
            count = op.attributes.get(TRIP_COUNT)
            inside = times * (count.value.data if isinstance(count, IntegerAttr) else ASSUMED)
        for region in op.regions:
            known = TRIP_COUNT in op.attributes and region is op.regions[0]
            for block in region.blocks:
                yield from _structured(list(block.ops), 0 if known else inside)
