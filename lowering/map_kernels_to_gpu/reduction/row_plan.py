"""How the rows of a chain are shared out between blocks and threads: widths, counts, what stays in registers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....dialects.build.llvm_layout import byte_width
from ...device.chips import MAX_BLOCK_THREADS, WARP, Chip
from ...loop_nests.loop_builder import buffer_of
from ..threads.vectors import VECTOR_BYTES, element_bytes
from .chain import Chain, Link, elements_of, is_aligned
from .emission import Key, uses_by_pass

BLOCK = 256
"""Threads of a block that has several rows."""

SPLIT_BLOCK = 512
"""Threads of a block that has a part of a row: four of them fill a multiprocessor."""

KEPT_WORDS = 32
"""Registers of a thread for its part of a row: with what else it needs, 1024 threads have them."""

STREAMED = 8
"""Vectors of a row that one thread should read at least, before more threads share the row."""

FILLING = 1024
"""Threads of a multiprocessor that keep its memory accesses going."""

SPLIT_BYTES = 1 << 18
"""Bytes of a row from which several blocks share it, where there are few rows: 3 us of one multiprocessor."""

FLIGHT_BYTES = 64
"""What a thread should have on its way from memory at a time: 2048 of them, more than enough for a multiprocessor."""

PARTIAL_WORDS = 16
"""Registers of a thread for partial results."""

LINE_BYTES = 128
"""What the first-level cache looks up at once."""

WIDEST = 16
"""Elements of a vector at most."""

LEAST_SHARE = 4
"""Operands of fewer elements than a quarter of the largest one have no say in how wide vectors are."""


def ceil_div(count: int, size: int) -> int:
    """How many parts of `size` hold `count`."""
    return -(-count // size)


@dataclass(frozen=True)
class RowPlan:
    """
    Thread t of the `threads` of a row has the vectors t, t + threads, t + 2 threads, .. of it.

    With `parts` > 1, the vectors are cut into that many ranges of `part`, one for each block.
    """

    width: int
    """Elements of a vector."""
    vectors: int
    """Whole vectors of a row."""
    tail: int
    """Elements after them."""
    threads: int
    rows_per_block: int
    kept: tuple[Key, ...]
    """Values that stay in registers from one pass over the row to the next."""
    unroll: int
    """Vectors that a thread reads before it goes on to combine them; with `kept` values, all."""
    parts: int = 1
    part: int = 0
    partials: int = 1
    """Vectors of partial results that a thread has of each reduction; those that it reads together share them."""

    @property
    def block(self) -> int:
        return self.threads * self.rows_per_block

    @property
    def chunks(self) -> int:
        """Vectors of one thread, at most."""
        return ceil_div(self.vectors, self.threads)


def vector_width(chain: Chain, loop: int, may_end_early: bool) -> int:
    """
    Elements along a loop that one thread takes together: as wide as memory can be accessed at once.

    `may_end_early`: the loop's size need not be a multiple.
    """
    size = (*chain.rows, *chain.space)[loop]
    accesses = chain.wide_accesses()
    most = max((elements_of(chain, x) for x in accesses), default=0)
    main = [x for x in accesses if x.strides[loop] == 1 and elements_of(chain, x) * LEAST_SHARE >= most]
    if not main:
        return 1
    width = min(WIDEST, VECTOR_BYTES // max(element_bytes(x) for x in main))
    while width > 1 and width * partial_words(chain) > 2 * PARTIAL_WORDS:
        width //= 2
    while width > 1:
        fits = size >= width if may_end_early else size % width == 0
        if fits and all(is_aligned(x, loop, width) for x in main):
            return width
        width //= 2
    return 1


def _words(chain: Chain, key: Key) -> int:
    root = chain.steps[key.step].nest.outputs[key.output].root if isinstance(key, Link) else key[0]
    return max(1, byte_width(buffer_of(root).element_type) // 4)


def kept_words(chain: Chain) -> tuple[tuple[Key, ...], int]:
    """What several passes need, and how many registers an element of a row has of it at most at a time."""
    uses = {key: passes for key, passes in uses_by_pass(chain).items() if len(passes) > 1}
    most = max(
        (
            sum(_words(chain, key) for key, passes in uses.items() if passes[0] <= at < passes[-1])
            for at in range(chain.levels + 1)
        ),
        default=0,
    )
    return tuple(uses), most


def _threads(vectors: int, rows: int, most: int, fill: int, vector_bytes: int) -> int:
    """
    Threads of a row: none has more than `most` vectors, and together the rows fill the chip, if they can.

    They read whole lines side by side, where the row has so much.
    """
    threads = min(WARP, max(1, LINE_BYTES // vector_bytes), 1 << (max(1, vectors).bit_length() - 1))
    while threads < MAX_BLOCK_THREADS and ceil_div(vectors, threads) > most:
        threads *= 2
    while threads < MAX_BLOCK_THREADS and vectors > threads and rows * threads < fill:
        threads *= 2
    if threads > WARP and vectors % threads:
        even = [t for t in range(WARP, min(2 * threads, MAX_BLOCK_THREADS) + 1, WARP) if vectors % t == 0]
        near = [t for t in even if 2 * t > threads and vectors // t <= most]
        if near:
            return min(near, key=lambda t: (abs(t - threads), t))
    return threads


def plan_rows(chain: Chain, chip: Chip, may_split: bool = True) -> RowPlan:
    """A plan for any chain whose rows are contiguous inside, or small."""
    fill = chip.multiprocessors * FILLING
    rows, length = math.prod(chain.rows), math.prod(chain.space)
    kept, words = kept_words(chain)
    item = max((element_bytes(x) for x in chain.wide_accesses()), default=4)
    loop = len(chain.rows) + len(chain.space) - 1
    flat = len(chain.space) == 1
    width = vector_width(chain, loop, flat and not kept) if chain.space else 1
    vectors, tail = length // width, length % width
    if kept:
        most = KEPT_WORDS // (words * width)
        threads = _threads(vectors, rows, max(1, most), fill, width * item)
        if most and ceil_div(vectors, threads) <= most:
            return RowPlan(width, vectors, tail, threads, _rows_per_block(threads, rows), kept, 1)
        width = vector_width(chain, loop, flat)
        vectors, tail = length // width, length % width
    if may_split:
        parts = _parts(chain, chip, rows, vectors)
        if parts > 1:
            part = ceil_div(ceil_div(vectors, parts), SPLIT_BLOCK) * SPLIT_BLOCK
            unroll = min(unrolled(chain, width), part // SPLIT_BLOCK)
            partials = partial_vectors(chain, width, unroll)
            return RowPlan(width, vectors, tail, SPLIT_BLOCK, 1, (), unroll, ceil_div(vectors, part), part, partials)
    threads = _threads(vectors, rows, STREAMED, fill, width * item)
    unroll = min(unrolled(chain, width), ceil_div(vectors, threads))
    partials = partial_vectors(chain, width, unroll)
    return RowPlan(width, vectors, tail, threads, _rows_per_block(threads, rows), (), unroll, partials=partials)


def _rows_per_block(threads: int, rows: int) -> int:
    if threads > WARP:
        return 1
    # Shuffles want whole warps.
    in_warp = WARP // threads
    return min(BLOCK // threads, ceil_div(rows, in_warp) * in_warp)


def unrolled(chain: Chain, width: int) -> int:
    """How many vectors a thread has on their way at a time: 64 bytes of all operands together, or so."""
    bytes_ = width * sum(element_bytes(x) for x in chain.wide_accesses())
    return max(2, min(8, FLIGHT_BYTES // max(1, bytes_)))


def partial_vectors(chain: Chain, width: int, unroll: int) -> int:
    """How many vectors of partial results the thread has registers for."""
    return max(1, min(unroll, PARTIAL_WORDS // (width * max(1, partial_words(chain)))))


def partial_words(chain: Chain) -> int:
    """Registers for one partial result of all reductions."""
    return sum(ceil_div(byte_width(type_), 4) for part in chain.joint.parts for type_ in part.states)


def row_bytes(chain: Chain) -> int:
    inside = math.prod(chain.space)
    return inside * sum(element_bytes(x) for x in chain.wide_accesses())


def _parts(chain: Chain, chip: Chip, rows: int, vectors: int) -> int:
    """How many blocks are to share a row: more than one where rows are few and long, and one pass is all there is."""
    wanted = chip.multiprocessors * (chip.threads_per_multiprocessor // SPLIT_BLOCK)
    if chain.levels > 1 or chain.wide_outputs or row_bytes(chain) < SPLIT_BYTES or 2 * rows > wanted:
        return 1
    return max(1, min(wanted // rows, vectors // (2 * SPLIT_BLOCK)))
