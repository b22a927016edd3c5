"""
Sorts: tiles of each row by a bitonic network in shared memory, then merges of sorted runs, tile by tile.

A tile has two elements per thread of a block. In shared memory each element is stored with its number in the original
order; if neither of two elements precedes the other the numbers decide, so that the sort is stable. Networks only
exchange elements: whatever a comparator returns, the result is a permutation.

Runs of `width` are merged in pairs. One launch finds, for the start of each tile of the result, the number of its
predecessors that come from the first run (the merge path of Odeh et al. 2012: a search on a diagonal). If a comparator
is not a strict weak order these counts might be inconsistent, so a second launch makes them ascend. The last launch
loads the elements of each tile, those of the second run backwards so that the tile is bitonic, and merges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import SSAValue

from ....dialects.gpu.plans import Sort
from ....dialects.linalg_ext.sort import SortByKeyOp, SortOp
from ....dialects.linalg_ext.window import shape_of
from ....dialects.support.buffers import memref_type
from ...loop_nests.kernel_builder import Index, Value
from ...loop_nests.loop_builder import buffer_of
from ..threads.builder import GpuBuilder
from ..threads.launch import KernelMapper
from .launch import ExtLaunch

BEYOND = (1 << 31) - 1
"""The number assigned to elements beyond the end of a row."""

AnySort: TypeAlias = SortOp | SortByKeyOp
Values: TypeAlias = Sequence[SSAValue]


@dataclass(frozen=True)
class SortShape:
    """The shape of a sort, viewed as (outer, length, inner)."""

    outer: int
    length: int
    inner: int
    tile: int
    """Elements of a tile, a power of two."""
    rows_per_block: int

    @staticmethod
    def of(op: AnySort, plan: Sort) -> SortShape:
        shape, dim = shape_of(op.outputs[0]), int(cast(Any, op.dimension).value.data)
        return SortShape(math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]), plan.tile, plan.rows)

    @property
    def rows(self) -> int:
        return self.outer * self.inner

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.outer, self.length, self.inner

    @property
    def tiles(self) -> int:
        """Number of tiles per row."""
        return -(-self.length // self.tile)

    @property
    def threads(self) -> int:
        return self.rows_per_block * self.tile // 2

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.rows_per_block) * self.tiles

    @property
    def widths(self) -> list[int]:
        """The lengths of the runs before each merge."""
        found = [self.tile]
        while found[-1] < self.length:
            found.append(2 * found[-1])
        return found[:-1]


class Comparison:
    """Whether one element precedes another, according to the operation's region."""

    def __init__(self, builder: GpuBuilder, op: AnySort):
        self.builder = builder
        self.op = op

    def precedes(self, first: Values, second: Values) -> SSAValue:
        block = self.op.regions[0].block
        if isinstance(self.op, SortByKeyOp):
            keys = [self.builder.inline(block, values)[0] for values in (first, second)]
            return self.builder.on(keys[0]).compare("ult", keys[1]).value
        pairs = [value for pair in zip(first, second, strict=True) for value in pair]
        return self.builder.inline(block, pairs)[0]


class Network:
    """Elements of a block's tiles in shared memory, with their numbers; all threads of the block take part."""

    def __init__(self, builder: GpuBuilder, op: AnySort, plan: SortShape):
        self.builder = builder
        self.plan = plan
        self.comparison = Comparison(builder, op)
        total = plan.rows_per_block * plan.tile
        types = [buffer_of(x).element_type for x in op.outputs]
        self.buffers = [builder.shared((total,), type_) for type_ in (*types, i32)]
        """The last one holds the numbers."""
        thread = builder.thread_id()
        half = plan.tile // 2
        self.row = thread // half
        """The thread's row within the block."""
        self.lane = thread % half if plan.rows_per_block > 1 else thread
        """The thread's number within its row."""
        self.base = self.row * plan.tile

    def put(self, place: Index, values: Values, number: Value) -> None:
        """Set the element at a position of the thread's row."""
        where = [self.base + place]
        for buffer, value in zip(self.buffers, (*values, number), strict=True):
            self.builder.store(value, buffer, where)

    def get(self, place: Index) -> list[SSAValue]:
        """The values at a position, and their number."""
        where = [self.base + place]
        return [self.builder.load(buffer, where) for buffer in self.buffers]

    def sort(self) -> None:
        """Sort each row: runs of 2, 4, .. up to the tile."""
        builder = self.builder
        with builder.loop(1, self.plan.tile.bit_length()) as size:
            # Compare from both ends of two sorted runs, so that no run has to be reversed.
            half = size - 1
            pair = builder.index(self.lane) >> half
            offset = self.lane - (pair << half)
            start = pair << size
            last = start + (builder.index(1) << size) - 1
            self._exchange(start + offset, last - offset)
            self.halves(half)

    def halves(self, steps: Index) -> None:
        """Compare elements `2^(steps-1)`, .., 2, 1 apart: sorts bitonic sequences of length `2^steps`."""
        builder = self.builder
        with builder.loop(0, steps) as number:
            exponent = steps - 1 - number
            pair = builder.index(self.lane) >> exponent
            offset = self.lane - (pair << exponent)
            start = (builder.index(pair * 2) << exponent) + offset
            self._exchange(start, start + (builder.index(1) << exponent))

    def _exchange(self, low: Index, high: Index) -> None:
        """Order the elements at two positions, and wait for all threads."""
        builder = self.builder
        builder.barrier()
        *first, first_number = self.get(low)
        *second, second_number = self.get(high)
        end = builder.scalar(IntegerAttr(BEYOND, i32))
        inside = builder.on(second_number).compare("ne", end)
        ahead = builder.on(second_number).compare("lt", first_number)
        passes = builder.on(self.comparison.precedes(second, first))
        stays = builder.on(self.comparison.precedes(first, second))
        # Elements beyond the end, whose values are meaningless, never precede those inside.
        beyond = builder.on(first_number).compare("eq", end)
        order = passes | (ahead & (stays ^ -1))
        with builder.when(inside & (beyond | order)):
            self.put(low, second, second_number)
            self.put(high, first, first_number)


