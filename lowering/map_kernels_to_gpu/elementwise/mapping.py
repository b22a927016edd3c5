"""
Nests without reduction: each thread takes several vectors of neighbouring elements.

Blocks of the first kind have whole shares of the elements and no condition at all. What is left over, less than one
such share, goes to blocks of the second kind, a thread for each element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ...device.chips import Chip
from ...loop_nests.emission import NestEmitter
from ...loop_nests.loop_builder import Index
from ...loop_nests.nest import Access, Nest
from ..threads.builder import GpuBuilder
from ..threads.items import ItemEmitter, delinearized, run_items
from ..threads.launch import KernelMapper, Launch, Phase
from ..threads.ranges import THREADS
from ..threads.vectors import Kind, VectorPlan, element_bytes, plan_vectors, reads_elements, split_body

IN_FLIGHT = 64
"""
Bytes that a thread asks of memory before it waits. With all threads that a multiprocessor holds these are 128 KB, four
times what must be under way to use the bandwidth (its share of it, 36 GB/s, times 0.8 us) where all inputs are far.
"""

MOST_ITEMS = 4
"""Vectors of each operand in one thread."""

MOST_SCALARS = 8
"""The same where vectors have one element."""

GATHERED_BYTES = 4
"""
Of vectors where some elements are read one by one: neighbouring threads then read neighbouring ones. With wider vectors
they are so far apart that each access takes several passes through the first-level cache.
"""

MOST_OPERATIONS = 96
"""Operations of the bodies of all items of a thread: beyond it, arithmetic hides the loads, and code only grows."""

MOST_WRITTEN_OUT = 512
"""
Operations of the body over all elements of a vector, for each of which it is written out. Where it takes more,
arithmetic keeps a multiprocessor busy with vectors of any width.
"""

WAVES = 2
"""Blocks that each multiprocessor should get at least, before threads get more than one element or vector."""


@dataclass(frozen=True)
class Share:
    """How the elements of a nest are shared out between blocks."""

    plan: VectorPlan
    items: int
    """Vectors of each operand in one thread."""
    along: int | None = None
    """The loop that the vectors of a thread lie along; None: they are THREADS vectors apart."""

    @property
    def total(self) -> int:
        return math.prod(self.plan.nest.sizes)

    @property
    def block(self) -> int:
        """Elements of a block with a whole share."""
        return THREADS * self.items * self.plan.width

    @property
    def blocks(self) -> int:
        """Blocks with whole shares; none where these are an element for each thread."""
        return self.total // self.block if self.block > THREADS else 0

    @property
    def rest(self) -> int:
        """Blocks for what is left over."""
        return -(-(self.total - self.blocks * self.block) // THREADS)


def in_output_order(nest: Nest) -> Nest:
    """Loops of one iteration dropped, the others as the first output lies in memory, and collapsed."""
    nest = nest.without_unit_loops()
    if not nest.sizes:
        return _with_unit_loop(nest)
    strides = nest.outputs[0].strides
    return nest.permuted(sorted(range(len(nest.sizes)), key=lambda l: -abs(strides[l]))).collapsed()


def _with_unit_loop(nest: Nest) -> Nest:
    """A nest without loops as one of a single iteration."""
    inputs = tuple(replace(x, strides=(0,)) if isinstance(x, Access) else x for x in nest.inputs)
    outputs = tuple(replace(x, strides=(0,)) for x in nest.outputs)
    return replace(nest, sizes=(1,), reduction=(False,), inputs=inputs, outputs=outputs)


def share_out(nest: Nest, chip: Chip) -> Share:
    """Wide vectors and several of them in a thread, as far as there is work for all of the chip."""
    total = math.prod(nest.sizes)
    enough = WAVES * chip.multiprocessors * THREADS
    most = 1
    while most < 16 and total >= 2 * most * enough:
        most *= 2
    operations = 1 if nest.body is None else sum(1 for _ in nest.body.walk())
    while most > 1 and most * operations > MOST_WRITTEN_OUT:
        most //= 2
    plan = plan_vectors(nest, most)
    gathered = max(1, GATHERED_BYTES // min(element_bytes(x) for x in nest.outputs))
    if plan.width > gathered and reads_elements(plan):
        plan = plan_vectors(nest, gathered)
    wanted = min(
        MOST_SCALARS if plan.width == 1 else MOST_ITEMS,
        IN_FLIGHT // max(1, plan.bytes_in_flight()),
        MOST_OPERATIONS // operations,
    )
    items = 1
    while 2 * items <= wanted and total >= 2 * items * plan.width * enough:
        items *= 2
    share = Share(plan, items)
    return share if items == 1 or share.rest else replace(share, along=_loop_of_rows(plan, items))


def _still(plan: VectorPlan, loop: int) -> list[int]:
    """The inputs that are vectors, and that a loop does not move."""
    written = {access.root for access in plan.nest.outputs}
    return [
        k
        for k, x in enumerate(plan.nest.inputs)
        if isinstance(x, Access) and plan.inputs[k] is Kind.VECTOR and not x.strides[loop] and x.root not in written
    ]


def _loop_of_rows(plan: VectorPlan, items: int) -> int | None:
    """A loop that does not move some row of an input, so that a thread needs the row's vector once."""
    if plan.crosses:
        return None
    outer = reversed(range(plan.inner))
    return next((l for l in outer if plan.nest.sizes[l] % items == 0 and _still(plan, l)), None)


