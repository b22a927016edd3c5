"""
Sorts: tiles of each row by a bitonic network in shared memory, then merges of sorted runs, tile by tile.

A tile is as long as two elements for each thread of a block. In shared memory each element has its number in the order
before the sort; where neither of two precedes the other the numbers decide, so that the sort is stable. Networks only
exchange elements: whatever a comparator answers, the result has the same ones.

Runs of `width` are merged in pairs. One launch finds for the start of each tile of the result how many of its
predecessors come from the first run (the merge path of Odeh et al. 2012: a search on a diagonal); where a comparator is
no strict weak order these counts might contradict each other, so a second launch makes them ascend. The last one
loads what belongs to each tile, the part of the second run backwards, which makes it bitonic, and merges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.ir import SSAValue

from ....dialects.build.buffers import memref_type
from ....dialects.gpu.plans import Sort
from ....dialects.linalg_ext.sort import SortByKeyOp, SortOp
from ....dialects.linalg_ext.window import shape_of
from ...loop_nests import arithmetic
from ...loop_nests.loop_builder import Index, buffer_of
from ..threads.builder import GpuBuilder
from ..threads.launch import KernelMapper
from .launch import ExtLaunch, select, shift_left, shift_right

BEYOND = (1 << 31) - 1
"""The number of what is beyond the end of a row."""

AnySort: TypeAlias = SortOp | SortByKeyOp
Values: TypeAlias = Sequence[SSAValue]


@dataclass(frozen=True)
class SortShape:
    """How rows are sorted: seen as (outer, length, inner)."""

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
        """Tiles of a row."""
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
    """Whether one element precedes another, by the operation's region."""

    def __init__(self, builder: GpuBuilder, op: AnySort):
        self.builder = builder
        self.op = op

    def precedes(self, first: Values, second: Values) -> SSAValue:
        block = self.op.regions[0].block
        if isinstance(self.op, SortByKeyOp):
            keys = [self.builder.inline(block, values)[0] for values in (first, second)]
            return arithmetic.compare(self.builder, "ult", keys[0], keys[1])
        pairs = [value for pair in zip(first, second, strict=True) for value in pair]
        return self.builder.inline(block, pairs)[0]


class Network:
    """Elements of a block's tiles in shared memory, with their numbers; all threads of the block work on them."""

    def __init__(self, builder: GpuBuilder, op: AnySort, plan: SortShape):
        self.builder = builder
        self.plan = plan
        self.comparison = Comparison(builder, op)
        total = plan.rows_per_block * plan.tile
        types = [buffer_of(x).element_type for x in op.outputs]
        self.buffers = [builder.shared((total,), type_) for type_ in (*types, i32)]
        """The last one has the numbers."""
        thread = builder.thread_id()
        half = plan.tile // 2
        self.row = builder.div(thread, half)
        """Which of the block's rows the thread works on."""
        self.lane = builder.rem(thread, half) if plan.rows_per_block > 1 else thread
        """The thread's number among those of its row."""
        self.base = builder.mul(self.row, plan.tile)

    def put(self, place: Index, values: Values, number: SSAValue) -> None:
        """Set the element at a place of the thread's row."""
        where = [self.builder.add(self.base, place)]
        for buffer, value in zip(self.buffers, (*values, number), strict=True):
            self.builder.store(value, buffer, where)

    def get(self, place: Index) -> list[SSAValue]:
        """The values at a place, and their number."""
        where = [self.builder.add(self.base, place)]
        return [self.builder.load(buffer, where) for buffer in self.buffers]

    def sort(self) -> None:
        """Sort each row: runs of 2, 4, .. up to the tile."""
        builder = self.builder
        levels = self.plan.tile.bit_length() - 1

        def level(size: SSAValue, _: list[SSAValue]) -> Values:
            # Compare from both ends of two sorted runs, so that no run has to be turned around.
            half = builder.sub(size, 1)
            pair = shift_right(builder, self.lane, half)
            offset = builder.sub(self.lane, shift_left(builder, pair, half))
            start = shift_left(builder, pair, size)
            last = builder.sub(builder.add(start, shift_left(builder, 1, size)), 1)
            self._exchange(builder.add(start, offset), builder.sub(last, offset))
            self.halves(half)
            return ()

        builder.loop(1, levels + 1, level)

    def halves(self, steps: Index) -> None:
        """Compare elements `2^(steps-1)`, .., 2, 1 apart: what is bitonic in parts of `2^steps` becomes sorted."""
        builder = self.builder

        def step(number: SSAValue, _: list[SSAValue]) -> Values:
            exponent = builder.sub(builder.sub(steps, 1), number)
            pair = shift_right(builder, self.lane, exponent)
            offset = builder.sub(self.lane, shift_left(builder, pair, exponent))
            start = builder.add(shift_left(builder, builder.mul(pair, 2), exponent), offset)
            self._exchange(start, builder.add(start, shift_left(builder, 1, exponent)))
            return ()

        builder.loop(0, steps, step)

    def _exchange(self, low: Index, high: Index) -> None:
        """Put the elements of two places in order, and wait for all threads."""
        builder = self.builder
        builder.barrier()
        *first, first_number = self.get(low)
        *second, second_number = self.get(high)
        end = builder.scalar(IntegerAttr(BEYOND, i32))
        inside = arithmetic.compare(builder, "ne", second_number, end)
        ahead = arithmetic.compare(builder, "slt", second_number, first_number)
        passes = self.comparison.precedes(second, first)
        stays = self.comparison.precedes(first, second)
        # Nothing precedes what is inside from beyond the end, where values mean nothing.
        beyond = arithmetic.compare(builder, "eq", first_number, end)
        order = arithmetic.either(builder, passes, _and_not(builder, ahead, stays))
        swaps = arithmetic.both(builder, inside, arithmetic.either(builder, beyond, order))

        def swap() -> None:
            self.put(low, second, second_number)
            self.put(high, first, first_number)

        builder.when(swaps, swap)


