"""Which factors are read in place instead of packed, and the blocks of such products."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type, IntegerType

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import width_of
from ..device.cpu import CPU, Machine
from ..loop_nests.cost import LEAST_ALONG, LEAST_ROWS_ALONG, TOGETHER_ALONG
from ..loop_nests.loop_builder import LINE, LoopBuilder, buffer_of
from ..loop_nests.nest import Access
from .blocking import (
    MANY_REGISTERS,
    MIN_ROWS,
    PAIRS,
    STAYS,
    Blocking,
    block,
    cost_of_step,
    group_of,
    lanes_of,
    loops_inside,
    most_rows,
    pairs_bfloats,
)
from .contraction import Contraction, Loop, along_k, chunks_of
from .panel import emit_pairs, emit_widened, packed_type
from .parts import in_parts
from .shared_function import call_known

INFLATION = 2
"""Least ratio of the size of A's panels to A for which A is read in place."""

FEW_COLUMNS = 512
"""Columns of B up to which packing A would cost much of the time that it saves."""

FEW_ROWS = 8
"""Rows of a panel whose lines map to few sets of the L1 cache: no more than the ways of a set."""

WAYS = 8
"""Lines of a set of the L1 cache."""

ALIASING = 2048
"""A row stride in bytes whose multiples map the lines of a panel to few sets of the L1 cache."""

SMALL = 1 << 16
"""Elements of all panels of A below which A is packed."""

SMALL_LOW = 1 << 11
"""The same where registers are few, but for batches: in place, panels of two heights leave no rows of zeros."""

SMALL_B = 1 << 15
"""Elements of B up to which it is not packed."""

ONCE = 2
"""Panels of A up to which packing B costs more than reading it in place each time."""

FEW_PANELS, LOW_FEW_PANELS = 8, 40
"""
The same for sums over several loops, as of gradients of filters: B is the gradient of many results. Where registers are
few, more panels may read it, of which all read a row of an image before the next one.
"""

LEAST_ROWS = 6
"""Fewest rows of a panel that is chosen to divide the rows of A; fewer would not hide the latency of the additions."""

WORTH = 0.98
"""The part of the cost from which a second height of panels pays for the micro-kernel that it needs."""

LEAST_PRODUCTS = 1 << 17
"""Multiply-adds from which it does: fewer take microseconds, a second micro-kernel milliseconds of LLVM's time."""

MOST_STREAMED = 4
"""The same for a B that is larger than the caches: a pass over a few of its rows leaves them there for all panels."""

LOW_STREAMED = 3
"""The same where registers are few, for panels as high as these allow: each reads B again, often from the L2 cache."""

STREAMED_ROWS, LOW_STREAMED_ROWS = 64, 32
"""
Rows of such a B in one pass, whose pages the processor has at hand; and where registers are few, so that each row of a
block of columns is read for more panels, from a set of the L1 cache that it often shares with many others. Rows of a
narrower type have half as many lines.
"""

STREAMED_PART = 4
"""
Part of the L2 cache that a pass over more of them may take where registers are few and rows of A lie along k: short
rows of B share pages, and low blocks would write C after few steps. Columns of A that lie apart would not stay in L1.
"""

FEW_STREAMED_ROWS = 16
"""
The same for few rows of A, and a B that comes from memory: it, not the sums, takes the time. Several low panels would
read and write C too often.
"""

MEMORY_BOUND = 8
"""Rows of A that are few for that."""

FROM_MEMORY = 8 << 20
"""Bytes from which such a B comes from memory."""

MOST_READ = 32 << 20
"""Bytes of such a B, times the panels that read them, up to which low blocks read it in place."""

STREAMED_COLUMNS = 1024
"""Columns of a tile of it, if there are two tiles: rows are read in long runs."""

NEAR_STEPS = 7
"""Steps along k that are enough where the micro-kernel runs through loops around them."""

ALTERNATING = 4
"""Part of the L2 cache that holds rows of matrices which alternate."""

FAR = 0.5
"""Sizes of the L2 cache from which B is far."""

HIGH_ROWS = 256
"""Rows of a tile that make up for what its part of B costs from afar."""

FEW_TASKS = 8
"""Tasks of a product that is summed over outer loops: each task reads all of A and B."""

LESS_READ = 0.6
"""
The part of what all these tasks read from which wide tiles pay where registers are few, and blocks of C are read and
written after few steps: C is to stay in the L2 cache then.
"""