def map_elementwise(mapper: KernelMapper, phase: Phase) -> bool:
    """Map a phase of one all-parallel nest; whether it is one."""
    if not phase.is_structured or len(phase.structured) != 1 or any(phase.nests()[0].reduction):
        return False
    if 0 in phase.nests()[0].sizes:
        return True
    launch = Launch(mapper, phase)
    share = share_out(in_output_order(launch.phase.nests()[0]), mapper.chip)
    emit_share(launch.builder, share, launch.builder.block_id())
    launch.finish((share.blocks + share.rest, 1, 1), (THREADS, 1, 1))
    return True


def emit_share(builder: GpuBuilder, share: Share, block: Index) -> None:
    """The work of a thread of the block with this number, up to `share.blocks + share.rest`."""
    if not share.rest:
        _emit_vectors(builder, share, block)
    elif not share.blocks:
        _emit_rest(builder, share, block)
    else:
        whole = builder.compare("ult", block, share.blocks)
        builder.choose(
            whole,
            lambda: _emit_vectors(builder, share, block),
            lambda: _emit_rest(builder, share, builder.sub(block, share.blocks)),
        )


def _emit_vectors(builder: GpuBuilder, share: Share, block: Index) -> Sequence[SSAValue]:
    plan = share.plan
    emitter = NestEmitter(builder, plan.nest)
    if not plan.crosses:
        emitter.make_views()
    parts = split_body(plan)
    items = [ItemEmitter(emitter, plan, parts) for _ in range(share.items)]
    if share.along is None:
        first = builder.add(builder.mul(block, THREADS * share.items), builder.thread_id())
        run_items(items, [_indices(builder, plan, builder.add(first, n * THREADS)) for n in range(share.items)])
    else:
        first = builder.add(builder.mul(block, THREADS), builder.thread_id())
        run_items(items, _indices_along(builder, share, share.along, first), _still(plan, share.along))
    return ()


def _indices(builder: GpuBuilder, plan: VectorPlan, item: Index) -> list[Index]:
    """The indices of the first element of the item with this number."""
    if plan.crosses:
        return [builder.mul(item, plan.width)]
    *outer, inner = plan.nest.sizes
    *indices, last = delinearized(builder, item, (*outer, inner // plan.width))
    return [*indices, builder.mul(last, plan.width)]


def _indices_along(builder: GpuBuilder, share: Share, loop: int, number: Index) -> list[list[Index]]:
    """The same for the items of the thread with this number, which follow each other along a loop."""
    box = list(share.plan.nest.sizes)
    box[loop] //= share.items
    box[-1] //= share.plan.width
    *indices, last = delinearized(builder, number, box)
    indices.append(builder.mul(last, share.plan.width))
    begin = builder.mul(indices[loop], share.items)
    return [[*indices[:loop], builder.add(begin, n), *indices[loop + 1 :]] for n in range(share.items)]


def _emit_rest(builder: GpuBuilder, share: Share, block: Index) -> Sequence[SSAValue]:
    """A thread for each element that is left over."""
    nest = share.plan.nest
    number = builder.add(builder.mul(block, THREADS), builder.thread_id())
    number = builder.add(number, share.blocks * share.block)

    def element() -> None:
        emitter = NestEmitter(builder, nest)
        with emitter.scope():
            emitter.indices = list(delinearized(builder, number, nest.sizes))
            emitter.load_ready()
            for k, value in enumerate(emitter.body()):
                emitter.store_output(k, value)

    if (share.total - share.blocks * share.block) % THREADS:
        builder.when(builder.compare("ult", number, share.total), element)
    else:
        element()
    return ()
