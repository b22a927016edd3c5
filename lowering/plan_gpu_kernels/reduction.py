"""Plans of reductions and the operations on their results: rows, columns, or a thread per result."""

from __future__ import annotations

import math
from dataclasses import replace

from xdsl.ir import Block

from ...dialects.gpu.plans import Columns, NoLaunch, Plan, Points, Rows
from ...dialects.support.llvm_layout import byte_width
from ..device.chips import MAX_BLOCK_THREADS, STATIC_SHARED_BYTES
from ..device.gpu import GpuChip
from ..map_kernels_to_gpu.reduction.block import power_of_two_from
from ..map_kernels_to_gpu.reduction.chain import (
    Chain,
    chain_of_phase,
    column_loop,
    elements_of,
    is_aligned,
    temporaries_of,
)
from ..map_kernels_to_gpu.reduction.shares import kept_words, main_accesses, parts_of, widest_element
from ..map_kernels_to_gpu.reduction.two_stage import partial_types, second_stage
from ..map_kernels_to_gpu.threads.phases import Phase
from ..map_kernels_to_gpu.threads.ranges import ceil_div
from ..map_kernels_to_gpu.threads.vectors import VECTOR_BYTES, element_bytes

RESIDENT, RESIDENT_ROWS, RESIDENT_WIDE = 1024, 896, 512
"""
Resident threads per multiprocessor that the register budget must allow: by default (64 registers per thread, enough to
keep memory busy), for chains that keep rows in registers, and for 64-bit types.
"""

BLOCK = 256
"""Threads of a block with several rows, or of one that reduces whole columns."""

SPLIT_BLOCK = 512
"""Threads of a block for a part of a row or of columns: four such blocks fill a multiprocessor."""

KEPT_WORDS = 32
"""Registers of a thread for its share of a row: with its other registers, 1024 threads stay resident."""

STREAMED = 8
"""Minimum number of a row's vectors per thread, before more threads share the row."""

FILLING = 1024
"""Threads per multiprocessor that saturate its memory bandwidth."""

SPLIT_BYTES = 1 << 18
"""Bytes of a row from which several blocks share it, if there are few rows: 3 us of one multiprocessor."""

FLIGHT_BYTES = 64
"""Bytes that a thread should have in flight: with 2048 threads, more than enough for a multiprocessor."""

PARTIAL_WORDS = 16
"""Registers of a thread for partial results."""

LINE_BYTES = 128
"""The line size of the first-level cache."""

WIDEST = 16
"""Maximum elements of a vector."""

SMALL_BYTES = 1 << 23
"""Operands of fewer bytes are reduced in one launch if narrow tiles make enough blocks."""

FEW_PLACES = 16
"""Iterations of the reduced loops (a window, say) up to which a thread reduces whole columns serially."""

LEAST_PLACES = 2
"""Minimum iterations of the reduced loops per thread."""


def plan_chain(phase: Phase, chip: GpuChip) -> tuple[Plan, ...]:
    """The plan of phases that form a chain; none if they do not, or if separate launches are better."""
    chain = None
    if phase.is_structured:
        chain = chain_of_phase(phase, temporaries_of(phase.ops, phase.nests()))
    if chain is None or (len(chain.steps) > 1 and _is_better_cut(chain, chip)):
        return ()
    columns = column_loop(chain) is not None and chain.levels == 1 and not chain.wide_outputs
    plan_one = _plan_columns if columns else _plan_rows
    plan = _with_registers(chain, plan_one(chain, chip))
    if plan.part:
        parts = parts_of(chain, plan)
        partial = Block(arg_types=partial_types(chain, parts)).args
        second = second_stage(chain, partial, parts, not columns)
        plan = replace(plan, then=_with_registers(second, plan_one(second, chip, may_split=False)))
    return (plan,)


def plan_reduction(phase: Phase, chip: GpuChip) -> tuple[Plan, ...]:
    """The plan of one reduction whose operation is not known to be associative: a thread per result."""
    if not phase.is_structured or len(phase.structured) != 1 or not any(phase.nests()[0].reduction):
        return ()
    return (NoLaunch() if 0 in phase.nests()[0].sizes else Points(),)