def lines_alias(product: Contraction, stride: int) -> bool:
    """Whether rows that are `stride` elements apart map to few sets of the L1 cache."""
    return stride * (8 if isinstance(product.element, Float64Type) else 4) % ALIASING == 0


def reads_pairs(product: Contraction, machine: Machine) -> bool:
    """Whether A, read in place, is multiplied in pairs of bf16: both elements of each are neighbours in memory."""
    beside = product.k.a == 1 or product.a_paired
    return pairs_bfloats(product, machine) and beside and product.k.size % 2 == 0


def with_pairs(builder: LoopBuilder, kernel: func.FuncOp, product: Contraction, machine: Machine) -> Contraction:
    """
    Copy an A of bf16 that would be read in place, but whose neighbours along k are apart, as in gradients of filters:
    each element with the next one along k.
    """
    m, k, a = product.m, product.k, product.a
    if product.computes or k.a <= 1 or m.a != 1 or a.dynamic or not _is_inflated(product):
        return product
    if not reads_pairs(replace(product, a_paired=True), machine):
        return product
    count = math.prod(buffer_of(a.root).get_shape()) - k.a
    pairs = builder.alloc(memref_type((2 * count,), buffer_of(a.root).element_type))
    with in_parts(builder, count) as (_, at, size):
        arguments = (a.root, pairs, at, size, k.a)
        call_known(builder, kernel, "pairs", arguments, 2 * lanes_of(product, machine), emit_pairs)

    def moved(loop: Loop) -> Loop:
        return replace(loop, a=2 * loop.a)

    return replace(
        product,
        a=Access(pairs, 2 * a.offset, (), tuple(2 * stride for stride in a.strides)),
        m=moved(m),
        k=moved(k),
        outer=tuple(map(moved, product.outer)),
        outer_k=tuple(map(moved, product.outer_k)),
        a_paired=True,
    )


def least_rows(product: Contraction, machine: Machine) -> int:
    """The fewest rows of A that are blocked where plain loops would read a B in memory for each; 0 for the usual."""
    if reads_rows_in_pairs(product, machine) and in_place_blocking(product, machine):
        return 1
    return 2 if streams(product, machine) else 0


def reads_rows_in_pairs(product: Contraction, machine: Machine) -> bool:
    """Whether integers are multiplied in pairs if both factors are read in place: each step reads two rows of B."""
    beside = product.k.a == product.n.b == 1
    return group_of(product, machine) == PAIRS and product.k.size % 2 == 0 and beside and not product.outer_k


def shares_columns(product: Contraction, machine: Machine) -> bool:
    """Whether few rows are read in pairs, but for an epilogue, which would apply twice to columns of two panels."""
    found = in_place_blocking(product, machine) if reads_rows_in_pairs(product, machine) else None
    return found is not None and product.n.size % found.nr != 0


def with_wide_rows(builder: LoopBuilder, kernel: func.FuncOp, product: Contraction, machine: Machine) -> Contraction:
    """Copy an A of bytes whose few rows are multiplied by a B that is read in place: each byte as half of a pair."""
    a, count = buffer_of(product.a.root), math.prod(buffer_of(product.a.root).get_shape())
    wide = packed_type(product.element, PAIRS)
    if a.element_type == wide or count > INFLATION * _panels(product):
        return product
    if not reads_rows_in_pairs(product, machine) or not in_place_blocking(product, machine):
        return product
    copy = builder.alloc(memref_type((count,), wide))
    with in_parts(builder, count) as (_, at, size):
        arguments = (product.a.root, copy, at, size)
        call_known(builder, kernel, "widened", arguments, 2 * lanes_of(product, machine), emit_widened)
    return replace(product, a=replace(product.a, root=copy))


def with_near_steps(product: Contraction, machine: Machine) -> Contraction:
    """The product along near steps, as a row of an image, not over images, where the micro-kernel has loops inside."""
    loops = (product.k, *product.outer_k)
    near = along_k(loops, NEAR_STEPS)
    if machine.registers >= MANY_REGISTERS or product.computes or product.m.a != 1 or not _is_inflated(product):
        return product
    around = sorted((loop for loop in loops if loop is not near), key=lambda loop: -abs(loop.a))
    return product if near is product.k else replace(product, k=near, outer_k=tuple(around))


