"""Plans of nests without reduction: vectors and items per thread, or tiles of transposed inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects import memref

from ...dialects.gpu.plans import Elementwise, NoLaunch, Plan, Transpose
from ..device.gpu import GpuChip
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
"""Nests in one launch: their code is emitted one after the other."""

NARROW_BYTES = 4
"""Accesses of at least this many bytes per lane use whole sectors of memory; wider ones only save instructions."""


IN_FLIGHT = 64
"""
Bytes that a thread requests from memory before it waits. With all threads of a multiprocessor resident these are 128
KB, four times the amount in flight that saturates its bandwidth (its share, 36 GB/s, times 0.8 us) if all inputs are
in DRAM.
"""

MOST_ITEMS = 4
"""Vectors of each operand per thread."""

MOST_SCALARS = 8
"""The same if vectors have one element."""

GATHERED_BYTES = 4
"""
Bytes of vectors with elements that are read one by one, so that neighbouring threads read neighbouring elements. Wider
vectors are so far apart that each access takes several passes through the first-level cache.
"""

MOST_OPERATIONS = 96
"""Operations of a thread over all its items: beyond it, arithmetic hides the loads and only code size grows."""

MOST_WRITTEN_OUT = 512
"""
Operations of the body over all elements of a vector, for each of which it is unrolled. Larger bodies keep a
multiprocessor busy with vectors of any width.
"""

WAVES = 2
"""Minimum number of blocks per multiprocessor before threads get more than one element or vector."""


SIDES = (64, 32)
"""
Sides of square tiles, in elements: lines of 128 bytes or more for most types, 16 elements per thread. If a loop is
shorter than that, tiles are narrower along it and longer along the other.
"""

MOST_SHARED = 24 * 1024
"""Bytes of tiles: with more, a multiprocessor of most chips cannot hold its maximum number of threads."""

SHORTEST_INNER = 16
"""Minimum length of the output's lines for tiles: with shorter ones, a warp's accesses are close together anyway."""

SHORTEST_OTHER = 2
"""The same for the input's lines: small, as without tiles other blocks would read the same sectors again."""

SMALLEST = 1024
"""Minimum elements of a tile for a block."""


def plan_elementwise(phase: Phase, chip: GpuChip) -> tuple[Plan, ...]:
    """The plan of a phase of one nest without reduction; none for any other phase."""
    if not phase.is_structured or len(phase.structured) != 1 or any(phase.nests()[0].reduction):
        return ()
    (nest,) = phase.nests()
    if 0 in nest.sizes:
        return (NoLaunch(),)
    nest = in_output_order(nest)
    return (plan_tiles(nest, chip) or share_out(nest, chip),)


def plan_together(phase: Phase, chip: GpuChip) -> tuple[Plan, ...]:
    """Plans for independent nests in one launch, such as the parts of a concatenation; none for any other phase."""
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


def share_out(nest: Nest, chip: GpuChip) -> Elementwise:
    """Wide vectors, and several of them per thread, as long as there is work for the whole chip."""
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
    """A loop that does not move some vector input, so that a thread loads that input's vector once."""
    vectors, items = share.vectors, share.plan.items
    if vectors.crosses:
        return None
    outer = reversed(range(vectors.inner))
    return next((l for l in outer if vectors.nest.sizes[l] % items == 0 and share.still(l)), None)


def _widest_vectors(nest: Nest, most: int) -> VectorPlan:
    """
    The widest vectors, up to `most` elements, in which all outputs can be stored. The nest has a loop.

    Vectors stay within rows if rows divide into wide ones; otherwise they cross rows if all outputs are contiguous.
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
    Whether unaligned neighbouring elements, or elements at computed indices, are read one by one.

    Rows and columns do not count, because they stay in caches.
    """
    for x, kind in zip(plan.nest.inputs, plan.inputs, strict=True):
        if isinstance(x, Access) and kind is Kind.SCALAR and abs(x.strides[-1]) == 1 and all(x.strides):
            return True
    return any(isinstance(op, memref.LoadOp) for op in split_body(plan).varying)


def _transposed(nest: Nest) -> tuple[int, list[int]]:
    """The loop along which most inputs that are strided along the last loop are contiguous, and these inputs."""
    inner = len(nest.sizes) - 1
    found: dict[int, list[int]] = {}
    for k in range(len(nest.inputs)):
        for loop in range(inner):
            if nest.sizes[loop] >= SHORTEST_OTHER and lies_across(nest, k, loop):
                found.setdefault(loop, []).append(k)
    other = max(found, key=lambda loop: len(found[loop]), default=0)
    return other, found.get(other, [])


def _fitting(nest: Nest, staged: Sequence[int], sides: tuple[int, int]) -> tuple[int, ...]:
    """The inputs whose tiles fit into shared memory, in order."""
    chosen: list[int] = []
    used = 0
    for k in staged:
        used += tile_bytes(cast(Access, nest.inputs[k]), sides)
        if used <= MOST_SHARED:
            chosen.append(k)
    return tuple(chosen)


def plan_tiles(nest: Nest, chip: GpuChip) -> Transpose | None:
    """The tiles of a nest in the output's order; None if its operands have the same order in memory."""
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
    """The sides of tiles of about `side` squared elements for loops of these sizes, powers of two."""
    along = [_cover(size, side) for size in (other, inner)]
    narrow = min(along)
    if narrow < side:
        long = min(TILE_THREADS, side * side // narrow)
        along = [narrow if x == narrow else _cover(size, long) for x, size in zip(along, (other, inner), strict=True)]
    return along[0], along[1]


def _cover(size: int, most: int) -> int:
    """The least power of two that is at least `size`, up to `most`."""
    return min(most, 1 << (size - 1).bit_length())
