"""
Products whose factor A has overlapping windows, as in convolutions.

Packed, A would be as large as all its windows together, so it is read in place: row i of a panel is at `i * stride`,
which folds into the addressing of loads. Panels do not extend beyond the edge of A: if rows do not divide evenly, the
last panel begins earlier, and the rows that it shares with the previous one are not written; where registers are few,
the last panels are lower instead. B is packed beforehand, unless it is small, or one task alone reads it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import SSAValue

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import Scalar
from ..loop_nests.indices import at_most, delinearized
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from .blocking import Blocking
from .constants import KernelConstants
from .contraction import Contraction, Loop, chunks_of
from .edges import Edge, FiniteFilters, is_first, is_inside, window_at
from .epilogue import Tile
from .in_place import alternate, panels_of_row
from .kernel import ProductEmitter, Step
from .operand import Operand, number_matrices
from .packing import Packer
from .panel import MAGNITUDE, are_normal, emit_least, packed_type
from .panel_of_a import PanelOfA
from .parts import in_parts, parts_of
from .shared_function import call_known
from .vectors import VectorBuilder

BLOCKS_AHEAD = 4
"""Blocks between what is multiplied and what is asked for, where these go along rows of B."""


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
        # One tile has all rows that are multiplied by a chunk of B, and packs it then, rather than by way of memory.
        alone = blocking.tile_m >= blocking.m_panels and len(around) == len(self.batches)
        local = bool(chunks_of(product)) and alone and blocking.group == 1 and not self.edges
        operand = Operand(product.b, matrices, n.size, n.b, k.size, k.b, blocking.nr, blocking.group, local=local)
        return (self.packer(operand),)

    def panel_of_b(self, at: Sequence[Index], j: IndexValue, lower: Index, upper: Index) -> Index:
        if self.b_packed:
            return self.packers[0].panel([*at, *(0 for _ in self.inner_k)], j, lower, upper)
        builder, product = self.builder, self.product
        found = product.b.offset_at(builder) + self._column(j)
        for loop, index in zip((*self.batches, *product.outer_k), at, strict=True):
            found += index * loop.b
        return found + lower * (product.k.b * self.blocking.group)

    def _lies(self) -> PanelOfA:
        """The strides of a panel's rows and steps; the loops that the micro-kernel runs through move both factors."""
        loops: tuple[tuple[Index, int, int], ...] = tuple((loop.size, loop.a, loop.b) for loop in self.inner_k)
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

    def row_of_c(self, i: Index) -> Index:
        blocking, row = self.blocking, super().row_of_c(i)
        if not blocking.low:
            return row
        # Counted from the end of the high panels, low ones before it would begin later, and high ones after it, too.
        return self.builder.min(row, i * blocking.low + blocking.high * (blocking.mr - blocking.low))

    def _row(self, i: Index) -> Index:
        """The first row of panel i."""
        row, blocking = self.row_of_c(i), self.blocking
        rows = self.product.m.size
        return self.builder.min(row, rows - blocking.mr) if not blocking.low and rows % blocking.mr else row

    def _ahead(self, step: Step, i: IndexValue, j: IndexValue) -> Index:
        """
        The distance to what the block of panels i and j asks for: for its first rows what the next blocks read, to the
        right or, where the tile ends, below its beginning. Others have nothing to ask for: lines that were asked for
        again would replace each other in the L1 cache, where they often share a set.
        """
        builder, width = self.builder, self.blocking.nr
        (top, _), (begin, end) = self.panels_of_tile
        rows = (step.upper - step.lower) * self.blocking.group
        below = rows * self.product.k.b + (begin - end + BLOCKS_AHEAD) * width
        is_beside = builder.index(j + BLOCKS_AHEAD).compare("lt", end)
        found = builder.select(is_beside, BLOCKS_AHEAD * width, below)
        return builder.select(i.compare("eq", top), found, 0)

    def emit_block(self, step: Step, i: IndexValue, j: IndexValue, first: bool) -> None:
        builder, product = self.builder, self.product
        if self.b_streams:
            step = replace(step, ahead=self._ahead(step, i, j))
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
        low: bool | None = None,
    ) -> None:
        """
        As `multiply_block`, without what the edges leave out. `place`: the indices of the loops over rows, and the
        panel of the innermost rows; `low`: whether it is one of the lower panels, which is found out if it is None.
        """
        if low is None and self.blocking.low:
            with self.builder.when(self.builder.index(place[1]).below(self.blocking.high)):
                self.multiply_inside(a, step, output, place, j, first, low=False)
            with self.builder.otherwise():
                self.multiply_inside(a, step, output, place, j, first, low=True)
            return
        low = bool(low)
        builder, product, lies, (rows_at, panel) = self.builder, self.product, self._lies(), place
        if self.filters is None:
            self.multiply_block(a, lies, step, output, panel, j, first, self._normal(), low=low)
            return
        count = self.blocking.low if low else self.blocking.mr
        ranges = window_at(builder, self.edges, self.filters.are(), rows_at, self._row(panel), count)
        outside = len(product.outer_k)
        (root, a_at), b_at, loops = a, step.b_at, list(lies.loops)
        for tap, (lower, upper) in sorted(ranges.items()):
            if tap < outside:
                continue
            _, a_step, b_step = loops[tap - outside]
            loops[tap - outside] = upper - lower, a_step, b_step
            a_at += lower * a_step
            b_at += lower * b_step
        lies, step = replace(lies, loops=tuple(loops)), replace(step, b_at=b_at)
        needed = None
        if around := {tap: each for tap, each in ranges.items() if tap < outside}:
            taps = step.at[len(step.at) - outside :]
            # The first element stores to the block.
            needed = is_first(builder, taps) | is_inside(builder, taps, around)
        with builder.guarded(needed):
            self.multiply_block((root, a_at), lies, step, output, panel, j, first, low=low)

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
            below = self.row_of_c(i + (end - begin))
            if not blocking.low:
                # The rows shared with the previous panel have had theirs.
                below = at_most(builder, below, blocking.mr, product.m.size)
            yield outer, (self.row_of_c(i), below), None