def _and_not(builder: GpuBuilder, first: SSAValue, second: SSAValue) -> SSAValue:
    true = builder.scalar(IntegerAttr(-1, IntegerType(1)))
    return arithmetic.both(builder, first, arithmetic.binary(builder, arith.XOrIOp, second, true))


def _number(builder: GpuBuilder, value: Index) -> SSAValue:
    return arithmetic.emit(builder, arith.IndexCastOp, [builder.index(value)], i32)


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

    def _at(self, builder: GpuBuilder, row: Index, place: Index) -> list[Index]:
        """The indices of a place of a row."""
        inner = self.plan.inner
        return [builder.div(row, inner), place, builder.rem(row, inner)]

    # Tiles.

    def _sort_tiles(self, sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
        """Every tile of a row by itself."""
        launch, plan = ExtLaunch(self.mapper, self.op), self.plan
        builder = launch.builder
        source, target = self._buffers(launch, sources), self._buffers(launch, targets)
        network = Network(builder, launch.op, plan)
        block = builder.block_id()
        row = builder.add(builder.mul(builder.div(block, plan.tiles), plan.rows_per_block), network.row)
        start = builder.mul(builder.rem(block, plan.tiles), plan.tile)
        places = [network.lane, builder.add(network.lane, plan.tile // 2)]
        ragged = plan.rows % plan.rows_per_block != 0
        known_row = builder.min(row, plan.rows - 1) if ragged else row
        for place in places:
            index = builder.add(start, place)
            here = builder.min(index, plan.length - 1)
            values = [builder.load(x, self._at(builder, known_row, here)) for x in source]
            inside = builder.compare("ult", index, plan.length)
            end = builder.scalar(IntegerAttr(BEYOND, i32))
            network.put(place, values, arithmetic.choose(builder, inside, _number(builder, place), end))
        network.sort()
        builder.barrier()
        for place in places:
            index = builder.add(start, place)
            inside = builder.compare("ult", index, plan.length)
            if ragged:
                there = builder.compare("ult", row, plan.rows)
                inside = arithmetic.both(builder, inside, there)
            self._write(builder, network, place, target, self._at(builder, row, index), inside)
        launch.finish(plan.blocks, plan.threads)

    def _write(
        self,
        builder: GpuBuilder,
        network: Network,
        place: Index,
        target: Sequence[SSAValue],
        at: Sequence[Index],
        inside: SSAValue,
    ) -> None:
        def write() -> None:
            for value, buffer in zip(network.get(place)[:-1], target, strict=True):
                builder.store(value, buffer, at)

        builder.when(inside, write)

    # Merges.

    def _runs(self, builder: GpuBuilder, start: Index, width: int) -> tuple[Index, Index, Index]:
        """The pair of runs that a place of the result belongs to: where it begins, both lengths."""
        length = self.plan.length
        first = builder.mul(builder.div(start, 2 * width), 2 * width)
        rest = builder.sub(length, first)
        left = builder.min(rest, width)
        return first, left, builder.min(builder.sub(rest, left), width)

    def _search(self, sources: Sequence[SSAValue], counts: SSAValue, width: int) -> None:
        """A thread for each tile: how many elements of the first run are among those before it in the result."""
        launch, plan = ExtLaunch(self.mapper, self.op), self.plan
        builder = launch.builder
        source, found = self._buffers(launch, sources), launch.buffer(counts)
        comparison = Comparison(builder, launch.op)

        def tile(indices: list[Index]) -> None:
            row, number = indices
            start = builder.mul(number, plan.tile)
            first, left, right = self._runs(builder, start, width)
            middle = builder.add(first, left)
            before = builder.sub(start, first)
            zero = builder.index(0)
            low = arithmetic.binary(builder, arith.MaxSIOp, builder.index(builder.sub(before, right)), zero)
            high = builder.index(builder.min(before, left))

            def goes_on(state: list[SSAValue]) -> SSAValue:
                return arithmetic.compare(builder, "slt", state[0], state[1])

            def halve(state: list[SSAValue]) -> Values:
                at = builder.div(builder.add(state[0], state[1]), 2)
                mine = [builder.load(x, self._at(builder, row, builder.add(first, at))) for x in source]
                other = builder.sub(builder.sub(builder.add(middle, before), 1), at)
                theirs = [builder.load(x, self._at(builder, row, other)) for x in source]
                passes = comparison.precedes(theirs, mine)
                return [
                    select(builder, passes, state[0], builder.add(at, 1)),
                    select(builder, passes, at, state[1]),
                ]

            result = builder.loop_while([low, high], goes_on, halve)[0]
            builder.store(_number(builder, result), found, [row, number])

        launch.finish_over((plan.rows, plan.tiles), tile)

    def _ascend(self, counts: SSAValue, width: int) -> None:
        """A thread for each pair of runs: no tile takes fewer than none or more than a tile of the first run."""
        launch, plan = ExtLaunch(self.mapper, self.op), self.plan
        builder = launch.builder
        found = launch.buffer(counts)
        per_pair = 2 * width // plan.tile

        def pair(indices: list[Index]) -> None:
            row, number = indices
            first = builder.mul(number, per_pair)
            last = builder.min(builder.add(first, per_pair), plan.tiles)

            def tile(index: SSAValue, state: list[SSAValue]) -> Values:
                own = builder.load(found, [row, index])
                most = arithmetic.binary(builder, arith.AddiOp, state[0], builder.int32(plan.tile))
                own = arithmetic.binary(builder, arith.MaxSIOp, own, state[0])
                own = arithmetic.binary(builder, arith.MinSIOp, own, most)
                builder.store(own, found, [row, index])
                return [own]

            builder.loop(builder.add(first, 1), last, tile, inits=[builder.int32(0)])

        launch.finish_over((plan.rows, -(-plan.tiles // per_pair)), pair)

    def _merge(self, sources: Sequence[SSAValue], targets: Sequence[SSAValue], counts: SSAValue, width: int) -> None:
        """A block for each tile of the result."""
        launch, plan = ExtLaunch(self.mapper, self.op), self.plan
        builder = launch.builder
        source, target = self._buffers(launch, sources), self._buffers(launch, targets)
        found = launch.buffer(counts)
        network = Network(builder, launch.op, plan)
        row = builder.div(builder.block_id(), plan.tiles)
        tile = builder.rem(builder.block_id(), plan.tiles)
        start = builder.mul(tile, plan.tile)
        first, left, _ = self._runs(builder, start, width)
        middle, before = builder.add(first, left), builder.sub(start, first)
        size = builder.min(builder.sub(plan.length, start), plan.tile)
        from_left, to_left = self._bounds(builder, found, row, tile, (first, left), width)
        count = builder.sub(to_left, from_left)
        from_right = builder.add(middle, builder.sub(before, from_left))
        taken = builder.sub(size, count)
        places = [network.lane, builder.add(network.lane, plan.tile // 2)]
        for place in places:
            is_left = builder.compare("ult", place, count)
            # The second run's part stands at the end, backwards; what is beyond the row lies between.
            back = builder.sub(plan.tile - 1, place)
            is_right = builder.compare("ult", back, taken)
            index = select(
                builder, is_left, builder.add(builder.add(first, from_left), place), builder.add(from_right, back)
            )
            inside = arithmetic.either(builder, is_left, is_right)
            index = select(builder, inside, index, start)
            values = [builder.load(x, self._at(builder, row, index)) for x in source]
            number = select(builder, is_left, place, builder.add(count, back))
            end = builder.scalar(IntegerAttr(BEYOND, i32))
            network.put(place, values, arithmetic.choose(builder, inside, _number(builder, number), end))
        network.halves(plan.tile.bit_length() - 1)
        builder.barrier()
        for place in places:
            index = builder.add(start, place)
            inside = builder.compare("ult", place, size)
            self._write(builder, network, place, target, self._at(builder, row, index), inside)
        launch.finish(plan.rows * plan.tiles, plan.threads)

    def _bounds(
        self, builder: GpuBuilder, counts: SSAValue, row: Index, tile: Index, run: tuple[Index, Index], width: int
    ) -> tuple[Index, Index]:
        """Which elements of the first run a tile takes; the pair's last tile takes the rest."""
        plan = self.plan
        first, left = run
        following = builder.add(tile, 1)
        pair_end = builder.div(builder.add(first, 2 * width), plan.tile)
        is_last = builder.compare("uge", following, builder.min(pair_end, plan.tiles))
        found = [
            arithmetic.to_index(builder, builder.load(counts, [row, builder.min(at, plan.tiles)]), unsigned=True)
            for at in (tile, following)
        ]
        return found[0], select(builder, is_last, left, found[1])


def map_sort(mapper: KernelMapper, op: AnySort, plan: Sort) -> None:
    """`linalg_ext.sort` and `sort_by_key`: launches that sort tiles and merge them."""
    shape = SortShape.of(op, plan)
    mapper.phase.require(shape.tiles == 1 or plan.rows == 1, f"rows of {shape.length} have several tiles each")
    SortMapper(mapper, op, shape).run()