class SortMapper:
    """The launches of one sort."""

    def __init__(self, mapper: KernelMapper, op: AnySort, plan: SortShape):
        self.mapper = mapper
        self.op = op
        self.plan = plan

    def run(self) -> None:
        plan, widths = self.plan, self.plan.widths
        homes = list(self.op.outputs)
        if not widths:
            self._sort_tiles(homes, homes)
            return
        away = [self.mapper.scratch(memref_type(plan.shape, buffer_of(x).element_type)) for x in homes]
        counts = self.mapper.scratch(memref_type((plan.rows, plan.tiles + 1), i32))
        places = [homes, away]
        turn = len(widths) % 2
        self._sort_tiles(homes, places[turn])
        for width in widths:
            self._search(places[turn], counts, width)
            if isinstance(self.op, SortOp):
                self._ascend(counts, width)
            self._merge(places[turn], places[1 - turn], counts, width)
            turn = 1 - turn

    def _buffers(self, launch: ExtLaunch[Any], values: Sequence[SSAValue]) -> list[SSAValue]:
        return [launch.flat(launch.launch.local(x), self.plan.shape) for x in values]

    def _at(self, row: Index, place: Index) -> list[Index]:
        """The indices of a position in a row."""
        inner = self.plan.inner
        return [row // inner, place, row % inner]

    # Tiles.

    def _sort_tiles(self, sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
        """Sort every tile of a row by itself."""
        launch, plan = ExtLaunch(self.mapper, self.op), self.plan
        builder = launch.builder
        source, target = self._buffers(launch, sources), self._buffers(launch, targets)
        network = Network(builder, launch.op, plan)
        block = builder.block_id()
        row = block // plan.tiles * plan.rows_per_block + network.row
        start = block % plan.tiles * plan.tile
        places = [network.lane, network.lane + plan.tile // 2]
        ragged = plan.rows % plan.rows_per_block != 0
        known_row = builder.min(row, plan.rows - 1) if ragged else row
        for place in places:
            index = start + place
            here = builder.min(index, plan.length - 1)
            values = [builder.load(x, self._at(known_row, here)) for x in source]
            inside = builder.index(index).below(plan.length)
            end = builder.scalar(IntegerAttr(BEYOND, i32))
            network.put(place, values, inside.select(builder.index(place).cast_to(i32), end))
        network.sort()
        builder.barrier()
        for place in places:
            index = start + place
            inside = builder.index(index).below(plan.length)
            if ragged:
                inside &= builder.index(row).below(plan.rows)
            at = self._at(row, index)
            with builder.when(inside):
                self._write(network, place, target, at)
        launch.finish(plan.blocks, plan.threads)

    def _write(self, network: Network, place: Index, target: Sequence[SSAValue], at: Sequence[Index]) -> None:
        for value, buffer in zip(network.get(place)[:-1], target, strict=True):
            network.builder.store(value, buffer, at)

    # Merges.

    def _runs(self, builder: GpuBuilder, start: Index, width: int) -> tuple[Index, Index, Index]:
        """The pair of runs that a position of the result belongs to: its start, and both lengths."""
        length = self.plan.length
        first = start // (2 * width) * (2 * width)
        rest = length - first
        left = builder.min(rest, width)
        return first, left, builder.min(rest - left, width)

    def _search(self, sources: Sequence[SSAValue], counts: SSAValue, width: int) -> None:
        """A thread per tile: the number of elements of the first run among those before it in the result."""
        launch, plan = ExtLaunch(self.mapper, self.op), self.plan
        builder = launch.builder
        source, found = self._buffers(launch, sources), launch.buffer(counts)
        comparison = Comparison(builder, launch.op)
        with launch.over((plan.rows, plan.tiles)) as (row, number):
            start = number * plan.tile
            first, left, right = self._runs(builder, start, width)
            middle = first + left
            before = start - first
            zero = builder.index(0)
            low = builder.index(before - right).max(zero)
            high = builder.index(builder.min(before, left))
            with builder.loop_while([low, high]) as state:
                lower, upper = map(builder.index, state)
                builder.go_on_if(lower < upper)
                lower, upper = map(builder.index, state)
                at = (lower + upper) // 2
                mine = [builder.load(x, self._at(row, first + at)) for x in source]
                other = middle + before - 1 - at
                theirs = [builder.load(x, self._at(row, other)) for x in source]
                passes = builder.on(comparison.precedes(theirs, mine))
                builder.yield_(builder.select(passes, lower, at + 1), builder.select(passes, at, upper))
            builder.store(builder.index(state[0]).cast_to(i32), found, [row, number])

    def _ascend(self, counts: SSAValue, width: int) -> None:
        """A thread per pair of runs: no tile takes less than nothing or more than a tile from the first run."""
        launch, plan = ExtLaunch(self.mapper, self.op), self.plan
        builder = launch.builder
        found = launch.buffer(counts)
        per_pair = 2 * width // plan.tile
        with launch.over((plan.rows, -(-plan.tiles // per_pair))) as (row, number):
            first = number * per_pair
            last = builder.min(first + per_pair, plan.tiles)
            with builder.loop(first + 1, last, carry=[builder.int32(0)]) as (index, state):
                own = builder.load(found, [row, index])
                most = builder.on(state[0]) + builder.int32(plan.tile)
                held = builder.on(own).apply(arith.MaxSIOp, state[0]).apply(arith.MinSIOp, most)
                builder.store(held, found, [row, index])
                builder.yield_(held)

    def _merge(self, sources: Sequence[SSAValue], targets: Sequence[SSAValue], counts: SSAValue, width: int) -> None:
        """A block per tile of the result."""
        launch, plan = ExtLaunch(self.mapper, self.op), self.plan
        builder = launch.builder
        source, target = self._buffers(launch, sources), self._buffers(launch, targets)
        found = launch.buffer(counts)
        network = Network(builder, launch.op, plan)
        row = builder.block_id() // plan.tiles
        tile = builder.block_id() % plan.tiles
        start = tile * plan.tile
        first, left, _ = self._runs(builder, start, width)
        middle, before = first + left, start - first
        size = builder.min(plan.length - start, plan.tile)
        from_left, to_left = self._bounds(builder, found, row, tile, (first, left), width)
        count = to_left - from_left
        from_right = middle + (before - from_left)
        taken = size - count
        places = [network.lane, network.lane + plan.tile // 2]
        for place in places:
            is_left = builder.index(place).below(count)
            # The elements of the second run are at the end, backwards; those beyond the row are in between.
            back = plan.tile - 1 - place
            is_right = builder.index(back).below(taken)
            index = builder.select(is_left, first + from_left + place, from_right + back)
            inside = is_left | is_right
            index = builder.select(inside, index, start)
            values = [builder.load(x, self._at(row, index)) for x in source]
            number = builder.select(is_left, place, count + back)
            end = builder.scalar(IntegerAttr(BEYOND, i32))
            network.put(place, values, inside.select(number.cast_to(i32), end))
        network.halves(plan.tile.bit_length() - 1)
        builder.barrier()
        for place in places:
            index = start + place
            inside = builder.index(place).below(size)
            at = self._at(row, index)
            with builder.when(inside):
                self._write(network, place, target, at)
        launch.finish(plan.rows * plan.tiles, plan.threads)

    def _bounds(
        self, builder: GpuBuilder, counts: SSAValue, row: Index, tile: Index, run: tuple[Index, Index], width: int
    ) -> tuple[Index, Index]:
        """The range of the first run that a tile takes; the pair's last tile takes the rest."""
        plan = self.plan
        first, left = run
        following = tile + 1
        pair_end = (first + 2 * width) // plan.tile
        is_last = builder.index(following).compare("uge", builder.min(pair_end, plan.tiles))
        found = [
            builder.to_index(builder.load(counts, [row, builder.min(at, plan.tiles)]), unsigned=True)
            for at in (tile, following)
        ]
        return found[0], builder.select(is_last, left, found[1])


def map_sort(mapper: KernelMapper, op: AnySort, plan: Sort) -> None:
    """`linalg_ext.sort` and `sort_by_key`: launches that sort tiles and merge them."""
    shape = SortShape.of(op, plan)
    mapper.phase.require(shape.tiles == 1 or plan.rows == 1, f"rows of {shape.length} have several tiles each")
    SortMapper(mapper, op, shape).run()
