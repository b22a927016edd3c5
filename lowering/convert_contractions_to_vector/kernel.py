"""
The loops of a blocked matrix product.

A and B are packed into panels first: `mr` rows of A (`nr` columns of B) interleaved along k, zeros beyond the edge. A
factor whose panels only one tile needs is packed when needed, one pass at a time, into a buffer of the task. Then each
tile of C is a task: for each pass over k, for each panel of B, for each panel of A, the micro-kernel adds the product
of two panels, held in registers, to a block of C.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...dialects.support.buffers import Buffer, memref_type
from ...dialects.support.scalar import Scalar, width_of
from ..convert_linalg_to_scf.column_sums import TileSums
from ..device.cpu import CPU
from ..loop_nests.indices import chunk, delinearized, end_of, parts_between, rest_of
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LINE, LoopBuilder
from .block_of_c import Target
from .blocking import BYTES, TILE_BYTES, Blocking
from .constants import KernelConstants
from .contraction import Contraction, chunks_of
from .epilogue import Tile, ask_for_results, emit_epilogue, is_temporary
from .micro_kernel import Arguments, call_micro_kernel
from .offsets import emit_offsets
from .operand import Operand, number_matrices, panels_in_run
from .packing import LOCAL_RUN, MOST_LOCAL, Packer
from .panel import are_normal, packed_type
from .panel_of_a import PanelOfA
from .parts import tasks
from .shared_function import call_known
from .sums.factor_columns import ColumnSums, Facts

MULTIPLICATIONS_PER_OPERATION = CPU.products_per_ns // CPU.operations_per_ns
"""Multiply-adds of the micro-kernel that take as long as one operation of dialects/cost.py."""


FEW_COLUMNS = 128
"""Columns of C up to which each task packs the rows of A of its tile, which would pass through memory otherwise."""

OFFSETS_FIRST = 4
"""
Tiles of rows from which it pays to read B once more for the offsets of all its panels, perhaps from memory. Each tile
finds them anew otherwise, when it begins with a panel.
"""

BIAS = -128
"""The number that is added to bytes of A, modulo 256, so that dot products read unsigned numbers."""


TILE_PADDING = 16
"""Elements between the rows of such a tile, whose lines would otherwise share few sets of the L1 cache."""


@dataclass(frozen=True)
class Destination:
    """Where the blocks of C are: a buffer, and strides, in elements, from one row and column to the next."""

    buffer: SSAValue
    row: int
    column: int


@dataclass(frozen=True)
class Step:
    """One pass over k for one tile and one panel of B."""

    output: Index
    """The offset of C."""
    at: Sequence[Index]
    """The indices of the loops around the product."""
    lower: Index
    upper: Index
    b_at: Index
    """The offset of the packed panel of B."""
    ahead: Index | None = None
    """See `Arguments`."""


class ProductEmitter:
    """Emits one contraction at the builder's insertion point."""

    b_packed = True
    """Whether B is packed, rather than read in place."""

    b_streams = False
    """Whether passes go along a few rows of B."""

    finds_offsets = True
    """Whether products of bytes find once what the sums of each panel of B start from."""

    may_keep_tiles = True
    """Whether tasks may keep their tiles of C to themselves until the epilogue."""

    matrices_alternate = False
    """Whether tasks go through the matrices of a batch before they go on to other rows."""

    def __init__(
        self,
        builder: LoopBuilder,
        kernel: func.FuncOp,
        constants: KernelConstants,
        product: Contraction,
        blocking: Blocking,
        overwrite: bool,
    ):
        self.builder = builder
        self.kernel = kernel
        self.constants = constants
        self.product = product
        self.blocking = blocking
        self.overwrite = overwrite
        """Whether C starts from zero, rather than from the contents of its buffer."""
        self.packers = self.pack()
        """The packers of B and A; A may be read without one."""
        self.sums: list[TileSums] = []
        """The sums of what each tile has complete."""
        self.offsets: SSAValue | None = None
        """The offsets of all passes of all panels of B, or of the one that a task multiplies; see offsets.py."""
        if self._has_offsets and self._offsets_first:
            operand = self.packers[0].operand
            numbers = operand.matrices * operand.panels * self.passes * blocking.nr
            self.offsets = builder.alloc(memref_type((numbers,), product.element))

    @property
    def multiplications(self) -> int:
        """The multiplications of the whole product, also where `product` leaves loops out."""
        return self.product.multiplications

    def pack(self) -> tuple[Packer, ...]:
        product, blocking = self.product, self.blocking
        around = (*product.outer, *product.outer_k)
        sizes = [loop.size for loop in around]
        m, n, k = product.m, product.n, product.k
        # Each panel of A is used by all tiles in its rows, each panel of B by all tiles in its columns.
        a_once = all(loop.a for loop in around) and (blocking.n_panels == 1 or self._keeps_rows)
        b_once = (blocking.broad or blocking.tile_m >= blocking.m_panels) and all(loop.b for loop in around)
        a_around = number_matrices(sizes, [loop.a for loop in around])
        b_around = number_matrices(sizes, [loop.b for loop in around])
        a = Operand(product.a, a_around, m.size, m.a, k.size, k.a, blocking.mr, blocking.group, a_once)
        b = Operand(product.b, b_around, n.size, n.b, k.size, k.b, blocking.nr, blocking.group, b_once)
        by_passes = blocking.kc if blocking.by_passes else 0
        a = replace(a, computed=product.computed_a, by_passes=by_passes)
        b = replace(b, computed=product.computed_b, by_passes=by_passes)
        if a_once and blocking.n_panels > 1:
            a = replace(a, run=blocking.tile_m)
        if b_once:
            run = blocking.run or min(MOST_LOCAL, panels_in_run(b, LOCAL_RUN))
            b = replace(b, run=min(run, blocking.tile_n))
        packer_of_a = self.packer(a, BIAS if blocking.group == BYTES else 0)
        return self.packer(b), packer_of_a

    @property
    def _keeps_rows(self) -> bool:
        """Whether each task packs the rows of A of its tile, which no other tile needs."""
        blocking = self.blocking
        few = self.product.n.size <= FEW_COLUMNS or bool(chunks_of(self.product))
        few = few and blocking.n_panels <= blocking.tile_n
        elements = blocking.tile_m * blocking.mr * blocking.kc * blocking.group
        width = width_of(packed_type(self.product.element, blocking.group))
        return few and elements * width // 8 <= TILE_BYTES

    def packer(self, operand: Operand, bias: int = 0) -> Packer:
        element = packed_type(self.product.element, self.blocking.group)
        return Packer(self.builder, self.kernel, operand, self.blocking, element, bias, self.constants)

    @property
    def groups(self) -> int:
        """The groups of elements along k."""
        return -(-self.product.k.size // self.blocking.group)

    @property
    def passes(self) -> int:
        return -(-self.groups // self.blocking.kc)

    @property
    def _has_offsets(self) -> bool:
        return self.finds_offsets and self.blocking.group == BYTES and self.blocking.m_panels > 1

    @property
    def _offsets_first(self) -> bool:
        """Whether all offsets are found before the product, rather than by each task for its rows."""
        down = -(-self.blocking.m_panels // self.blocking.tile_m)
        return not self.packers[0].operand.local and down >= OFFSETS_FIRST

    def sum_columns(self) -> ColumnSums | None:
        """Add up the columns of B while they are packed; None if they are not, or more than once."""
        packer, blocking = self.packers[0], self.blocking
        if not self.b_packed or packer.is_packed or (blocking.broad and blocking.tile_m < blocking.m_panels):
            return None
        facts = Facts(blocking.nr, blocking.lanes, blocking.group)
        element = self.product.element
        packer.sums = ColumnSums.of(self.builder, self.kernel, element, packer.pieces, packer.operand.panels, facts)
        return packer.sums

    def emit(self) -> None:
        self.emit_packing()
        self.multiply()

    def emit_packing(self) -> None:
        """Pack what is packed beforehand."""
        for packer in reversed(self.packers):
            packer.pack_beforehand()
        if self._has_offsets and self._offsets_first:
            operand, passes = self.packers[0].operand, self.passes
            panels = operand.matrices * operand.panels
            each_panel = tasks(self.builder, panels, panels * operand.panel_size)
            with each_panel as panel, self.builder.loop(0, passes) as number:
                lower, upper = chunk(self.builder, number, self.blocking.kc, self.groups)
                at = panel * operand.panel_size + lower * (operand.width * operand.group)
                self._find_offsets(at, upper - lower, (panel * passes + number) * operand.width)

    def _find_offsets(self, b_at: Index, steps: Index, at: Index) -> None:
        """Find the offsets of a pass of a panel of B."""
        assert self.offsets is not None
        arguments = (self.packers[0].buffer, b_at, steps, self.offsets, at)
        call_known(self.builder, self.kernel, "offsets", arguments, self.blocking.of_block, emit_offsets)

    def _offsets_at(self, step: Step, j: IndexValue) -> Index:
        """The place of the offsets of a pass of panel j."""
        if not self._has_offsets or not self._offsets_first:
            return 0
        number = self.packers[0].number(step.at, j) * self.passes
        return (number if self.passes == 1 else number + step.lower // self.blocking.kc) * self.blocking.nr

    # Tiles of C.

    def multiply(self) -> None:
        """Emit the product, one iteration per tile of each C."""
        builder, product, blocking = self.builder, self.product, self.blocking
        across = -(-blocking.n_panels // blocking.tile_n)
        down = -(-blocking.m_panels // blocking.tile_m)
        around = math.prod(loop.size for loop in product.outer)
        self.sums = [TileSums.of(builder, nest, around * down) for nest in product.sums]
        work = self.multiplications // MULTIPLICATIONS_PER_OPERATION
        with tasks(self.builder, around * down * across, work) as number:
            column = number % across * blocking.tile_n
            rest = number // across
            if self.matrices_alternate:
                row, matrix = rest // around * blocking.tile_m, rest % around
            else:
                row, matrix = rest % down * blocking.tile_m, 0 if around == 1 else rest // down
            position = delinearized(matrix, [loop.size for loop in product.outer])
            rows = (row, end_of(builder, row, blocking.tile_m, blocking.m_panels))
            columns = (column, end_of(builder, column, blocking.tile_n, blocking.n_panels))
            self._emit_tile(rest, position, rows, columns)

    @property
    def keeps_tiles(self) -> bool:
        """Whether each task has a tile of its own for C, which nothing but the epilogue reads."""
        epilogue = self.product.epilogue
        if epilogue is None or not self.may_keep_tiles or not self.overwrite:
            return False
        elements = math.prod(self._tile.get_shape())
        fits = elements * width_of(self.product.element) // 8 <= TILE_BYTES
        return fits and is_temporary(self.product.c.root, epilogue)

    @property
    def _tile(self) -> Buffer:
        blocking = self.blocking
        shape = blocking.tile_m * blocking.mr, blocking.tile_n * blocking.nr + TILE_PADDING
        return memref_type(shape, self.product.element)

    def _emit_tile(
        self, part: Index, position: Sequence[Index], rows: tuple[Index, Index], columns: tuple[Index, Index]
    ) -> None:
        """Emit a tile of the product, in the given `part` of all rows."""
        builder, product, blocking = self.builder, self.product, self.blocking
        passes = self.passes
        self.destination = Destination(product.c.root, product.m.c, product.n.c)
        output = product.c.offset_at(builder)
        for loop, index in zip(product.outer, position, strict=True):
            output += index * loop.c
        if self.keeps_tiles:
            tile = self._tile
            self.destination = Destination(builder.alloca(tile), tile.get_shape()[1], 1)
            output = columns[0] * -blocking.nr + rows[0] * (-blocking.mr * self.destination.row)
        once = passes == 1 and not product.outer_k
        self.begin_task()
        with ExitStack() as nest:
            at = [*position]
            for loop in product.outer_k:
                at.append(nest.enter_context(builder.loop(0, loop.size)))
            number = nest.enter_context(builder.loop(0, passes))
            lower, upper = chunk(builder, number, blocking.kc, self.groups)
            self.panels_of_tile = rows, columns
            self.emit_pass(output, at, (lower, upper), rows, columns, self.overwrite and once)
        if product.epilogue is None and not self.sums:
            return
        range_of_c = self.columns_of_tile(columns)
        for sums in self.sums:
            sums.begin(part, range_of_c)
        for outer, rows_of_c, tile in self.complete_parts(position, rows, columns):
            if product.epilogue is not None:
                emit_epilogue(builder, product.epilogue, outer, rows_of_c, range_of_c, tile)
            for sums in self.sums:
                sums.add(part, outer, rows_of_c, range_of_c)

    def begin_task(self) -> None:
        """Allocate what each task has of its own."""
        for packer in self.packers:
            packer.begin_task()
        if self._has_offsets and not self._offsets_first:
            self.offsets = self.builder.alloca(memref_type((self.blocking.nr,), self.product.element))

    def emit_pass(
        self,
        output: Index,
        at: Sequence[Index],
        depth: tuple[Index, Index],
        rows: tuple[Index, Index],
        columns: tuple[Index, Index],
        first: bool,
    ) -> None:
        """Emit one pass over k, `depth`, for a tile: panels `rows` of A and `columns` of B."""
        for packer in self.packers[1:]:
            if packer.packs_runs:
                packer.pack_pass(at, rows, *depth)
        with self.runs_of_b(at, depth, columns) as panels:
            if self._packs_runs and (self._offsets_first or not self._has_offsets):
                # Each panel of A is read once for several of B, which stay in the L2 cache.
                with self.builder.loop(*rows) as i, self.builder.loop(*panels) as j:
                    if self.blocking.broad and not self.packers[1].operand.local:
                        self._ask_for_part(at, depth, i + 1, j - panels[0])
                    self.emit_block(self._step(output, at, depth, j), i, j, first)
                return
            with self.builder.loop(*panels) as j:
                step = self._step(output, at, depth, j)
                if self._has_offsets and not self._offsets_first:
                    self._find_offsets(step.b_at, step.upper - step.lower, 0)
                with self.builder.loop(*rows) as i:
                    self.emit_block(step, i, j, first)

    def _ask_for_part(self, at: Sequence[Index], depth: tuple[Index, Index], i: Index, part: Index) -> None:
        """Ask for a part of a panel of A: each of the blocks of the panel before it asks for another."""
        blocking, packer = self.blocking, self.packers[1]
        line = LINE * 8 // width_of(packer.element)
        lines = -(-blocking.mr * blocking.kc // (line * blocking.run))
        first = packer.panel(at, i, *depth) + part * (lines * line)
        view = self.builder.strided_view(packer.buffer, first, (lines * line,), (1,))
        for number in range(lines):
            self.builder.prefetch(view, [number * line], second_level=True)

    @property
    def _packs_runs(self) -> bool:
        """Whether tasks pack several panels of B at once."""
        return self.b_packed and self.packers[0].packs_runs

    def _step(self, output: Index, at: Sequence[Index], depth: tuple[Index, Index], j: IndexValue) -> Step:
        return Step(output, at, *depth, self.panel_of_b(at, j, *depth))

    @contextmanager
    def runs_of_b(
        self, at: Sequence[Index], depth: tuple[Index, Index], columns: tuple[Index, Index]
    ) -> Generator[tuple[Index, Index]]:
        """The loop of a pass over panels of B that are packed together, or all of them."""
        if not self._packs_runs:
            yield columns
            return
        run = self.packers[0].operand.run
        with self.builder.loop(*columns, step=run) as first:
            panels = first, self.builder.min(first + run, columns[1])
            self.packers[0].pack_pass(at, panels, *depth)
            yield panels

    @contextmanager
    def panels_of_b(
        self, output: Index, at: Sequence[Index], depth: tuple[Index, Index], columns: tuple[Index, Index]
    ) -> Generator[tuple[Step, IndexValue]]:
        """The loop of a pass over panels of B: the step with each, and its number."""
        with self.runs_of_b(at, depth, columns) as panels, self.builder.loop(*panels) as j:
            yield self._step(output, at, depth, j), j

    def columns_of_tile(self, columns: tuple[Index, Index]) -> tuple[Index, Index]:
        """The columns of C in a tile of these panels."""
        return parts_between(self.builder, columns, self.blocking.nr, self.product.n.size)

    def complete_parts(
        self, position: Sequence[Index], rows: tuple[Index, Index], columns: tuple[Index, Index]
    ) -> Iterator[tuple[Sequence[Index], tuple[Index, Index], Tile | None]]:
        """
        The parts of a tile of C, which is complete: each time code at the builder's insertion point applies to one. The
        indices of the loops around C, the rows, and where the tile is if it is not in C.
        """
        product, blocking = self.product, self.blocking
        top, bottom = parts_between(self.builder, rows, blocking.mr, product.m.size)
        tile = None
        if self.keeps_tiles:
            tile = Tile(product.c.root, self.destination.buffer, top, columns[0] * blocking.nr)
        yield position, (top, bottom), tile

    def emit_block(self, step: Step, i: IndexValue, j: IndexValue, first: bool) -> None:
        """Add the product of panel i of A and panel j of B to their block of C; if `first`, store it instead."""
        if self.keeps_tiles and self.product.epilogue is not None:
            block = self.blocking.mr, self.blocking.nr
            at = i * block[0], j * block[1]
            ask_for_results(self.builder, self.product.epilogue, step.at[: len(self.product.outer)], at, block)
        a_at = self.packers[1].panel(step.at, i, step.lower, step.upper)
        a, lies = (self.packers[1].buffer, a_at), PanelOfA(row=1, step=self.blocking.mr)
        least = [packer.least(step.at, which) for packer, which in zip(self.packers, (j, i), strict=True)]
        normal = are_normal(self.builder, least)
        self.multiply_block(a, lies, step, step.output, i, j, first, normal)

    # Blocks of C.

    def panel_of_b(self, at: Sequence[Index], j: IndexValue, lower: Index, upper: Index) -> Index:
        """The offset of the packed panel j of B."""
        return self.packers[0].panel(at, j, lower, upper)

    def row_of_c(self, i: Index) -> Index:
        """The first row of C that panel i of A writes."""
        return i * self.blocking.mr

    def column_of_c(self, j: IndexValue, first: bool) -> Index:
        """The first column of C that panel j of B writes."""
        return j * self.blocking.nr

    def multiply_block(
        self,
        a: tuple[SSAValue, Index],
        lies: PanelOfA,
        step: Step,
        output: Index,
        i: Index,
        j: IndexValue,
        first: bool,
        normal: Scalar | None = None,
        low: bool = False,
    ) -> None:
        """
        Add the product of the panel of A at `a` and the step's panel of B to block (i, j) of the matrix at `output`;
        `normal`: see `call_micro_kernel`; `low`: whether it is one of the lower panels.
        """
        builder, product = self.builder, self.product
        blocking = self.blocking.lower if low else self.blocking
        row, column = self.row_of_c(i), self.column_of_c(j, first)
        into = self.destination
        c_at = output + row * into.row
        # Where passes follow each other, the first one stores.
        earlier = None if first or not self.overwrite else step.lower + sum(step.at[len(product.outer) :])
        target = Target(
            column=into.column,
            rows_vary=not self.blocking.low and product.m.size % blocking.mr != 0,
            columns_vary=product.n.size % blocking.nr != 0 and (self.b_packed or not first),
            never_whole=product.m.size < blocking.mr or product.n.size < blocking.nr,
            overwrite=first if earlier is None else None,
            b_packed=self.b_packed,
            columns_overlap=not self.b_packed,
            b_streams=self.b_streams,
            offsets=self.offsets is not None,
            rows_beside=into.row == 1 != into.column,
        )
        arguments = Arguments(
            a=a[0],
            a_at=a[1],
            b=self.packers[0].buffer if self.b_packed else product.b.root,
            b_at=step.b_at,
            b_step=blocking.nr * blocking.group if self.b_packed else product.k.b,
            c=into.buffer,
            c_at=c_at + column * into.column,
            c_row=into.row,
            count=step.upper - step.lower,
            rows=blocking.mr if self.blocking.low else rest_of(builder, row, blocking.mr, product.m.size),
            columns=rest_of(builder, column, blocking.nr, product.n.size),
            offsets=self.offsets,
            offsets_at=self._offsets_at(step, j),
            earlier=earlier,
            ahead=step.ahead,
        )
        call_micro_kernel(builder, self.kernel, blocking, lies, target, arguments, normal)