def _panels(product: Contraction) -> int:
    """Elements of all panels of A."""
    return (
        product.m.size * product.k.size * math.prod(loop.size for loop in (*product.outer, *product.outer_k) if loop.a)
    )


def _is_inflated(product: Contraction) -> bool:
    """Whether A's panels would be much larger than A."""
    panels = _panels(product)
    return panels > INFLATION * math.prod(buffer_of(product.a.root).get_shape()) and panels >= SMALL


def reads_in_place(product: Contraction, machine: Machine) -> bool:
    """Whether A is better read in place."""
    if product.a_paired:
        return True
    if _is_inflated(product) and reads_pairs(product, machine):
        return True
    is_low = machine.registers < MANY_REGISTERS and not any(loop.b for loop in product.outer)
    least = SMALL_LOW if is_low else SMALL
    narrow = product.n.size <= FEW_COLUMNS and product.k.a == 1 and _panels(product) >= least
    return (_is_inflated(product) or narrow) and buffer_of(product.a.root).element_type == product.element


def oriented(product: Contraction, machine: Machine) -> Contraction:
    """The product, or `C^T = B^T A^T` if B has too few columns for vectors and A is not read in place."""
    few = 2 * product.n.size <= lanes_of(product, machine) and product.m.size > product.n.size
    return product.transposed() if few and not reads_in_place(product, machine) else product


