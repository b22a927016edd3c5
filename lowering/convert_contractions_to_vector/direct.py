"""
Products whose factor A has overlapping windows, as in convolutions.

Packed, A would be as large as all its windows together, so it is read in place: row i of a panel is at `i * stride`,
which folds into the addressing of loads. Panels do not extend beyond the edge of A: if rows do not divide evenly, the
last panel begins earlier, and the rows that it shares with the previous one are not written. B is packed beforehand,
unless it is small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type, IntegerType
from xdsl.ir import SSAValue

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import Scalar, width_of
from ..device.cpu import CPU, Machine
from ..loop_nests.indices import at_most, delinearized
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from ..loop_nests.nest import Access
from .blocking import MANY_REGISTERS, Blocking, lanes_of, loops_inside, most_rows, pairs_bfloats
from .constants import KernelConstants
from .contraction import Contraction, Loop, along_k
from .edges import Edge, FiniteFilters, is_first, is_inside, window_at
from .epilogue import Tile
from .kernel import ProductEmitter, Step
from .micro_kernel import PanelOfA
from .operand import Operand, number_matrices
from .packing import Packer
from .panel import MAGNITUDE, are_normal, emit_least, emit_pairs, packed_type
from .parts import in_parts, parts_of
from .shared_function import call_known
from .vectors import VectorBuilder

INFLATION = 2
"""Least ratio of the size of A's panels to A for which A is read in place."""

FEW_COLUMNS = 512
"""Columns of B up to which packing A would cost much of the time that it saves."""

FEW_ROWS = 8
"""Rows of a panel whose lines map to few sets of the L1 cache: no more than the ways of a set."""

ALIASING = 2048
"""A row stride in bytes whose multiples map the lines of a panel to few sets of the L1 cache."""

SMALL = 1 << 16
"""Elements of all panels of A below which A is packed."""

SMALL_B = 1 << 15
"""Elements of B up to which it is not packed."""

ONCE = 2
"""Panels of A up to which packing B costs more than reading it in place each time."""

FEW_PANELS = 8
"""The same for sums over several loops, as of gradients of filters: B is the gradient of many results."""

LEAST_ROWS = 6
"""Fewest rows of a panel that is chosen to divide the rows of A; fewer would not hide the latency of the additions."""

MOST_STREAMED = 4
"""The same for a B that is larger than the caches: a pass over a few of its rows leaves them there for all panels."""

STREAMED_ROWS = 64
"""Rows of such a B in one pass, whose pages the processor has at hand."""

FEW_STREAMED_ROWS = 16
"""The same for few rows of A, and a B that comes from memory: it, not the sums, takes the time."""

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
    narrow = product.n.size <= FEW_COLUMNS and product.k.a == 1 and _panels(product) >= SMALL
    return (_is_inflated(product) or narrow) and buffer_of(product.a.root).element_type == product.element


def oriented(product: Contraction, machine: Machine) -> Contraction:
    """The product, or `C^T = B^T A^T` if B has too few columns for vectors and A is not read in place."""
    few = 2 * product.n.size <= lanes_of(product, machine) and product.m.size > product.n.size
    return product.transposed() if few and not reads_in_place(product, machine) else product


def streams(product: Contraction, machine: Machine) -> bool:
    """Whether B is larger than the caches nearby, and lies in memory by rows, as it is multiplied."""
    return product.n.b == 1 and _bytes_of_b(product) > machine.l2_bytes and not product.outer_k


def _bytes_of_b(product: Contraction) -> int:
    """Bytes of one matrix B, with the chunks of its sum, which follow each other in both factors, see split.py."""
    k = product.k
    chunks = [loop.size for loop in product.outer if (loop.a, loop.b) == (k.a * k.size, k.b * k.size)]
    return math.prod(chunks) * k.size * product.n.size * width_of(product.factors[1]) // 8


