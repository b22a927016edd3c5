"""The block sizes of a matrix product, from its shape and the machine's vector width and caches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product as pairs

from xdsl.dialects.builtin import BFloat16Type, Float32Type, Float64Type, IntegerType, i32

from ...dialects.support.scalar import width_of
from ..device.cpu import Machine
from ..loop_nests.cost import TOGETHER, TOGETHER_ALONG
from .contraction import Contraction

MIN_MULTIPLICATIONS = 8192
"""Smaller products, in multiply-adds, are plain loops: packing would cost more than it saves."""

LEAST_MATRIX = 256
"""Multiply-adds of one matrix of a batch: smaller ones do not fill vectors."""

MIN_ROWS = 4
"""With fewer rows or columns, the product reads its matrices hardly more than once; plain loops stream them."""

LEAST_VECTORS = 4
"""Vectors of a row of A from which plain loops multiply it by a few columns at once, less than half a vector."""

MOST_OF_L1 = 0.75
"""The part of the L1 cache that these columns may take: all of them are read for each row."""

MOST_ROWS = 14
"""Rows of a block: more would make the micro-kernel long, and gain little."""

HIGH, NARROW = 8, 4
"""Panels of A in a tile, and of B in a tile with more of A, where B is too large for the caches nearby."""

LOW_NARROW = 8
"""The same of B where registers are few, so that panels are narrow, and each tile reads all of an A from afar."""

ENOUGH_TASKS = 8
"""Panels of B from which tiles that are as high as C occupy the cores; others are divided by rows as well."""

MANY_TASKS = 32
"""The same for tiles of many panels of A, each of which is a large part of the product."""

ALL_ROWS = 0.6
"""Part of the L2 cache that a tile of all rows may take: B is packed by the task that reads it then, and not before."""

STREAMED = 2.5
"""
Sizes of the L2 cache that all rows of A may take where they are read from the L3 cache, and B is no smaller: packed
beforehand, it is written to memory and read again.
"""

SMALL_PARTS = 2
"""Tiles of all rows of A that fit into the L2 cache, where each task packs the panels of a B nearby that it reads."""

DEEP = 64 << 10
"""Bytes of a panel of B for one pass: it streams through the L1 cache, and shorter passes would write C more often."""

MANY_REGISTERS = 32
"""Vector registers with fewer of which blocks are low, so that loads, too, decide how long they take."""

LOAD = 1.2
"""The cost of a load for those blocks, in multiply-adds: two of a cycle often meet in a bank of the L1 cache."""

SHALLOW = 1 << 15
"""Elements of a panel of B, over all contracted loops, that stay in cache for all panels of A."""

STAYS = 0.5
"""The part of a cache that panels of B take which stay there, where they are narrow."""

NEAR = 0.6
"""
Part of the L1 cache that each pass of a panel of B takes where registers are few and a panel does not fit: low blocks
read it so often that the L2 cache, which they read A from, would not give both in time.
"""

STEPS_AT_ONCE = 4
"""
Steps along k of an iteration of a micro-kernel of floats with few registers, which asks for no panels: while another
program has the other half of a core, the number of instructions bounds it, not that of multiply-adds.
"""

AGAIN = 0.8
"""
The time of a product for which each panel of A and row of C comes from afar again, for every panel of B, as a part of
that of its multiplications: tiles of many panels of B read and write longer parts of rows of C, too.
"""

PACKED_ROWS = 27
"""Rows of A whose multiplication by a panel of B takes as long as packing it."""

MOST_DOWN = 8
"""Most tiles of rows that pack the same panels of B."""

LEAST_ACROSS, MOST_ACROSS = 4, 32
"""Fewest and most panels of B that such a tile packs; they fit into the L2 cache."""

LARGE_TASK = 1 << 30
"""Multiply-adds of a task from which larger products have more tasks, rather than larger ones."""

PASS_STEPS = 16
"""Steps of which such passes are multiples, so that their panels begin with a line of the cache."""

LATENCY = 8
"""Independent multiply-adds that hide each other's latency."""

EXPOSED = 10
"""LATENCY of low blocks that wait for B: they have no step to spare while they load its next rows."""

HALF_LINES = 1.15
"""The cost of those that are one vector wide, by comparison: a row of their panel is half of a cache line."""

LONG_RUN_ROWS = 64
"""Rows of A up to which a task with few registers packs long runs of a distant B: they meet fewer pages."""

LONG_RUN = 2048
"""Bytes of a row of B in such a run, whose passes over k are short, to leave the panels in the L2 cache."""