def _crowds_sets(product: Contraction, blocking: Blocking, machine: Machine) -> bool:
    """Whether a panel of B in place takes most of the sets of the L1 cache that its lines map to, and A needs too."""
    if machine.registers >= MANY_REGISTERS:
        return False
    bytes_each = machine.vector_bits // 8 // blocking.lanes
    sets, rows = machine.l1_bytes // (LINE * WAYS), product.k.size
    taken = {row * product.k.b * bytes_each // LINE % sets for row in range(min(rows, sets * LINE // bytes_each))}
    return rows * -(-blocking.nr * bytes_each // LINE) > STAYS * WAYS * len(taken)


def streams(product: Contraction, machine: Machine) -> bool:
    """
    Whether B lies in memory by rows, as it is multiplied, and is larger than the caches nearby, or stays in none if its
    columns are read from the first row to the last.
    """
    far = _bytes_of_b(product) > machine.l2_bytes
    # Blocks are narrower than a line of bytes, and rows in one set would replace it before the next block.
    in_one_set = product.k.b * width_of(product.factors[1]) // 8 % ALIASING == 0
    far = far or (in_one_set and reads_rows_in_pairs(product, machine))
    return product.n.b == 1 and far and not product.outer_k


def _bytes_of_b(product: Contraction) -> int:
    """Bytes of one matrix B, with the chunks of its sum."""
    return math.prod(chunks_of(product)) * product.k.size * product.n.size * width_of(product.factors[1]) // 8


def reads_both_in_place(product: Contraction, blocking: Blocking, machine: Machine) -> bool:
    """
    Whether B too is better read in place: it fits into the caches, each of its elements is needed only once, or its
    rows are those of a panel.
    """
    a, b = product.factors
    aliases = lines_alias(product, product.k.a) or lines_alias(product, product.k.b)
    aliases = aliases or _crowds_sets(product, blocking, machine)
    cached = product.k.size * product.n.size <= SMALL_B and product.m.size >= LEAST_ROWS and not aliases
    # Low blocks read each row of B for few multiply-adds; where it is widened, they read fewer bytes.
    is_narrow = width_of(b) < width_of(product.element)
    is_near = blocking.m_panels * _bytes_of_b(product) <= MOST_READ
    is_low = product.m.size <= LOW_STREAMED * most_rows(blocking.vectors, machine.registers)
    is_cheap = machine.registers >= MANY_REGISTERS or is_narrow or is_near or is_low
    most = MOST_STREAMED if is_cheap else 1
    few = blocking.m_panels <= (most if streams(product, machine) else ONCE)
    if product.outer_k:
        panels = product.rows // product.m.size * blocking.m_panels
        near = (
            machine.registers < MANY_REGISTERS and a == product.element == b and not lines_alias(product, product.k.b)
        )
        cached, few = False, panels <= (LOW_FEW_PANELS if near else FEW_PANELS)
    in_panels = product.n.b == 1 and product.k.b == product.n.size == blocking.nr and a == product.element == b
    # Few rows are widened when they are read; others would be each time.
    floats = not isinstance(product.element, IntegerType)
    short = (BFloat16Type, Float16Type, IntegerType) if floats else (BFloat16Type, Float16Type)
    narrow = few and all(x == product.element or isinstance(x, short) for x in (a, b))
    narrow = narrow or (few and reads_rows_in_pairs(product, machine))
    return (
        (narrow or a == product.element == b)
        and 1 in (product.m.a, product.k.a)
        and product.n.b == product.n.c == 1
        and product.n.size >= blocking.nr
        # Panels that share columns would apply an epilogue to them twice.
        and (product.n.size % blocking.nr == 0 or product.epilogue is None)
        and (cached or few or in_panels)
    )


def in_place_blocking(product: Contraction, machine: Machine) -> Blocking | None:
    """The blocking of a product that reads both factors in place; None if it packs some."""
    lanes = lanes_of(product, machine)
    if product.computes or product.n.size < lanes:
        return None
    found = block(product, machine, most_vectors=product.n.size // lanes)
    return found if reads_both_in_place(product, found, machine) else None


def sums_along(product: Contraction, machine: Machine) -> bool:
    """
    Whether plain loops, which sum for a few rows of one factor at once along each row of the other, are faster than low
    blocks, for which that one would be packed, or few of its rows are read at a time.
    """
    if product.n.size > product.m.size:
        product = product.transposed()
    few, is_plain = product.n.size, product.factors == (product.element, product.element)
    columns = product.k.b == 1
    if not columns and few % lanes_of(product, machine):
        # These are copied, see convert_linalg_to_scf/together.py; blocks would not fill their vectors.
        columns = product.m.size >= LEAST_ROWS_ALONG and not any(loop.b for loop in product.outer)
    along = product.k.a == 1 and columns and not product.outer_k
    is_short = few > TOGETHER_ALONG or product.k.size < LEAST_ALONG * few
    is_float = not isinstance(product.element, IntegerType)
    return machine.registers < MANY_REGISTERS and along and is_plain and is_float and not is_short


def block_rows(product: Contraction, blocking: Blocking, machine: Machine, streamed: bool = False) -> Blocking:
    """
    The blocking with panels and tiles of rows over all loops that move only A and C. `streamed`: B is read in place, a
    few rows at a time.
    """
    most = most_rows(blocking.vectors, machine.registers)
    # Panels of one vector have room for more rows, which many registers make up for.
    crowds = blocking.vectors > 1 or machine.registers < MANY_REGISTERS
    if product.k.a == 1 and crowds and lines_alias(product, product.m.a):
        most = min(most, FEW_ROWS)
    blocking = _with_heights(product, blocking, machine, most)
    mr = blocking.mr
    bytes_each = machine.vector_bits // 8 // blocking.lanes
    panels = blocking.panels_of(product.m.size) * math.prod(loop.size for loop in product.outer if not loop.b)
    batches = math.prod(loop.size for loop in product.outer if loop.b)
    tile_m = max(1, min(panels, machine.l2_bytes // 2 // (blocking.kc * mr * bytes_each)))
    tile_n = blocking.n_panels
    summed = product.outer_k and math.prod(loop.size for loop in product.outer_k) > panels
    # One thread, too, is faster with tiles whose epilogue finds them in the cache.
    tasks = FEW_TASKS if summed else CPU.tiles
    if alternate(product):
        # All matrices have their turn while the lines that their rows share are in the cache.
        tile_m = max(1, min(tile_m, machine.l2_bytes // ALTERNATING // (mr * product.m.a * bytes_each)))
    # Each tile reads its columns of B, from afar if B is large: then tiles are narrow, and high.
    far = not streamed and product.n.size * product.depth * bytes_each > FAR * machine.l2_bytes
    least_m, least_n = max(1, HIGH_ROWS // mr) if far else 1, 1
    if streamed:
        few = product.m.size <= MEMORY_BOUND and _bytes_of_b(product) > FROM_MEMORY
        rows = FEW_STREAMED_ROWS if few else STREAMED_ROWS
        if machine.registers < MANY_REGISTERS and product.k.a == 1:
            rows = LOW_STREAMED_ROWS if few and panels > 1 else rows
            is_narrow = width_of(product.factors[1]) < width_of(product.element)
            least = rows if is_narrow else min(rows, LOW_STREAMED_ROWS)
            rows = max(least, machine.l2_bytes // STREAMED_PART // (product.n.size * bytes_each))
        if blocking.group > 1:
            rows = min(rows, STREAMED_ROWS // blocking.group)
        blocking = replace(blocking, kc=-(-blocking.kc // -(-blocking.kc // rows)))
        tile_m = least_m = panels
        least_n = min(-(-STREAMED_COLUMNS // blocking.nr), -(-blocking.n_panels // 2))

    if machine.registers < MANY_REGISTERS and not streamed and chunks_of(product) and not product.outer_k:
        # Low panels would read B again and again: its part for a chunk is packed by the one task that has it.
        tile_m = least_m = panels

    def tasks_of(tile_m: int, tile_n: int) -> int:
        return batches * -(-panels // tile_m) * -(-blocking.n_panels // tile_n)

    while far and tile_n > 1 and tasks_of(tile_m, tile_n) < tasks:
        tile_n = -(-tile_n // 2)
    while tile_m > least_m and tasks_of(tile_m, tile_n) < tasks:
        tile_m = -(-tile_m // 2)
    while tile_n > least_n and tasks_of(tile_m, tile_n) < tasks:
        tile_n = -(-tile_n // 2)
    if product.outer_k and product.m.a == 1 and machine.registers < MANY_REGISTERS:
        tile_m, tile_n = _wide_tile(product, replace(blocking, m_panels=panels, tile_m=tile_m, tile_n=tile_n), machine)
    inside = loops_inside(product, blocking, machine)
    return replace(blocking, m_panels=panels, tile_m=tile_m, tile_n=tile_n, loops_inside=inside)


def _wide_tile(product: Contraction, blocking: Blocking, machine: Machine) -> tuple[int, int]:
    """
    The panels of A and B of a tile of a product that is summed over outer loops, as a gradient of filters: those that
    the blocking has, or some that are as wide as C, if all tasks read much less of both factors then.
    """
    row_loops = math.prod(loop.size for loop in product.outer if not loop.b)
    batches = math.prod(loop.size for loop in product.outer if loop.b)
    parts = row_loops * max(1, FEW_TASKS // (row_loops * batches))
    tile_m = -(-blocking.m_panels // parts)
    a, b = math.prod(buffer_of(product.a.root).get_shape()), batches * product.depth * product.n.size
    across, down = -(-blocking.n_panels // blocking.tile_n), -(-blocking.m_panels // blocking.tile_m)
    bytes_of_tile = tile_m * blocking.mr * product.n.size * machine.vector_bits // 8 // blocking.lanes
    less = a + parts * b < LESS_READ * (across * a + down * b) and bytes_of_tile <= machine.l2_bytes
    return (tile_m, blocking.n_panels) if less else (blocking.tile_m, blocking.tile_n)


def _with_heights(product: Contraction, blocking: Blocking, machine: Machine, most: int) -> Blocking:
    """
    The blocking with panels of as many rows as divide those of A. Where registers are few, low panels would divide most
    rows, but have no multiply-add to spare; some of two heights, which leave no rest, are faster.
    """
    rows = product.m.size
    even = [height for height in range(LEAST_ROWS, most + 1) if rows % height == 0]
    mr = max(even, default=min(blocking.mr, most, rows))
    products = rows * product.n.size * product.depth * math.prod(loop.size for loop in product.outer)
    if machine.registers >= MANY_REGISTERS or products < LEAST_PRODUCTS:
        return replace(blocking, mr=mr)
    costs = {height: cost_of_step(height, blocking.vectors) for height in range(MIN_ROWS, most + 1)}
    least, found = -(-rows // mr) * cost_of_step(mr, blocking.vectors) * WORTH, replace(blocking, mr=mr)
    for height, low in itertools.combinations(sorted(costs, reverse=True), 2):
        most_high = rows // height
        for high in range(most_high, max(0, most_high - low), -1):
            rest = rows - high * height
            if rest and rest % low == 0 and (cost := high * costs[height] + rest // low * costs[low]) < least:
                least, found = cost, replace(blocking, mr=height, high=high, low=low)
    return found


def alternate(product: Contraction) -> bool:
    """Whether rows of several matrices alternate in A, as those of a convolution's groups with the features last."""
    batches = [loop for loop in product.outer if loop.b]
    return bool(batches) and all(0 < loop.a * loop.size <= product.m.a for loop in batches)


def panels_of_row(product: Contraction, blocking: Blocking) -> int:
    """The panels of the innermost rows: in a convolution, those of a row of the output."""
    return blocking.panels_of(product.m.size)