def reads_both_in_place(product: Contraction, blocking: Blocking, machine: Machine) -> bool:
    """
    Whether B too is better read in place: it fits into the caches, each of its elements is needed only once, or its
    rows are those of a panel.
    """
    a, b = product.factors
    aliases = lines_alias(product, product.k.a) or lines_alias(product, product.k.b)
    cached = product.k.size * product.n.size <= SMALL_B and product.m.size >= LEAST_ROWS and not aliases
    # Low blocks read each row of B for few multiply-adds; where it is widened, they read fewer bytes.
    is_narrow = width_of(b) < width_of(product.element)
    is_near = blocking.m_panels * _bytes_of_b(product) <= MOST_READ
    most = MOST_STREAMED if machine.registers >= MANY_REGISTERS or is_narrow or is_near else 1
    few = blocking.m_panels <= (most if streams(product, machine) else ONCE)
    if product.outer_k:
        panels = product.rows // product.m.size * blocking.m_panels
        cached, few = False, panels <= FEW_PANELS
    in_panels = product.n.b == 1 and product.k.b == product.n.size == blocking.nr and a == product.element == b
    # Few rows are widened when they are read; others would be each time.
    floats = not isinstance(product.element, IntegerType)
    short = (BFloat16Type, Float16Type, IntegerType) if floats else (BFloat16Type, Float16Type)
    narrow = few and all(x == product.element or isinstance(x, short) for x in (a, b))
    return (
        (narrow or a == product.element == b)
        and 1 in (product.m.a, product.k.a)
        and product.n.b == product.n.c == 1
        and product.n.size >= blocking.nr
        # Panels that share columns would apply an epilogue to them twice.
        and (product.n.size % blocking.nr == 0 or product.epilogue is None)
        and (cached or few or in_panels)
    )


