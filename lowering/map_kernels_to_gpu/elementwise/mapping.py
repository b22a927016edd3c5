"""
Nests without reduction: each thread takes several vectors of neighbouring elements.

Blocks of the first kind have full shares of the elements and no bounds checks. The remainder, less than one share, goes
to blocks of the second kind, with a thread per element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....dialects.gpu.plans import Elementwise
from ...loop_nests.emission import NestEmitter
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ...loop_nests.nest import Access, Nest
from ..threads.builder import GpuBuilder
from ..threads.items import ItemEmitter, run_items
from ..threads.launch import KernelMapper, Launch
from ..threads.phases import Phase
from ..threads.ranges import ceil_div
from ..threads.vectors import VECTOR_BYTES, Kind, VectorPlan, split_body, vectors_of, widest
from .independence import are_independent


@dataclass(frozen=True)
class Share:
    """How the elements of a nest are divided among blocks."""

    vectors: VectorPlan
    plan: Elementwise

    @property
    def total(self) -> int:
        return math.prod(self.vectors.nest.sizes)

    @property
    def block(self) -> int:
        """Elements of a block with a full share."""
        return self.plan.threads * self.plan.items * self.plan.width

    @property
    def blocks(self) -> int:
        """Number of blocks with full shares; none if these would be one element per thread."""
        return self.total // self.block if self.block > self.plan.threads else 0

    @property
    def rest(self) -> int:
        """Number of blocks for the remainder."""
        return ceil_div(self.total - self.blocks * self.block, self.plan.threads)

    def still(self, loop: int) -> list[int]:
        """The vector inputs that a given loop does not move."""
        nest, kinds = self.vectors.nest, self.vectors.inputs
        written = {access.root for access in nest.outputs}
        return [
            k
            for k, x in enumerate(nest.inputs)
            if isinstance(x, Access) and kinds[k] is Kind.VECTOR and not x.strides[loop] and x.root not in written
        ]


def in_output_order(nest: Nest) -> Nest:
    """Drop loops of one iteration, order the others as the first output lies in memory, and collapse them."""
    nest = nest.without_unit_loops()
    if not nest.sizes:
        return _with_unit_loop(nest)
    strides = nest.outputs[0].strides
    return nest.permuted(sorted(range(len(nest.sizes)), key=lambda l: -abs(strides[l]))).collapsed()


def _with_unit_loop(nest: Nest) -> Nest:
    """A nest without loops, as a loop of a single iteration."""
    inputs = tuple(replace(x, strides=(0,)) if isinstance(x, Access) else x for x in nest.inputs)
    outputs = tuple(replace(x, strides=(0,)) for x in nest.outputs)
    return replace(nest, sizes=(1,), reduction=(False,), inputs=inputs, outputs=outputs)


def map_elementwise(mapper: KernelMapper, phase: Phase) -> None:
    """Map independent nests without reduction to one launch, in which each has its own blocks."""
    ops = phase.structured
    for op, nest in zip(ops, phase.nests(), strict=True):
        phase.require(not any(nest.reduction), f"{op.name} reduces")
    phase.require(len(ops) == len(phase.ops) == len(phase.plans), "each joined operation has an #gpu.elementwise")
    phase.require(are_independent(ops), "joined operations depend on each other")
    launch = Launch(mapper, phase)
    shares: list[Share] = []
    for nest, plan in zip(launch.phase.nests(), phase.plans, strict=True):
        if not isinstance(plan, Elementwise) or plan.threads != phase.plans[0].block:
            phase.require(False, "operations of one launch have the same kind of plan and the same threads")
            continue
        nest = in_output_order(nest)
        shares.append(Share(vectors_of(nest, plan.width, plan.crosses), plan))
        _check(phase, shares[-1])
    _emit_shares(launch.builder, shares, launch.builder.block_id())
    launch.finish(sum(share.blocks + share.rest for share in shares), shares[0].plan.threads)


def _check(phase: Phase, share: Share) -> None:
    """Raises DiagnosticError if vectors are not aligned, or rows are not a multiple of them."""
    vectors, nest, plan = share.vectors, share.vectors.nest, share.plan
    size, most = nest.sizes[-1], widest(nest)
    phase.require(plan.width <= most, f"an access moves {VECTOR_BYTES} bytes, {most} elements here")
    whole = plan.crosses or len(nest.sizes) == 1 or size % plan.width == 0
    phase.require(whole, f"rows of {size} elements do not divide into vectors of {plan.width}")
    aligned = vectors.stores_vectors
    phase.require(aligned, f"an output is not contiguous and aligned to vectors of {plan.width} elements")
    if plan.along is not None:
        inner = not plan.crosses and plan.along < vectors.inner
        divides = inner and nest.sizes[plan.along] % plan.items == 0 and share.rest == 0
        phase.require(divides, f"loop {plan.along} of {nest.sizes} does not divide into items of a thread")


def _emit_shares(builder: GpuBuilder, shares: Sequence[Share], block: Index) -> None:
    """Assign the first blocks to the first nest, and so on."""
    first, *others = shares
    if not others:
        _emit_share(builder, first, block)
        return
    count = first.blocks + first.rest
    with builder.when(builder.index(block).below(count)):
        _emit_share(builder, first, block)
    with builder.otherwise():
        _emit_shares(builder, others, block - count)


def _emit_share(builder: GpuBuilder, share: Share, block: Index) -> None:
    """Emit the work of a thread in the block with this number, below `share.blocks + share.rest`."""
    if not share.rest:
        _emit_vectors(builder, share, block)
    elif not share.blocks:
        _emit_rest(builder, share, block)
    else:
        with builder.when(builder.index(block).below(share.blocks)):
            _emit_vectors(builder, share, block)
        with builder.otherwise():
            _emit_rest(builder, share, block - share.blocks)


def _emit_vectors(builder: GpuBuilder, share: Share, block: Index) -> None:
    vectors, plan = share.vectors, share.plan
    emitter = NestEmitter(builder, vectors.nest)
    if not plan.crosses:
        emitter.make_views()
    parts = split_body(vectors)
    items = [ItemEmitter(emitter, vectors, parts) for _ in range(plan.items)]
    if plan.along is None:
        first = block * (plan.threads * plan.items) + builder.thread_id()
        numbers = [first + n * plan.threads for n in range(plan.items)]
        run_items(items, [_indices(vectors, number) for number in numbers])
    else:
        first = block * plan.threads + builder.thread_id()
        run_items(items, _indices_along(share, plan.along, first), share.still(plan.along))


def _indices(plan: VectorPlan, item: Index) -> list[Index]:
    """The indices of the first element of the item with this number."""
    if plan.crosses:
        return [item * plan.width]
    *outer, inner = plan.nest.sizes
    *indices, last = delinearized(item, (*outer, inner // plan.width))
    return [*indices, last * plan.width]


def _indices_along(share: Share, loop: int, number: Index) -> list[list[Index]]:
    """The same for the items of a thread that are consecutive along a loop."""
    plan, box = share.plan, list(share.vectors.nest.sizes)
    box[loop] //= plan.items
    box[-1] //= plan.width
    *indices, last = delinearized(number, box)
    indices.append(last * plan.width)
    begin = indices[loop] * plan.items
    return [[*indices[:loop], begin + n, *indices[loop + 1 :]] for n in range(plan.items)]


def _emit_rest(builder: GpuBuilder, share: Share, block: Index) -> None:
    """One thread per remaining element."""
    nest, threads = share.vectors.nest, share.plan.threads
    number = block * threads + builder.thread_id()
    number += share.blocks * share.block

    emitter = NestEmitter(builder, nest)
    ragged = (share.total - share.blocks * share.block) % threads != 0
    with builder.when_below(number, share.total, ragged):
        emitter.indices = list(delinearized(number, nest.sizes))
        emitter.load_ready()
        for k, value in enumerate(emitter.body()):
            emitter.store_output(k, value)