SHORT_RUN_ROWS = 128
"""Rows of A up to which runs are short, and panels deeper, so that C is written less often; more rows have no runs."""

SHORT_RUN = 512
"""Bytes of a row of B in a short run."""

ROWS_AT_ONCE = 8
"""
Rows of a run that are read at the same time: those that are a multiple of 4 KB apart share a set of the L1 cache, which
has eight lines.
"""

LEAST_RUNS = 4
"""Tasks that long runs leave: shorter ones would cost more than they divide the work better."""


TILE_BYTES = 256 * 1024
"""Bytes of a tile of C, or of its rows of A, that a task keeps on its stack, and in the L2 cache."""


@dataclass(frozen=True)
class Blocking:
    """
    The block sizes of a product. A panel is `mr` rows of A or `nr` columns of B, stored contiguously by k.

    Sizes along k count groups of `group` elements, which one instruction multiplies and adds.
    """

    lanes: int
    """Columns of one vector."""
    mr: int
    nr: int
    kc: int
    """Contracted groups (k) of one pass of the micro-kernel."""
    m_panels: int
    n_panels: int
    tile_m: int
    """Panels of A per output tile."""
    tile_n: int
    group: int = 1
    loops_inside: int = 0
    """Contracted loops around k, the last ones, that the micro-kernel runs through, where A is read in place."""
    run: int = 0
    """Panels of B whose rows a task packs together, if the caches decide that; see packing.py for others."""
    steps: int = 1
    """Groups along k in one iteration of the micro-kernel's loop."""
    by_passes: bool = False
    """Whether the parts of all panels that one pass multiplies are together in memory."""
    broad: bool = False
    """Whether each task packs the panels of B that it reads, though tasks of other rows read them, too."""
    high: int = 0
    """Panels of `mr` rows before those of `low` rows, where A is read in place and has such."""
    low: int = 0
    """Rows of its last panels, so that none goes beyond its edge; 0 if all have `mr`."""

    def panels_of(self, rows: int) -> int:
        """The panels of so many rows of A, which is read in place."""
        return self.high + (rows - self.high * self.mr) // self.low if self.low else -(-rows // self.mr)

    @property
    def lower(self) -> Blocking:
        """The blocking of the panels of `low` rows alone."""
        return replace(self, mr=self.low, high=0, low=0)

    @property
    def tiles(self) -> int:
        return -(-self.m_panels // self.tile_m) * -(-self.n_panels // self.tile_n)

    @property
    def of_block(self) -> Blocking:
        """The facts of one block: how many there are is nothing to it."""
        none = dict.fromkeys(
            ("kc", "m_panels", "n_panels", "tile_m", "tile_n", "loops_inside", "run", "high", "low"), 0
        )
        return replace(self, by_passes=False, broad=False, **none)

    @property
    def vectors(self) -> int:
        """Vectors of each row of a block."""
        return self.nr // self.lanes


def is_worth_blocking(product: Contraction, least: int = 0) -> bool:
    """Whether a product is blocked; `least`: the fewest rows of A that are, if they are fewer than usual."""
    # Plain loops multiply four rows of A at once by each row of a transposed B, where it lies.
    least = least or (MIN_ROWS + 1 if product.k.b == 1 else MIN_ROWS)
    return (
        product.multiplications >= MIN_MULTIPLICATIONS
        and product.m.size * product.n.size * product.depth >= LEAST_MATRIX
        and product.rows >= least
        and product.n.size >= MIN_ROWS
        and product.depth >= MIN_ROWS
    )


def has_few_columns(product: Contraction, machine: Machine) -> bool:
    """Whether plain loops, which sum for all columns at once along rows of A, are faster than columns in vectors."""
    is_plain = (
        product.k.a == product.n.c == 1
        and product.factors == (product.element, product.element)
        and product.element != i32
    )
    lanes, bytes_of_b = lanes_of(product, machine), product.n.size * product.depth * width_of(product.element) // 8
    is_long = product.k.size >= LEAST_VECTORS * lanes and bytes_of_b <= machine.l1_bytes * MOST_OF_L1
    most = min(lanes * 3 // 8, TOGETHER_ALONG if product.k.b == 1 else TOGETHER)
    return is_plain and is_long and machine.registers >= MANY_REGISTERS and product.n.size <= most


def lanes_of(product: Contraction, machine: Machine) -> int:
    """Sums in one vector."""
    return machine.vector_bits // (64 if isinstance(product.element, Float64Type) else 32)


def group_of(product: Contraction, machine: Machine) -> int:
    """The products that one instruction adds to a sum: 4 of i8 or 2 of i16, where the machine has it."""
    if not isinstance(product.element, IntegerType) or product.k.size < MIN_ROWS:
        return 1
    width = max(width_of(factor) for factor in product.factors)
    if width <= 8 and machine.byte_dots:
        return 4
    return 2 if width <= 16 and machine.pair_dots else 1


def pairs_bfloats(product: Contraction, machine: Machine) -> bool:
    """Whether one instruction adds two products of bf16 to a sum in f32."""
    return (
        machine.bfloat_dots
        and product.k.size >= MIN_ROWS
        and isinstance(product.element, Float32Type)
        and all(isinstance(factor, BFloat16Type) for factor in product.factors)
    )


PAIRS, BYTES = 2, 4
"""Elements of a group that are multiplied together: of 16 bits, or bytes, unsigned by signed."""

MOST_VECTORS = 3
"""Vectors of each row of a block."""

LOW = 8
"""Rows of a block whose lines of C share a set of the L1 cache with no other of them, whatever their distance."""


def block(
    product: Contraction,
    machine: Machine,
    most_vectors: int = MOST_VECTORS,
    packed: bool = False,
    whole: bool = True,
) -> Blocking:
    """
    Choose the micro-kernel's shape and the tiles; `packed`: both factors are, so that bf16 may be in pairs; `whole`:
    their panels must be, with all passes.
    """
    lanes, group = lanes_of(product, machine), group_of(product, machine)
    if packed and pairs_bfloats(product, machine):
        group = 2
    few_registers = machine.registers < MANY_REGISTERS
    mr, vectors = _block_shape(product, machine, lanes, group, most_vectors, packed)
    nr = lanes * vectors
    kc, by_passes = _pass(product, machine, group, nr * machine.vector_bits // 8 // lanes, whole)
    m_panels, n_panels = -(-product.m.size // mr), -(-product.n.size // nr)
    # LLVM adds several products of integers first, for which there are no registers.
    steps = STEPS_AT_ONCE if few_registers and not isinstance(product.element, IntegerType) else 1
    found = Blocking(lanes, mr, nr, kc, m_panels, n_panels, 1, 1, group, steps=steps, by_passes=by_passes)
    # Batches give tasks enough, and their matrices are near if sums are short.
    packs_again = few_registers and group == 1 and not whole and product.m.size > SHORT_RUN_ROWS
    reads_b_around = all(loop.b for loop in (*product.outer, *product.outer_k))
    if packs_again and reads_b_around and (by_passes or _around(product) == 1):
        return _with_broad_tiles(found, product, machine)
    found, is_far_and_once = _with_tiles(found, product, machine)
    return _with_runs(found, product, machine) if few_registers and packed and is_far_and_once else found


def _around(product: Contraction) -> int:
    """Iterations of the loops around a product."""
    return math.prod(loop.size for loop in product.outer)


def _block_shape(
    product: Contraction, machine: Machine, lanes: int, group: int, most_vectors: int, packed: bool
) -> tuple[int, int]:
    """Rows of a block of C, and its vectors in each."""
    m, n, k = product.m.size, product.n.size, -(-product.k.size // group)
    cost = _cost_of_bytes(m, n, k, lanes)
    if group != BYTES:
        few_registers = machine.registers < MANY_REGISTERS
        # Wide panels of columns that lie along k take longer to pack than they save, and a small B is at hand.
        is_large = n * k * machine.vector_bits // 8 // lanes > machine.l1_bytes
        waits = packed and few_registers and product.n.b == 1 and is_large
        cost = _cost(m, n, lanes, LOAD if few_registers else 1, waits)
    spare = spare_registers(product, group)
    return _shape(m, cost, machine.registers, spare, min(most_vectors, MOST_VECTORS))


def _pass(product: Contraction, machine: Machine, group: int, bytes_of_row: int, whole: bool) -> tuple[int, bool]:
    """Steps along k of a pass over panels whose rows have so many bytes, and whether panels are laid out by passes."""
    m, k = product.m.size, -(-product.k.size // group)
    # Packing decides for few rows by columns that lie along k: short passes would read them in short pieces.
    most_near = machine.l1_bytes * (NEAR if m > SHORT_RUN_ROWS and _around(product) == 1 else 1)
    is_long = k * bytes_of_row > most_near and (product.n.b == 1 or m > SHORT_RUN_ROWS)
    by_passes = machine.registers < MANY_REGISTERS and group == 1 and not whole and is_long
    passes = max(1, -(-k * bytes_of_row // (int(machine.l1_bytes * NEAR) if by_passes else DEEP)))
    kc = -(-k // passes)
    return (-(-kc // PASS_STEPS) * PASS_STEPS if by_passes else kc), by_passes


def _with_tiles(blocking: Blocking, product: Contraction, machine: Machine) -> tuple[Blocking, bool]:
    """The blocking with its tiles, and whether B comes from afar and each panel of it is in one tile."""
    m, n, k = product.m.size, product.n.size, -(-product.k.size // blocking.group)
    m_panels, n_panels, around = blocking.m_panels, blocking.n_panels, _around(product)
    bytes_each = machine.vector_bits // 8 // blocking.lanes
    # A tile's panels of A stay in the L2 cache. More of them pay where panels of B come from afar.
    far = n * k * bytes_each > 4 * machine.l2_bytes
    panel = blocking.kc * blocking.mr * bytes_each
    tile_m = min(m_panels, max(1, machine.l2_bytes // (2 if far else 4) // panel))
    if far and m_panels * panel <= ALL_ROWS * machine.l2_bytes:
        tile_m = m_panels
    # A is read from the L3 cache then, once for several panels of B, which each task packs into the L2 cache.
    few_bytes = NARROW * blocking.kc * blocking.nr * bytes_each <= machine.l2_bytes // 2
    fit = m_panels * panel <= STREAMED * machine.l2_bytes and few_bytes
    streams = far and tile_m < m_panels and fit and m <= n and n_panels >= MANY_TASKS
    if streams:
        tile_m = m_panels
    is_small = m_panels * panel * SMALL_PARTS <= machine.l2_bytes
    low = blocking.group == 1 and is_small and around * n_panels >= 2 * ENOUGH_TASKS
    if not far:
        tile_m = m_panels if low else min(tile_m, HIGH)
    # Narrow tiles first: while a tile is as high as C, no other tile needs its panels of B. With few rows it stays so:
    # packing B beforehand would move more bytes than the product itself; with more of them too, if B is far away.
    most, enough = (m_panels, MANY_TASKS) if far else (m_panels if low else HIGH, ENOUGH_TASKS)
    once = tile_m == m_panels <= most and around * n_panels >= enough
    narrowest = 2 if tile_m <= HIGH else NARROW
    if once:
        again = machine.registers < MANY_REGISTERS and m * k * bytes_each > 4 * machine.l2_bytes
        narrowest = _narrowest(around * n_panels, far, streams, again)
    tile_n = min(n_panels, 16)
    while tile_m * tile_n > 4 and around * -(-m_panels // tile_m) * -(-n_panels // tile_n) < machine.tiles:
        if tile_n > narrowest:
            tile_n = -(-tile_n // 2)
        elif once:
            break
        else:
            tile_m = -(-tile_m // 2)
            narrowest = 2 if tile_m <= HIGH else NARROW
    # Tiles of equal height.
    return replace(blocking, tile_m=-(-m_panels // -(-m_panels // tile_m)), tile_n=tile_n), far and once


def _narrowest(panels: int, far: bool, streams: bool, again: bool) -> int:
    """Least panels of B of a tile as high as C; `again`: tiles read an A that comes from afar, each of them."""
    if streams and panels < NARROW * ENOUGH_TASKS * 2:
        return 2
    if not far or panels < NARROW * ENOUGH_TASKS:
        return 1
    # B is packed by the tasks then: several panels at once, so that its rows are read in longer runs.
    return LOW_NARROW if again and panels >= LOW_NARROW * ENOUGH_TASKS else NARROW


def _with_broad_tiles(blocking: Blocking, product: Contraction, machine: Machine) -> Blocking:
    """
    The blocking of tasks that pack many panels of B, again for each tile of rows, and multiply each panel of A by all.
    """
    around = _around(product)
    panel = blocking.kc * blocking.vectors * machine.vector_bits // 8
    most = max(LEAST_ACROSS, min(MOST_ACROSS, machine.l2_bytes // panel))
    enough = max(ENOUGH_TASKS, min(MANY_TASKS, product.multiplications // LARGE_TASK))

    def cost(down: int, width: int) -> float:
        tasks = around * down * -(-blocking.n_panels // width)
        idle = max(enough, -(-tasks // ENOUGH_TASKS) * ENOUGH_TASKS) / tasks - 1
        return AGAIN / width + PACKED_ROWS * down / product.m.size + idle

    down, width = min(pairs(range(1, MOST_DOWN + 1), range(LEAST_ACROSS, most + 1)), key=lambda shape: cost(*shape))
    # Tiles of equal width and height.
    width = -(-blocking.n_panels // -(-blocking.n_panels // width))
    return replace(blocking, tile_m=-(-blocking.m_panels // down), tile_n=width, run=width, broad=True)


def _with_runs(blocking: Blocking, product: Contraction, machine: Machine) -> Blocking:
    """The blocking of tasks that pack runs of rows of B, if its columns are neighbours in memory."""
    if product.n.b != 1 or product.m.size > SHORT_RUN_ROWS:
        return blocking
    bytes_of_panel = machine.vector_bits // 8 * blocking.vectors
    few = product.m.size <= LONG_RUN_ROWS
    length, part = (LONG_RUN, 4) if few else (SHORT_RUN, 2)
    tasks = max(LEAST_RUNS, round(blocking.n_panels * bytes_of_panel / length))
    run = -(-blocking.n_panels // tasks)
    groups = -(-product.k.size // blocking.group)
    passes = -(-groups * run * bytes_of_panel * part // machine.l2_bytes)
    kc = min(groups, -(-groups // (passes * ROWS_AT_ONCE)) * ROWS_AT_ONCE)
    return replace(blocking, kc=kc, tile_n=run, run=run, by_passes=False)


def spare_registers(product: Contraction, group: int) -> int:
    """Registers that dot products of integers need beside those of other products."""
    return 1 if group > 1 and isinstance(product.element, IntegerType) else 0


def most_rows(vectors: int, registers: int, spare: int = 0) -> int:
    """
    The most rows of a block of so many vectors.

    Registers hold the sums, a row of B, and the broadcast element of A; dot products of integers need one more
    (`spare`) and a further row of sums.
    """
    return min(MOST_ROWS, (registers - 1 - spare - vectors) // vectors - spare)


def cost_of_step(rows: int, vectors: int, load: float = LOAD, latency: int = LATENCY) -> float:
    """
    The cost of a step of a block, which multiplies `rows * vectors` times and loads `rows + vectors` times; both take
    half a cycle. `load`: of a load, in multiply-adds; `latency`: the sums that hide that of additions.
    """
    return max(rows * vectors, load * (rows + vectors), latency) + 0.7 * vectors


def _cost(m: int, n: int, lanes: int, load: float, waits: bool) -> Callable[[int, int], float]:
    """
    The cost of m x n by blocks of some rows and vectors; `load`: of a load, in multiply-adds; `waits`: blocks are low,
    and wait for their panels of B.
    """

    def cost(rows: int, vectors: int) -> float:
        step = cost_of_step(rows, vectors, load, EXPOSED if waits else LATENCY)
        each = step * (HALF_LINES if waits and vectors == 1 else 1)
        return -(-m // rows) * -(-n // (vectors * lanes)) * each

    return cost


def _cost_of_bytes(m: int, n: int, k: int, lanes: int) -> Callable[[int, int], float]:
    """The same for dot products of bytes with k steps, whose lines of C are asked for before the last ones."""

    def cost(rows: int, vectors: int) -> float:
        step = max(rows * vectors, rows + vectors, LATENCY) + 0.15 * vectors
        written = rows * vectors * (7 if rows <= LOW else 16)
        return -(-m // rows) * -(-n // (vectors * lanes)) * (k * step + written)

    return cost


def _shape(m: int, cost: Callable[[int, int], float], registers: int, spare: int, most: int) -> tuple[int, int]:
    """The rows and vectors of a block that multiply m rows at the least cost."""
    shapes = [
        (rows, vectors)
        for vectors in range(1, most + 1)
        for rows in range(min(m, MIN_ROWS), most_rows(vectors, registers, spare) + 1)
    ]
    return min(shapes, key=lambda shape: (cost(*shape), -shape[0]))


def loops_inside(product: Contraction, blocking: Blocking, machine: Machine) -> int:
    """The contracted loops around k through which the micro-kernel runs while its part of B stays in a cache."""
    loops, elements = product.outer_k, product.k.size * blocking.nr
    if product.k.size > blocking.kc * blocking.group:
        return 0
    most = SHALLOW
    if machine.registers < MANY_REGISTERS:
        # Panels are narrow then: writing C again and again costs more than reading them from the L2 cache. If each step
        # reads a line of A for a few elements of it, as in gradients of filters, the lines are to stay as well.
        bytes_each = machine.vector_bits // 8 // blocking.lanes
        along = product.k.a == 1 != product.m.a
        most = int(STAYS * (machine.l2_bytes if along else machine.l1_bytes)) // bytes_each
        if not along:
            while loops and elements * math.prod(loop.size for loop in loops) > most:
                loops = loops[1:]
            return len(loops)
    return len(loops) if product.depth * blocking.nr <= most else 0
