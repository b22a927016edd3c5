"""Plans of nests without reduction: vectors and items of a thread, or tiles of inputs that lie across."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects import memref

from ...dialects.gpu.plans import Elementwise, NoLaunch, Plan, Transpose
from ..device.chips import Chip
from ..loop_nests.nest import Access, Nest
from ..map_kernels_to_gpu.elementwise.independence import are_independent
from ..map_kernels_to_gpu.elementwise.mapping import Share, in_output_order
from ..map_kernels_to_gpu.elementwise.transpose import BANK, lies_across, tile_bytes, tiles_of
from ..map_kernels_to_gpu.threads.phases import Phase
from ..map_kernels_to_gpu.threads.vectors import (
    Kind,
    VectorPlan,
    element_bytes,
    split_body,
    vectors_of,
    widest,
)

THREADS = 256
"""Threads of a block."""

TILE_THREADS = 256
"""Threads of a block that transposes a tile."""

MOST_TOGETHER = 16
"""Nests of one launch: their code stands one after the other."""

NARROW_BYTES = 4
"""Accesses of at least so many bytes by each lane move whole sectors of memory; wider ones save instructions only."""


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


SIDES = (64, 32)
"""
Of square tiles, in elements: lines of 128 bytes or more of most types, 16 elements for each thread. Where a loop is
shorter than that, tiles are as narrow as it and longer along the other.
"""

MOST_SHARED = 24 * 1024
"""Bytes of tiles: with more, fewer than all of a multiprocessor's threads run on most chips."""

SHORTEST_INNER = 16
"""Elements of the output's lines that make tiles worth it: beside shorter ones, the accesses of a warp lie together."""

SHORTEST_OTHER = 2
"""The same of the input's lines: blocks of other lines of the output would read the same sectors again."""

SMALLEST = 1024
"""Elements of a tile that are worth a block."""


def plan_elementwise(phase: Phase, chip: Chip) -> tuple[Plan, ...]:
    """The plan of a phase of one nest without reduction; none where it is something else."""
    if not phase.is_structured or len(phase.structured) != 1 or any(phase.nests()[0].reduction):
        return ()
    (nest,) = phase.nests()
    if 0 in nest.sizes:
        return (NoLaunch(),)
    nest = in_output_order(nest)
    return (plan_tiles(nest, chip) or share_out(nest, chip),)


def plan_together(phase: Phase, chip: Chip) -> tuple[Plan, ...]:
    """Plans for the parts of a concatenation and the like, which run in one launch; none where a phase is no such."""
    ops = phase.structured
    if not 2 <= len(ops) <= MOST_TOGETHER or len(ops) != len(phase.ops) or not are_independent(ops):
        return ()
    nests = phase.nests()
    if any(any(nest.reduction) or 0 in nest.sizes for nest in nests):
        return ()
    nests = [in_output_order(nest) for nest in nests]
    if any(plan_tiles(nest, chip) is not None for nest in nests):
        return ()
    return tuple(share_out(nest, chip) for nest in nests)


