"""
Scans along contiguous lines whose function takes long, or whose rows are short: many pieces of lines at once.

A tile of pieces is transposed into scratch memory, so that one step of all of them is a row. Rows are combined as
vectors, and the results transposed back. Where lines are few, each is cut into pieces. A first pass over these finds
what each comes to, and the second scans each from what those before it come to. The cuts depend only on the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from xdsl.ir import Block, SSAValue

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import width_of
from ..convert_linalg_to_scf.transposition import Block as Tile
from ..convert_linalg_to_scf.transposition import Side, block_of, can_transpose, emit_transposed
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk, rest_of
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder, buffer_of

LANES = 64
"""Pieces of a tile: steps of several vectors, none of which waits for another one."""

TILE_BYTES = 1 << 14
"""The bytes of a tile with its results: half of the L1 cache."""

LINE_BYTES = 64

SHORT_ROW = 8
"""Columns below which rows are too short for vectors of their own."""

LEAST_STEPS, LEAST_LONG_STEPS = 8, 3
"""Steps of a line that are worth transposing: of short rows, and of functions that take long."""

PIECE = 1024
"""Steps of a piece, about; lines that are shorter are not cut."""

LEAST_PIECE = 128
"""The least steps of a piece of few lines, which have more pieces, so that there are tiles for several tasks."""

FEW_TILES = 4
"""Tiles that are enough for several tasks."""

MANY_LINES = 4 * LANES
"""Lines that are enough for several tasks without cuts."""


Values: TypeAlias = Sequence[SSAValue]


@dataclass(frozen=True)
class LaneScan:
    """
    A scan of contiguous operands: `groups` of `length` rows of `inner` elements, which are scanned by themselves.

    A group consists of `pieces` of `steps` rows, and of rows in no piece, which the scan reaches at the end. If it is
    cut, the scan goes from piece to piece; else each is a line.
    """

    builder: LoopBuilder
    body: Block
    reverse: bool
    sources: Values
    targets: Values
    groups: int
    length: int
    pieces: int
    steps: int
    inner: int
    is_cut: bool

    def emit(self, start: Values) -> None:
        if not self.is_cut:
            self._over_tiles(lambda group, first: self._scan_tile(group, first, start))
            return
        totals = self._buffers((self.groups, self.pieces, self.inner), self.builder.alloc)
        self._over_tiles(lambda group, first: self._reduce_tile(group, first, totals))
        self._add_up(totals, start)
        self._over_tiles(lambda group, first: self._scan_tile(group, first, totals))

    def _buffers(self, shape: tuple[int, ...], make: Callable[[Any], SSAValue]) -> list[SSAValue]:
        return [make(memref_type(shape, buffer_of(target).element_type)) for target in self.targets]

    @cached_property
    def _rows(self) -> int:
        """Rows of pieces that a tile holds."""
        size = sum(width_of(buffer_of(target).element_type) // 8 for target in self.targets)
        return max(1, min(self.steps, TILE_BYTES // (LANES * self.inner * size)))

    def _over_tiles(self, emit: Callable[[Index, Index], None]) -> None:
        """For each tile, emit what takes its group and its first piece."""
        builder, tiles = self.builder, -(-self.pieces // LANES)
        count = self.groups * tiles
        work = self.groups * self.length * self.inner * (2 * len(self.targets) + region_cost(self.body))
        tasks = task_count(work, work, count)
        size = task_size(count, tasks)
        with (
            builder.parallel(-(-count // size)) as task,
            builder.loop(*chunk(builder, task, size, count)) as tile,
        ):
            emit(tile // tiles, tile % tiles * LANES)

    def _combine(self, before: Values, element: Values) -> list[SSAValue]:
        """The next values, of the operands in the order of the elements in memory."""
        return self.builder.inline(self.body, (*element, *before) if self.reverse else (*before, *element))

    def _place(self, group: Index, piece: Index, step: Index, count: Index = 1) -> Index:
        """The first element in memory of `count` rows from a step of a piece on."""
        row = piece * self.steps + (self.steps - step - count if self.reverse else step)
        if self.reverse:
            row = row + (self.length - self.pieces * self.steps)
        return (group * self.length + row) * self.inner

    def _order(self, piece: Index) -> Index:
        """The number of a piece in memory, of that in the order of the scan."""
        return self.pieces - 1 - piece if self.reverse else piece

    def _scan_tile(self, group: Index, first: Index, start: Values) -> None:
        """Scan a tile from the values that are given for all pieces, or are in buffers for each."""
        builder = self.builder
        count = rest_of(builder, first, LANES, self.pieces)
        states = self._buffers((self.inner, LANES), builder.alloca)
        for column in range(self.inner):
            with builder.loop(0, count, attributes=PARALLEL) as lane:
                for value, state in zip(start, states, strict=True):
                    given = builder.load(value, (group, first + lane, column)) if self.is_cut else value
                    builder.store(given, state, (column, lane))
        self._steps(group, first, count, states, 0, self.targets)

    def _reduce_tile(self, group: Index, first: Index, totals: Values) -> None:
        """Find what each piece of a tile comes to."""
        builder = self.builder
        count = rest_of(builder, first, LANES, self.pieces)
        states = self._buffers((self.inner, LANES), builder.alloca)
        for column in range(self.inner):
            with builder.loop(0, count, attributes=PARALLEL) as lane:
                place = self._place(group, first + lane, 0) + column
                for source, state in zip(self.sources, states, strict=True):
                    builder.store(builder.load(source, (place,)), state, (column, lane))
        self._steps(group, first, count, states, 1, None)
        for column in range(self.inner):
            with builder.loop(0, count, attributes=PARALLEL) as lane:
                for state, total in zip(states, totals, strict=True):
                    builder.store(builder.load(state, (column, lane)), total, (group, first + lane, column))

    def _steps(
        self, group: Index, first: Index, count: Index, states: Values, begin: int, targets: Values | None
    ) -> None:
        """Combine the steps from `begin` on of a tile's pieces with their states; write the results to `targets`."""
        builder, inner, rows = self.builder, self.inner, self._rows
        tiles = self._buffers((rows * inner, LANES), builder.alloca)
        total = self.steps - begin
        with builder.loop(0, total, step=rows) as done:
            taken = rest_of(builder, done, rows, total)
            place = self._place(group, first, done + begin, taken)
            for source, tile in zip(self.sources, tiles, strict=True):
                block = self._block(source, LANES, rows * inner)
                sides = Side(source, place, self.steps * inner), Side(tile, 0, LANES)
                emit_transposed(builder, *sides, count, taken * inner, block)
            following = self._place(group, first + LANES, begin, rows)
            if total > rows:
                same_pieces = self._place(group, first, done + begin + rows, rows)
                following = builder.select(done >= total - rows, following, same_pieces)
            with builder.loop(0, taken) as step:
                self._ask_for(self.sources, following, step)
                self._ask_for(targets or (), place, step, to_write=True)
                row = taken - 1 - step if self.reverse else step
                for column in range(inner):
                    self._combine_row(count, states, column, tiles, row * inner + column, targets is not None)
            for target, tile in zip(targets or (), tiles, strict=targets is not None):
                block = self._block(target, rows * inner, LANES)
                sides = Side(tile, 0, LANES), Side(target, place, self.steps * inner)
                emit_transposed(builder, *sides, taken * inner, count, block)

    def _ask_for(self, buffers: Values, place: Index, step: Index, to_write: bool = False) -> None:
        """Ask for some pieces' rows from a place on at each step of a tile: no processor expects so many lines."""
        builder, rows = self.builder, self._rows
        for buffer in buffers:
            line = LINE_BYTES * 8 // width_of(buffer_of(buffer).element_type)
            for piece in range(-(-LANES // rows)):
                start = place + (step * -(-LANES // rows) + piece) * (self.steps * self.inner)
                for at in range(0, rows * self.inner, line):
                    builder.prefetch(buffer, (start + at,), to_write=to_write)

    def _block(self, buffer: SSAValue, rows: int, columns: int) -> Tile:
        return block_of(self.builder.vector_bits, width_of(buffer_of(buffer).element_type), 1, rows, columns)

    def _combine_row(
        self, count: Index, states: Values, column: int, tiles: Values, row: Index, keeps_all: bool
    ) -> None:
        builder = self.builder
        with builder.loop(0, count, attributes=PARALLEL) as lane:
            before = [builder.load(state, (column, lane)) for state in states]
            after = self._combine(before, [builder.load(tile, (row, lane)) for tile in tiles])
            for value, state, tile in zip(after, states, tiles, strict=True):
                builder.store(value, state, (column, lane))
                if keeps_all:
                    builder.store(value, tile, (row, lane))

    def _add_up(self, totals: Values, start: Values) -> None:
        """Replace what each piece comes to by what those before it come to, and scan the rows that are in no piece."""
        builder = self.builder
        with builder.loop(0, self.groups * self.inner) as line:
            group, column = line // self.inner, line % self.inner
            with builder.loop(0, self.pieces, carry=start) as (number, before):
                place = (group, self._order(number), column)
                own = [builder.load(buffer, place) for buffer in totals]
                for value, buffer in zip(before, totals, strict=True):
                    builder.store(value, buffer, place)
                builder.yield_(*self._combine(before, own))
            done = self.pieces * self.steps
            if done < self.length:
                self._scan_rest(group, column, done, before)

    def _scan_rest(self, group: Index, column: Index, done: int, start: Values) -> None:
        builder = self.builder
        with builder.loop(done, self.length, carry=start) as (step, before):
            row = self.length - 1 - step if self.reverse else step
            place = ((group * self.length + row) * self.inner + column,)
            after = self._combine(before, [builder.load(source, place) for source in self.sources])
            for value, target in zip(after, self.targets, strict=True):
                builder.store(value, target, place)
            builder.yield_(*after)


def lane_scan(
    builder: LoopBuilder,
    body: Block,
    reverse: bool,
    sources: Values,
    targets: Values,
    shape: tuple[int, int, int],
) -> LaneScan | None:
    """The scan in lanes of operands of the shape (outer, length, inner), viewed flat; None where that does not pay."""
    outer, length, inner = shape
    if not all(can_transpose(buffer_of(buffer).element_type) for buffer in (*sources, *targets)):
        return None
    if inner >= SHORT_ROW or length < (LEAST_STEPS if inner > 1 else LEAST_LONG_STEPS):
        return None
    is_cut = length >= PIECE and outer < MANY_LINES
    if is_cut:
        tiles = max(length // (LANES * PIECE), min(-(-FEW_TILES // outer), length // (LANES * LEAST_PIECE)), 1)
        groups, pieces = outer, LANES * tiles
        steps = length // pieces
    elif outer >= LANES // 2:
        groups, pieces, steps, length = 1, outer, length, outer * length
    else:
        return None
    return LaneScan(builder, body, reverse, sources, targets, groups, length, pieces, steps, inner, is_cut)