def _is_better_cut(chain: Chain, chip: GpuChip) -> bool:
    """Whether a chain of several passes would leave most of the chip idle, or access memory with strides."""
    if chain.levels < 2 and not chain.wide_outputs:
        return False
    few = 2 * math.prod(chain.rows) <= chip.multiprocessors
    return column_loop(chain) is not None or (few and _row_bytes(chain) >= 4 * SPLIT_BYTES)


def _with_registers(chain: Chain, plan: Rows | Columns) -> Rows | Columns:
    """The plan with a register budget; without one, the assembler spills registers to have more blocks resident."""
    return replace(plan, blocks=max(1, _resident(chain) // plan.block))


def _resident(chain: Chain) -> int:
    """Resident threads per multiprocessor that the register budget must allow."""
    if any(part.positioned for part in chain.joint.parts):
        return 1
    if any(element_bytes(x) > 4 for x in chain.wide_accesses()):
        return RESIDENT_WIDE
    return RESIDENT if chain.levels == 1 and not chain.wide_outputs else RESIDENT_ROWS


def _vector_width(chain: Chain, loop: int, may_end_early: bool) -> int:
    """
    The vector width along a loop: the widest access.

    `may_end_early`: the loop's size need not be a multiple of it.
    """
    size = (*chain.rows, *chain.space)[loop]
    main = main_accesses(chain, loop)
    if not main:
        return 1
    width = min(WIDEST, VECTOR_BYTES // max(element_bytes(x) for x in main))
    while width > 1 and width * _partial_words(chain) > 2 * PARTIAL_WORDS:
        width //= 2
    while width > 1:
        fits = size >= width if may_end_early else size % width == 0
        if fits and all(is_aligned(x, loop, width) for x in main):
            return width
        width //= 2
    return 1


def _threads(vectors: int, rows: int, most: int, chip: GpuChip, vector_bytes: int) -> int:
    """
    Threads per row: each has at most `most` vectors, and together the rows fill the chip if possible.

    Together they read whole cache lines, if the row is long enough.
    """
    warp, fill = chip.warp, chip.multiprocessors * FILLING
    threads = min(warp, max(1, LINE_BYTES // vector_bytes), 1 << (max(1, vectors).bit_length() - 1))
    while threads < MAX_BLOCK_THREADS and ceil_div(vectors, threads) > most:
        threads *= 2
    while threads < MAX_BLOCK_THREADS and vectors > threads and rows * threads < fill:
        threads *= 2
    if threads > warp and vectors % threads:
        even = [t for t in range(warp, min(2 * threads, MAX_BLOCK_THREADS) + 1, warp) if vectors % t == 0]
        near = [t for t in even if 2 * t > threads and vectors // t <= most]
        if near:
            return min(near, key=lambda t: (abs(t - threads), t))
    return threads


def _plan_rows(chain: Chain, chip: GpuChip, may_split: bool = True) -> Rows:
    """A plan for any chain with rows that are contiguous or small."""
    rows, length = math.prod(chain.rows), math.prod(chain.space)
    kept, words = kept_words(chain)
    item = widest_element(chain)
    loop = len(chain.rows) + len(chain.space) - 1
    flat = len(chain.space) == 1
    width = _vector_width(chain, loop, flat and not kept) if chain.space else 1
    if kept:
        vectors = length // width
        most = KEPT_WORDS // (words * width)
        threads = _threads(vectors, rows, max(1, most), chip, width * item)
        if most and ceil_div(vectors, threads) <= most:
            return Rows(threads, _rows_per_block(threads, rows, chip), width, keep=True)
        width = _vector_width(chain, loop, flat)
    vectors = length // width
    parts = _row_parts(chain, chip, rows, vectors) if may_split else 1
    if parts > 1:
        part = ceil_div(ceil_div(vectors, parts), SPLIT_BLOCK) * SPLIT_BLOCK
        unroll = min(_unrolled(chain, width), part // SPLIT_BLOCK)
        partials = _partial_vectors(chain, width, unroll)
        return Rows(SPLIT_BLOCK, 1, width, unroll, partials, part=part if part < vectors else 0)
    threads = _threads(vectors, rows, STREAMED, chip, width * item)
    unroll = min(_unrolled(chain, width), ceil_div(vectors, threads))
    return Rows(threads, _rows_per_block(threads, rows, chip), width, unroll, _partial_vectors(chain, width, unroll))


def _rows_per_block(threads: int, rows: int, chip: GpuChip) -> int:
    if threads > chip.warp:
        return 1
    # Shuffles need whole warps.
    in_warp = chip.warp // threads
    return min(BLOCK // threads, ceil_div(rows, in_warp) * in_warp)


def _unrolled(chain: Chain, width: int) -> int:
    """The number of vectors that a thread has in flight: about 64 bytes of all operands together."""
    bytes_ = width * sum(element_bytes(x) for x in chain.wide_accesses())
    return max(2, min(8, FLIGHT_BYTES // max(1, bytes_)))


def _partial_vectors(chain: Chain, width: int, unroll: int) -> int:
    """The number of vectors of partial results that fit into a thread's registers."""
    return max(1, min(unroll, PARTIAL_WORDS // (width * max(1, _partial_words(chain)))))


def _partial_words(chain: Chain) -> int:
    """Registers for one partial result of all reductions."""
    return sum(ceil_div(byte_width(type_), 4) for part in chain.joint.parts for type_ in part.states)


def _row_bytes(chain: Chain) -> int:
    inside = math.prod(chain.space)
    return inside * sum(element_bytes(x) for x in chain.wide_accesses())


def _row_parts(chain: Chain, chip: GpuChip, rows: int, vectors: int) -> int:
    """The number of blocks that share a row: more than one if rows are few and long, and there is a single pass."""
    wanted = chip.multiprocessors * (chip.threads_per_multiprocessor // SPLIT_BLOCK)
    if chain.levels > 1 or chain.wide_outputs or _row_bytes(chain) < SPLIT_BYTES or 2 * rows > wanted:
        return 1
    return max(1, min(wanted // rows, vectors // (2 * SPLIT_BLOCK)))


def _plan_columns(chain: Chain, chip: GpuChip, may_split: bool = True) -> Columns:
    """A plan for a chain of one pass, with the last row loop as columns."""
    width = _vector_width(chain, len(chain.rows) - 1, False)
    places = math.prod(chain.space)
    outer = math.prod(chain.rows[:-1])
    bytes_ = sum(elements_of(chain, x) * element_bytes(x) for x in chain.wide_accesses())
    item = widest_element(chain)
    state = sum(byte_width(type_) for part in chain.joint.parts for type_ in part.states)
    while width > 1 and SPLIT_BLOCK * width * state > STATIC_SHARED_BYTES:
        width //= 2
    unroll = _unrolled(chain, width)

    vectors = chain.rows[-1] // width

    def blocks(lanes: int) -> int:
        return ceil_div(vectors, lanes) * outer

    if places <= FEW_PLACES:
        return Columns((min(BLOCK, power_of_two_from(vectors)), 1), width, min(unroll, places))
    lanes = min(chip.warp, power_of_two_from(vectors))
    if bytes_ < SMALL_BYTES or not may_split:
        while lanes * width * item > LINE_BYTES and blocks(lanes) < chip.multiprocessors:
            lanes //= 2
    parts = _column_parts(chip, blocks(lanes), bytes_, places, SPLIT_BLOCK // lanes * unroll) if may_split else 1
    if parts > 1:
        part = ceil_div(places, parts)
        groups = SPLIT_BLOCK // lanes
        unroll = min(unroll, ceil_div(part, groups))
        partials = _partial_vectors(chain, width, unroll)
        return Columns((lanes, groups), width, unroll, partials, part if part < places else 0)
    while lanes < BLOCK and lanes < vectors and places < LEAST_PLACES * (BLOCK // lanes):
        lanes *= 2
    groups = BLOCK // lanes
    unroll = min(unroll, ceil_div(places, groups))
    return Columns((lanes, groups), width, unroll, _partial_vectors(chain, width, unroll))


def _column_parts(chip: GpuChip, blocks: int, bytes_: int, places: int, least: int) -> int:
    """The number of blocks that share a tile of columns: more than one if tiles are few and long."""
    wanted = chip.multiprocessors * (chip.threads_per_multiprocessor // SPLIT_BLOCK)
    if bytes_ < SPLIT_BYTES * blocks or 2 * blocks > wanted:
        return 1
    return max(1, min(wanted // blocks, places // least))