def share_out(nest: Nest, chip: Chip) -> Elementwise:
    """Wide vectors and several of them in a thread, as far as there is work for all of the chip."""
    total = math.prod(nest.sizes)
    enough = WAVES * chip.multiprocessors * THREADS
    most = 1
    while most < 16 and total >= 2 * most * enough:
        most *= 2
    operations = 1 if nest.body is None else sum(1 for _ in nest.body.walk())
    while most > 1 and most * operations > MOST_WRITTEN_OUT:
        most //= 2
    vectors = _widest_vectors(nest, most)
    gathered = max(1, GATHERED_BYTES // min(element_bytes(x) for x in nest.outputs))
    if vectors.width > gathered and _reads_elements(vectors):
        vectors = _widest_vectors(nest, gathered)
    wanted = min(
        MOST_SCALARS if vectors.width == 1 else MOST_ITEMS,
        IN_FLIGHT // max(1, vectors.bytes_in_flight()),
        MOST_OPERATIONS // operations,
    )
    items = 1
    while 2 * items <= wanted and total >= 2 * items * vectors.width * enough:
        items *= 2
    plan = Elementwise(vectors.width, items, crosses=vectors.crosses, threads=THREADS)
    share = Share(vectors, plan)
    return plan if items == 1 or share.rest else replace(plan, along=_loop_of_rows(share))


def _loop_of_rows(share: Share) -> int | None:
    """A loop that does not move some row of an input, so that a thread needs the row's vector once."""
    vectors, items = share.vectors, share.plan.items
    if vectors.crosses:
        return None
    outer = reversed(range(vectors.inner))
    return next((l for l in outer if vectors.nest.sizes[l] % items == 0 and share.still(l)), None)


def _widest_vectors(nest: Nest, most: int) -> VectorPlan:
    """
    The widest vectors, up to `most` elements, in which all outputs can be stored. The nest has a loop.

    Vectors lie within rows where rows divide into wide ones, and cross rows otherwise where all outputs are one range.
    """
    size, rank = nest.sizes[-1], len(nest.sizes)
    wanted = min(widest(nest), most)
    best = vectors_of(nest, 1, False)
    width = wanted
    while width > 1:
        if rank == 1 or size % width == 0:
            plan = vectors_of(nest, width, False)
            if plan.stores_vectors:
                best = plan
                break
        width //= 2
    narrowest = min(element_bytes(x) for x in nest.outputs)
    if best.width < wanted and (best.width == 1 or best.width * narrowest < NARROW_BYTES):
        crossing = vectors_of(nest, wanted, True)
        if crossing.stores_vectors:
            return crossing
    return best


def _reads_elements(plan: VectorPlan) -> bool:
    """
    Whether neighbouring elements that are not aligned are read one by one, or what the body computes the place of.

    Rows and columns, which stay in caches, do not count.
    """
    for x, kind in zip(plan.nest.inputs, plan.inputs, strict=True):
        if isinstance(x, Access) and kind is Kind.SCALAR and abs(x.strides[-1]) == 1 and all(x.strides):
            return True
    return any(isinstance(op, memref.LoadOp) for op in split_body(plan).varying)


def _transposed(nest: Nest) -> tuple[int, list[int]]:
    """The loop along which most inputs are contiguous that the last loop strides through, and these inputs."""
    inner = len(nest.sizes) - 1
    found: dict[int, list[int]] = {}
    for k in range(len(nest.inputs)):
        for loop in range(inner):
            if nest.sizes[loop] >= SHORTEST_OTHER and lies_across(nest, k, loop):
                found.setdefault(loop, []).append(k)
    other = max(found, key=lambda loop: len(found[loop]), default=0)
    return other, found.get(other, [])


def _fitting(nest: Nest, staged: Sequence[int], sides: tuple[int, int]) -> tuple[int, ...]:
    """As many of the inputs as have room in shared memory."""
    chosen: list[int] = []
    used = 0
    for k in staged:
        used += tile_bytes(cast(Access, nest.inputs[k]), sides)
        if used <= MOST_SHARED:
            chosen.append(k)
    return tuple(chosen)


def plan_tiles(nest: Nest, chip: Chip) -> Transpose | None:
    """The tiles of a nest in the output's order; None where its operands agree on how they lie."""
    inner = len(nest.sizes) - 1
    if inner == 0 or nest.sizes[inner] < SHORTEST_INNER or any(x.strides[inner] != 1 for x in nest.outputs):
        return None
    other, staged = _transposed(nest)
    if not staged or nest.sizes[other] * nest.sizes[inner] < SMALLEST:
        return None
    large = _plan_side(nest, other, staged, SIDES[0])
    narrow = all(element_bytes(cast(Access, nest.inputs[k])) <= BANK for k in staged)
    if narrow and len(large.inputs) == len(staged) and tiles_of(nest, large).blocks >= chip.multiprocessors:
        return large
    return _plan_side(nest, other, staged, SIDES[-1])


def _plan_side(nest: Nest, other: int, staged: Sequence[int], side: int) -> Transpose:
    sides = _sides(nest.sizes[other], nest.sizes[-1], side)
    return Transpose(sides, other, _fitting(nest, staged, sides), TILE_THREADS)


def _sides(other: int, inner: int, side: int) -> tuple[int, int]:
    """The sides of tiles of `side` squared elements or so for loops of these sizes, powers of two."""
    along = [_cover(size, side) for size in (other, inner)]
    narrow = min(along)
    if narrow < side:
        long = min(TILE_THREADS, side * side // narrow)
        along = [narrow if x == narrow else _cover(size, long) for x, size in zip(along, (other, inner), strict=True)]
    return along[0], along[1]


def _cover(size: int, most: int) -> int:
    """The least power of two that is not below `size`, up to `most`."""
    return min(most, 1 << (size - 1).bit_length())
