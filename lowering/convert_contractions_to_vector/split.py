"""
Products of few rows and columns that are summed over many elements: the sum is cut into chunks.

Each chunk is a product of its own, as if of a batch, whose result goes to a scratch buffer; the results are added in
order. The number of chunks depends on the shape only, and so do the bits of the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from ...dialects.support.buffers import memref_type, row_major
from ...dialects.support.scalar import scalar_attr
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder
from ..loop_nests.nest import Access
from .contraction import Contraction, Loop
from .lane_products import LaneProduct
from .vectors import VectorBuilder

FEW_RESULTS = 1 << 15
"""Elements of C up to which a sum is cut: more keep all cores busy, and reuse what is packed."""

MOST_RESULTS = 4
"""Most elements of C for each element along k: with more, C is larger than what the factors have in a chunk."""

CHUNK = 256
"""Least elements of a chunk: its result is written and read once more."""

CHUNKS = 32
"""Most chunks."""


def chunks_of(product: Contraction) -> int:
    """The number of chunks of the loop along k, which divides its size; 1 if the sum stays whole."""
    results = product.m.size * product.n.size * math.prod(loop.size for loop in product.outer)
    if product.outer_k or results > FEW_RESULTS or results > product.k.size * MOST_RESULTS:
        return 1
    size = product.k.size
    return max(count for count in range(1, CHUNKS + 1) if size % count == 0 and (count == 1 or size // count >= CHUNK))


def in_chunks(builder: LoopBuilder, product: Contraction, count: int) -> Contraction:
    """The product whose first loop around is over chunks, into a new scratch buffer `[chunks, .., m, n]`."""
    k = product.k
    size = k.size // count
    sizes = (count, *(loop.size for loop in product.outer), product.m.size, product.n.size)
    strides = row_major(sizes)
    scratch = builder.alloc(memref_type((math.prod(sizes),), product.element))
    chunk = Loop(count, size * k.a, size * k.b, strides[0])
    outer = [replace(loop, c=stride) for loop, stride in zip(product.outer, strides[1:], strict=False)]
    return replace(
        product,
        c=Access(scratch, 0, (), ()),
        k=replace(k, size=size),
        m=replace(product.m, c=strides[-2]),
        n=replace(product.n, c=1),
        outer=(chunk, *outer),
    )


def add_chunks(
    builder: LoopBuilder, product: Contraction | LaneProduct, parts: Contraction | LaneProduct, overwrite: bool
) -> None:
    """Add the chunks' results in order, and to C unless `overwrite`."""
    chunk, *_ = parts.outer
    loops = (*product.outer, product.m)
    sources = (*parts.outer[1:], parts.m)
    columns = product.n.size
    with ExitStack() as nest:
        at = [nest.enter_context(builder.loop(0, loop.size)) for loop in loops]
        target_at = _moved(product.c.offset_at(builder), loops, at)
        target = builder.strided_view(product.c.root, target_at, (columns,), (product.n.c,))
        source_at = _moved(0, sources, at)
        source = builder.strided_view(parts.c.root, source_at, (chunk.size, columns), (chunk.c, 1))
        with builder.loop(0, columns, attributes=PARALLEL) as j:
            total = builder.load(target, [j]) if not overwrite else builder.scalar(scalar_attr(0, product.element))
            with builder.loop(0, chunk.size, carry=[total]) as (number, totals):
                builder.yield_(VectorBuilder(builder).add(totals[0], builder.load(source, [number, j])))
            builder.store(totals[0], target, [j])


def _moved(offset: Index, loops: Sequence[Loop], at: Sequence[Index]) -> Index:
    for loop, index in zip(loops, at, strict=True):
        offset += index * loop.c
    return offset