def block_rows(product: Contraction, blocking: Blocking, machine: Machine, streamed: bool = False) -> Blocking:
    """
    The blocking with panels and tiles of rows over all loops that move only A and C. `streamed`: B is read in place, a
    few rows at a time.
    """
    most = most_rows(blocking.vectors, machine.registers)
    if product.k.a == 1 and lines_alias(product, product.m.a) and blocking.vectors > 1:
        most = min(most, FEW_ROWS)
    even = [rows for rows in range(LEAST_ROWS, most + 1) if product.m.size % rows == 0]
    mr = max(even, default=min(blocking.mr, most, product.m.size))
    bytes_each = machine.vector_bits // 8 // blocking.lanes
    panels = -(-product.m.size // mr) * math.prod(loop.size for loop in product.outer if not loop.b)
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
        blocking = replace(blocking, kc=-(-blocking.kc // -(-blocking.kc // rows)))
        tile_m = least_m = panels
        least_n = min(-(-STREAMED_COLUMNS // blocking.nr), -(-blocking.n_panels // 2))

    def tasks_of(tile_m: int, tile_n: int) -> int:
        return batches * -(-panels // tile_m) * -(-blocking.n_panels // tile_n)

    while far and tile_n > 1 and tasks_of(tile_m, tile_n) < tasks:
        tile_n = -(-tile_n // 2)
    while tile_m > least_m and tasks_of(tile_m, tile_n) < tasks:
        tile_m = -(-tile_m // 2)
    while tile_n > least_n and tasks_of(tile_m, tile_n) < tasks:
        tile_n = -(-tile_n // 2)
    inside = loops_inside(product, blocking, machine)
    return replace(blocking, mr=mr, m_panels=panels, tile_m=tile_m, tile_n=tile_n, loops_inside=inside)


def alternate(product: Contraction) -> bool:
    """Whether rows of several matrices alternate in A, as those of a convolution's groups with the features last."""
    batches = [loop for loop in product.outer if loop.b]
    return bool(batches) and all(0 < loop.a * loop.size <= product.m.a for loop in batches)


def panels_of_row(product: Contraction, blocking: Blocking) -> int:
    """The panels of the innermost rows: in a convolution, those of a row of the output."""
    return -(-product.m.size // blocking.mr)


class LeastNumbers:
    """The least numbers of factors of bf16 that are multiplied in pairs, of all elements; see panel.py."""

    def __init__(self, builder: LoopBuilder, kernel: func.FuncOp, lanes: int):
        self.builder = builder
        self.kernel = kernel
        self.lanes = lanes
        self._places: list[tuple[SSAValue, Index]] = []

    def find(self, buffer: SSAValue) -> None:
        """Find the least number of a buffer, part by part."""
        builder, count = self.builder, math.prod(buffer_of(buffer).get_shape())
        numbers = builder.alloc(memref_type((parts_of(count),), MAGNITUDE))
        with in_parts(builder, count) as (part, at, size):
            arguments = (buffer, at, size, numbers, part)
            call_known(builder, self.kernel, "least", arguments, self.lanes, emit_least)
        self.note(numbers)

    def note(self, numbers: SSAValue) -> None:
        """Find the least one of the least numbers of parts."""
        builder, vectors = self.builder, VectorBuilder(self.builder)
        (count,) = buffer_of(numbers).get_shape()
        with builder.loop(1, count, carry=[builder.load(numbers, [0])]) as (part, found):
            builder.yield_(vectors.least(found[0], builder.load(numbers, [part])))
        least = builder.alloc(memref_type((1,), MAGNITUDE))
        builder.store(found[0], least, [0])
        self._places.append((least, 0))

    def are_normal(self) -> Scalar | None:
        """Whether no products and sums of them are subnormal."""
        return are_normal(self.builder, [*self._places, *[None] * (2 - len(self._places))])


class DirectProductEmitter(ProductEmitter):
    """
    Emits one contraction that reads A in place, and B too unless `b_packed`.

    `blocking.m_panels` counts the panels of all rows, see `block_rows`.
    """

    finds_offsets = False

    may_keep_tiles = False

    def __init__(
        self,
        builder: LoopBuilder,
        kernel: func.FuncOp,
        constants: KernelConstants,
        product: Contraction,
        blocking: Blocking,
        overwrite: bool,
        b_packed: bool = True,
        b_streams: bool = False,
        edges: tuple[Edge, ...] = (),
    ):
        self.b_packed = b_packed
        self.b_streams = b_streams
        self.edges = edges
        self.filters: FiniteFilters | None = None
        """Says whether the products with padding at the edges may be left out."""
        self.batches = [loop for loop in product.outer if loop.b]
        self.row_loops = [loop for loop in product.outer if not loop.b]
        outer_k, self.inner_k = product.loops_around(blocking.loops_inside)
        """Contracted loops that the micro-kernel runs through, so that C is written once."""
        self.around = product.outer
        """All loops around the product that move C, in their order."""
        self.matrices_alternate = alternate(product)
        # The loops around B's matrices come first; those over rows are counted with the panels.
        product = replace(product, outer=tuple(self.batches), outer_k=outer_k)
        super().__init__(builder, kernel, constants, product, blocking, overwrite)
        self.least: LeastNumbers | None = None
        """The least numbers of both factors, if they are multiplied in pairs of bf16."""

    def emit_packing(self) -> None:
        super().emit_packing()
        if self.edges:
            filters = self.packers[0].buffer if self.b_packed else self.product.b.root
            self.filters = FiniteFilters(self.builder, self.kernel, filters, self.blocking.lanes)
        if isinstance(packed_type(self.product.element, self.blocking.group), BFloat16Type):
            self.least = LeastNumbers(self.builder, self.kernel, self.blocking.lanes * self.blocking.group)
            self.least.find(self.source)
            if (numbers := self.packers[0].least_numbers) is not None:
                self.least.note(numbers)

    @property
    def source(self) -> SSAValue:
        """The buffer whose elements A consists of, besides zeros."""
        return self.product.a.root

    def _normal(self) -> Scalar | None:
        return None if self.least is None else self.least.are_normal()

    @property
    def multiplications(self) -> int:
        return super().multiplications * math.prod(loop.size for loop in (*self.row_loops, *self.inner_k))

    def pack(self) -> tuple[Packer, ...]:
        if not self.b_packed:
            return ()
        product, blocking = self.product, self.blocking
        around = (*self.batches, *product.outer_k, *self.inner_k)
        matrices = number_matrices([loop.size for loop in around], [loop.b for loop in around])
        n, k = product.n, product.k
        operand = Operand(product.b, matrices, n.size, n.b, k.size, k.b, blocking.nr, blocking.group, local=False)
        return (self.packer(operand),)

    def panel_of_b(self, at: Sequence[Index], j: IndexValue, lower: Index, upper: Index) -> Index:
        if self.b_packed:
            return self.packers[0].panel([*at, *(0 for _ in self.inner_k)], j, lower, upper)
        builder, product = self.builder, self.product
        found = product.b.offset_at(builder) + self._column(j)
        for loop, index in zip((*self.batches, *product.outer_k), at, strict=True):
            found += index * loop.b
        return found + lower * product.k.b

    def _lies(self) -> PanelOfA:
        """The strides of a panel's rows and steps; the loops that the micro-kernel runs through move both factors."""
        loops = tuple((loop.size, loop.a, loop.b) for loop in self.inner_k)
        if self.inner_k and self.b_packed:
            operand = self.packers[0].operand
            matrices = [around.matrices for around in operand.around[len(operand.around) - len(self.inner_k) :]]
            loops = tuple(
                (loop.size, loop.a, matrix * operand.panels * operand.panel_size)
                for loop, matrix in zip(self.inner_k, matrices, strict=True)
            )
        return PanelOfA(row=self.product.m.a, step=self.product.k.a, loops=loops, overlaps=True)

    @property
    def panels_of_row(self) -> int:
        return panels_of_row(self.product, self.blocking)

    def _panel_places(self, number: Index) -> tuple[list[Index], Index]:
        """The indices of the loops over rows, and the panel of the innermost rows, of panel `number`."""
        if not self.row_loops:
            return [], number
        each = self.panels_of_row
        at = delinearized(number // each, [loop.size for loop in self.row_loops])
        return at, number % each

    def _moved(self, offset: Index, loops: Sequence[Loop], at: Sequence[Index], of_a: bool) -> Index:
        for loop, index in zip(loops, at, strict=True):
            offset += index * (loop.a if of_a else loop.c)
        return offset

    def column_of_c(self, j: IndexValue, first: bool) -> Index:
        """Sums that are stored, not added, are stored by both panels that share their columns: they are the same."""
        return self._column(j) if first and not self.b_packed else super().column_of_c(j, first)

    def _column(self, j: IndexValue) -> Index:
        """The first column of panel j of B in place."""
        column = j * self.blocking.nr
        columns = self.product.n.size
        return self.builder.min(column, columns - self.blocking.nr) if columns % self.blocking.nr else column

    def _row(self, i: Index) -> Index:
        """The first row of panel i."""
        row = i * self.blocking.mr
        rows = self.product.m.size
        return self.builder.min(row, rows - self.blocking.mr) if rows % self.blocking.mr else row

    def emit_block(self, step: Step, i: IndexValue, j: IndexValue, first: bool) -> None:
        builder, product = self.builder, self.product
        rows_at, panel = self._panel_places(i)
        a_at = self._moved(product.a.offset_at(builder), (*self.batches, *product.outer_k), step.at, of_a=True)
        a_at = self._moved(a_at, self.row_loops, rows_at, of_a=True)
        a_at += self._row(panel) * product.m.a
        a_at += step.lower * (product.k.a * self.blocking.group)
        output = self._moved(step.output, self.row_loops, rows_at, of_a=False)
        self.multiply_inside((product.a.root, a_at), step, output, (rows_at, panel), j, first)

    def multiply_inside(
        self,
        a: tuple[SSAValue, Index],
        step: Step,
        output: Index,
        place: tuple[Sequence[Index], Index],
        j: IndexValue,
        first: bool,
    ) -> None:
        """
        As `multiply_block`, without what the edges leave out. `place`: the indices of the loops over rows, and the
        panel of the innermost rows.
        """
        builder, product, lies, (rows_at, panel) = self.builder, self.product, self._lies(), place
        if self.filters is None:
            self.multiply_block(a, lies, step, output, panel, j, first, self._normal())
            return
        ranges = window_at(builder, self.edges, self.filters.are(), rows_at, self._row(panel), self.blocking.mr)
        outside = len(product.outer_k)
        (root, a_at), b_at, loops, turns = a, step.b_at, list(lies.loops), list[Index]()
        for tap, (lower, upper) in sorted(ranges.items()):
            if tap < outside:
                continue
            _, a_step, b_step = loops[tap - outside]
            loops[tap - outside] = None, a_step, b_step
            a_at += lower * a_step
            b_at += lower * b_step
            turns.append(upper - lower)
        lies, step = replace(lies, loops=tuple(loops)), replace(step, b_at=b_at)
        needed = None
        if around := {tap: each for tap, each in ranges.items() if tap < outside}:
            taps = step.at[len(step.at) - outside :]
            # The first element stores to the block.
            needed = is_first(builder, taps) | is_inside(builder, taps, around)
        with builder.guarded(needed):
            self.multiply_block((root, a_at), lies, step, output, panel, j, first, turns=tuple(turns))

    def complete_parts(
        self, position: Sequence[Index], rows: tuple[Index, Index], columns: tuple[Index, Index]
    ) -> Iterator[tuple[Sequence[Index], tuple[Index, Index], Tile | None]]:
        builder, product, blocking = self.builder, self.product, self.blocking
        # Rows that are neighbours in memory are completed together.
        each = self.panels_of_row if product.m.c == 1 != product.n.c else 1
        with builder.loop(rows[0] // each, (rows[1] + (each - 1)) // each) as number:
            begin = number if each == 1 else builder.index(number * each).max(rows[0])
            end = begin + 1 if each == 1 else builder.min((number + 1) * each, rows[1])
            rows_at, i = self._panel_places(begin)
            of_batches, of_rows = iter(position), iter(rows_at)
            outer = [next(of_batches) if loop.b else next(of_rows) for loop in self.around]
            row = i * blocking.mr
            below = row + (end - begin) * blocking.mr
            # The rows shared with the previous panel have had theirs.
            yield outer, (row, at_most(builder, below, blocking.mr, product.m.size)), None
