"""
Nests with an input that is contiguous along another loop than the output: square tiles of it go through shared memory.

A block loads a tile of each such input along the input's lines, waits, and then runs the body along the output's lines,
reading the tile transposed. Lines of the tile are one 4-byte bank longer than its side, so that neighbouring threads
access different banks in both directions. Inputs with the output's layout are read directly.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ....dialects.gpu.plans import Transpose
from ....dialects.support.scalar import Scalar
from ...loop_nests.emission import NestEmitter
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access, Nest
from ...loop_nests.unrolling import UNROLL, WHOLLY
from ..threads.builder import GpuBuilder
from ..threads.items import I64, ItemEmitter, indices_in_view, run_items, vector_load, vector_store
from ..threads.launch import KernelMapper, Launch
from ..threads.phases import Phase
from ..threads.vectors import Kind, VectorPlan, element_bytes, kind_of, split_body
from .mapping import in_output_order

BANK = 4
"""Bytes of a shared-memory bank, which a thread moves at once."""

GROUP = 8
"""
The number of tiles along the input's lines that consecutive blocks take before the next ones along the output's. The
blocks that run at a time then cover long lines of both in memory.
"""

MOST_WRITTEN_OUT = 256
"""The size of a body, in operations over all elements of a thread, up to which its loop is unrolled."""


@dataclass(frozen=True)
class Tiles:
    """The tiles of a nest: the output is contiguous along the loop `inner`, the inputs along `other`."""

    nest: Nest
    plan: Transpose
    rows: VectorPlan
    """The accesses of the second phase, along the output's lines."""

    @property
    def inner(self) -> int:
        return len(self.nest.sizes) - 1

    @property
    def other(self) -> int:
        return self.plan.loop

    @property
    def staged(self) -> tuple[int, ...]:
        """The inputs that go through shared memory."""
        return self.plan.inputs

    @property
    def threads(self) -> int:
        return self.plan.threads

    @property
    def outer(self) -> list[int]:
        """The loops that tiles do not extend along."""
        return [l for l in range(self.inner) if l != self.other]

    @property
    def sides(self) -> tuple[int, int]:
        """The size of a tile along `other` and along `inner`."""
        return self.plan.tile[0], self.plan.tile[1]

    @property
    def across(self) -> tuple[int, int]:
        return self.sides[1], self.sides[0]

    def side(self, loop: int) -> int:
        return self.sides[0] if loop == self.other else self.sides[1]

    def tiles(self, loop: int) -> int:
        return -(-self.nest.sizes[loop] // self.side(loop))

    @property
    def blocks(self) -> int:
        return self.nest.size_of(self.outer) * self.tiles(self.other) * self.tiles(self.inner)

    def is_ragged(self, loop: int) -> bool:
        """Whether the last tile is partial."""
        return self.nest.sizes[loop] % self.side(loop) != 0

    @property
    def along_other(self) -> list[int]:
        """The order of loops in which `other` is the last."""
        return [*(l for l in range(len(self.nest.sizes)) if l != self.other), self.other]

    def width_of(self, k: int) -> int:
        """Elements of a staged input that a thread loads at once: a bank if the input is aligned to it."""
        nest = self.nest.permuted(self.along_other)
        access = cast(Access, nest.inputs[k])
        width = bank_width(access)
        return width if nest.sizes[-1] % width == 0 and kind_of(nest, access, width) is Kind.VECTOR else 1


def bank_width(access: Access) -> int:
    """Elements that fill a bank."""
    return max(1, BANK // element_bytes(access))


def tile_bytes(access: Access, sides: tuple[int, int]) -> int:
    return (sides[0] + bank_width(access)) * sides[1] * element_bytes(access)


def tiles_of(nest: Nest, plan: Transpose) -> Tiles:
    """The tiles of a nest in its output's order."""
    return Tiles(nest, plan, _rows_of(nest, plan.inputs))


def _rows_of(nest: Nest, staged: Sequence[int]) -> VectorPlan:
    """How the second phase accesses operands that are not staged: a bank at a time if possible."""
    inner = len(nest.sizes) - 1
    width = min(bank_width(x) for x in nest.accesses if x.strides[inner])
    while True:
        inputs = tuple(
            Kind.SCALAR if k in staged else kind_of(nest, x, width) if isinstance(x, Access) else None
            for k, x in enumerate(nest.inputs)
        )
        outputs = tuple(kind_of(nest, x, width) for x in nest.outputs)
        if nest.sizes[inner] % width == 0 and all(kind is Kind.VECTOR for kind in outputs):
            return VectorPlan(nest, width, False, inputs, outputs)
        width //= 2


class TileEmitter:
    """
    Emits the work of a thread on its block's tile.

    On a full tile each operand gets a view that begins at the thread's first element, so that the other elements are at
    constant offsets from it. A tile at the edge, or a body that uses indices, gets the indices of all loops.
    """

    def __init__(self, builder: GpuBuilder, plan: Tiles):
        self.builder = builder
        self.plan = plan
        self.nest = plan.nest
        self.outer: list[Index] = []
        """Indices of the loops that tiles do not extend along."""
        self.starts: dict[int, Index] = {}
        """Per loop: the start of the tile."""
        self.buffers: dict[int, SSAValue] = {}
        """The tile of each staged input, as [line along `inner`][position along `other`]."""

    def emit(self) -> None:
        builder, plan = self.builder, self.plan
        tiles = plan.tiles(plan.other)
        group = next(g for g in (GROUP, GROUP // 2, GROUP // 4, 1) if tiles % g == 0)
        box = (*(self.nest.sizes[l] for l in plan.outer), tiles // group, plan.tiles(plan.inner), group)
        *self.outer, groups, column, row = delinearized(builder.block_id(), box)
        row = groups * group + row
        self.starts = {plan.other: row * plan.sides[0], plan.inner: column * plan.sides[1]}
        for k in plan.staged:
            access = cast(Access, self.nest.inputs[k])
            shape = (plan.sides[1], plan.sides[0] + bank_width(access))
            self.buffers[k] = builder.shared(shape, buffer_of(access.root).element_type)
        whole = [
            builder.index(at).below(self.nest.sizes[loop] // plan.side(loop))
            for loop, at in ((plan.other, row), (plan.inner, column))
            if plan.is_ragged(loop)
        ]
        if not self._has_known_distances():
            self._emit_anywhere()
        elif not whole:
            self._emit_whole()
        else:
            with builder.when(_all(whole)):
                self._emit_whole()
            with builder.otherwise():
                self._emit_anywhere()

    def _has_known_distances(self) -> bool:
        other = self.plan.other
        forwards = all(x.strides[other] >= 0 and x.strides[self.plan.inner] >= 0 for x in self.nest.accesses)
        return forwards and not self.nest.dims

    @contextmanager
    def _spread(self, sides: tuple[int, int], width: int, cost: int) -> Generator[IndexValue]:
        """
        A loop over the lines of a tile that a thread processes, starting at its first one, `width` elements at a time.

        `sides`: the length of a line, the number of lines. `cost`: operations per element.
        """
        length, number = sides
        lines = self.plan.threads // (length // width)
        count = max(1, number // lines)
        times = count
        while times > 1 and times * width * cost > MOST_WRITTEN_OUT:
            times //= 2
        attributes = {UNROLL: IntegerAttr(WHOLLY if times == count else times, I64)} if times > 1 else None
        with self.builder.loop(0, number, step=lines, attributes=attributes) as line:
            # In a tile with fewer elements than threads, some threads have no line.
            first = self._own(length, width)[0] if number < lines else 0
            with self.builder.when(self.builder.index(first).below(number)) if number < lines else nullcontext():
                yield line

    def _own(self, length: int, width: int) -> tuple[Index, Index]:
        """The thread's first line in the tile, and its position in each line."""
        lanes = length // width
        thread = self.builder.thread_id()
        return thread // lanes, thread % lanes * width

    @property
    def _cost(self) -> int:
        return 1 if self.nest.body is None else len(list(self.nest.body.ops))

    # A full tile.

    def _emit_whole(self) -> None:
        for k in self.plan.staged:
            self._load_whole(k)
        self.builder.barrier()
        self._run_whole()

    def _moved(self, access: Access, row: Index, column: Index, strides: tuple[int, int]) -> Access:
        """The access starting at an element of the tile, with two loops only."""
        places = [*zip(self.outer, self.plan.outer, strict=True)]
        places += [(self.starts[loop] + at, loop) for loop, at in ((self.plan.other, row), (self.plan.inner, column))]
        offset: Index = access.offset_at(self.builder)
        for index, loop in places:
            offset += index * access.strides[loop]
        if isinstance(offset, int):
            return Access(access.root, offset, (), strides)
        return Access(access.root, 0, ((offset.value, 1),), strides)

    def _tile_access(self, k: int, line: Index, place: Index, strides: tuple[int, int]) -> Access:
        """The tile of a staged input, starting at an element."""
        buffer = self.buffers[k]
        pitch = buffer_of(buffer).get_shape()[1]
        offset = line * pitch + place
        return Access(buffer, 0, ((self.builder.index(offset).value, 1),), strides)

    def _load_whole(self, k: int) -> None:
        """Load a tile of an input, line by line."""
        builder, plan, width = self.builder, self.plan, self.plan.width_of(k)
        line, place = self._own(plan.sides[0], width)
        access = cast(Access, self.nest.inputs[k])
        pitch = buffer_of(self.buffers[k]).get_shape()[1]
        source = self._moved(access, place, line, (access.strides[plan.inner], 1))
        target = self._tile_access(k, line, place, (pitch, 1))
        views = [
            builder.strided_view(x.root, x.offset_at(builder), (plan.sides[1], width), x.strides)
            for x in (source, target)
        ]
        with self._spread(plan.sides, width, 1) as index:
            self._copy(views[0], views[1], ([index, 0], [index, 0]), width)

    def _copy(
        self, source: SSAValue, target: SSAValue, at: tuple[Sequence[Index], Sequence[Index]], width: int
    ) -> None:
        builder = self.builder
        if width == 1:
            builder.store(builder.load(source, at[0]), target, at[1])
        else:
            vector_store(builder, vector_load(builder, source, at[0], width), target, at[1], width)

    def _run_whole(self) -> None:
        """Run the body along the output's lines: a loop over the thread's lines, one over its elements."""
        plan, width = self.plan, self.plan.rows.width
        line, place = self._own(plan.sides[1], width)

        def moved(access: Access) -> Access:
            return self._moved(access, line, place, (access.strides[plan.other], access.strides[plan.inner]))

        inputs = tuple(
            self._tile_access(k, place, line, (1, buffer_of(self.buffers[k]).get_shape()[1]))
            if k in self.buffers
            else moved(x)
            if isinstance(x, Access)
            else x
            for k, x in enumerate(self.nest.inputs)
        )
        outputs = tuple(moved(x) for x in self.nest.outputs)
        sizes = (plan.sides[0], width)
        nest = Nest(self.nest.op, sizes, (False, False), inputs, outputs, self.nest.body)
        rows = replace(plan.rows, nest=nest)
        emitter = NestEmitter(self.builder, nest)
        emitter.make_views()
        parts = split_body(rows)
        with self._spread(plan.across, width, self._cost) as index:
            run_items([ItemEmitter(emitter, rows, parts)], [[index, 0]])

    # Any tile.

    def _emit_anywhere(self) -> None:
        for k in self.plan.staged:
            self._load_anywhere(k)
        self.builder.barrier()
        self._run_anywhere()

    def _indices(self, row: Index, column: Index) -> list[Index]:
        """The indices of all loops. `row`, `column`: those of `other` and `inner`."""
        indices = list(self.outer)
        indices.insert(self.plan.other, row)
        return [*indices, column]

    def _inside(self, loop: int, place: Index, width: int) -> Index:
        """The loop index of a position in the tile, clamped to the last elements beyond the edge."""
        index = self.starts[loop] + place
        if not self.plan.is_ragged(loop):
            return index
        return self.builder.min(index, self.nest.sizes[loop] - width)

    def _load_anywhere(self, k: int) -> None:
        builder, plan, width = self.builder, self.plan, self.plan.width_of(k)
        first, row = self._own(plan.sides[0], width)
        order = self.plan.along_other
        nest = self.nest.permuted(order)
        access = cast(Access, nest.inputs[k])
        view, loops = NestEmitter(builder, nest).view(k, access)
        with self._spread(plan.sides, width, 1) as index:
            column = first + index
            indices = self._indices(self._inside(plan.other, row, width), self._inside(plan.inner, column, 1))
            at = indices_in_view(nest, access, loops, [indices[l] for l in order])
            self._copy(view, self.buffers[k], (at, [column, row]), width)

    def _run_anywhere(self) -> None:
        builder, plan = self.builder, self.plan
        first, column = self._own(plan.sides[1], plan.rows.width)
        emitter = NestEmitter(builder, self.nest)
        emitter.make_views()
        at_tile = [(loop, self.starts[loop]) for loop in (plan.inner, plan.other)]
        emitter.staged = {k: (buffer, at_tile) for k, buffer in self.buffers.items()}
        parts = split_body(plan.rows)
        ragged = [loop for loop in (plan.other, plan.inner) if plan.is_ragged(loop)]
        with self._spread(plan.across, plan.rows.width, self._cost) as index:
            row = first + index
            at = self._indices(self.starts[plan.other] + row, self.starts[plan.inner] + column)
            item = ItemEmitter(emitter, plan.rows, parts)
            if not ragged:
                run_items([item], [at])
            elif not self._reads_only_inputs():
                with builder.when(self._are_inside(at, ragged)):
                    run_items([item], [at])
            else:
                # Beyond the edge the body runs on elements at the edge, so that no load waits for a condition.
                inside = self._are_inside(at, ragged)
                last = plan.rows.width
                item.load(self._indices(self._inside(plan.other, row, 1), self._inside(plan.inner, column, last)))
                item.compute()
                item.indices = at
                with builder.when(inside):
                    item.store()

    def _are_inside(self, at: Sequence[Index], loops: Sequence[int]) -> Scalar:
        return _all([self.builder.index(at[loop]).below(self.nest.sizes[loop]) for loop in loops])

    def _reads_only_inputs(self) -> bool:
        """Whether the nest writes nothing that it reads."""
        body, count = self.nest.body, len(self.nest.inputs)
        accumulates = body is not None and any(x.first_use is not None for x in body.args[count:])
        written = {access.root for access in self.nest.outputs}
        return not accumulates and not any(isinstance(x, Access) and x.root in written for x in self.nest.inputs)


def _all(conditions: Sequence[Scalar]) -> Scalar:
    return reduce(lambda first, second: first & second, conditions)


def map_transpose(mapper: KernelMapper, phase: Phase) -> None:
    """Map one nest without reduction that has an input with a transposed layout."""
    single = len(phase.structured) == len(phase.ops) == 1 and not any(phase.nests()[0].reduction)
    phase.require(single, "the launch is not one operation without reduction")
    plan = phase.plans[0]
    assert isinstance(plan, Transpose)
    _check(phase, in_output_order(phase.nests()[0]), plan)
    launch = Launch(mapper, phase)
    tiles = tiles_of(in_output_order(launch.phase.nests()[0]), plan)
    TileEmitter(launch.builder, tiles).emit()
    launch.finish(tiles.blocks, plan.threads)


def _check(phase: Phase, nest: Nest, plan: Transpose) -> None:
    """Raises DiagnosticError if inputs are not transposed, or a tile's shape does not fit its accesses."""
    inner, staged = len(nest.sizes) - 1, [k for k in plan.inputs if k < len(nest.inputs)]
    phase.require(plan.loop < inner, f"of the loops {nest.sizes}, tiles extend along the last and one before it")
    phase.require(all(x.strides[inner] == 1 for x in nest.outputs), "an output is not contiguous along the last loop")
    across = len(staged) == len(plan.inputs) and all(lies_across(nest, k, plan.loop) for k in staged)
    phase.require(across, f"the inputs are not all contiguous along loop {plan.loop} and read only")
    tiles = tiles_of(nest, plan)
    lines = [(tiles.sides[0], tiles.width_of(k)) for k in plan.inputs] + [(tiles.sides[1], tiles.rows.width)]
    for side, width in lines:
        shared = width <= side <= plan.threads * width
        phase.require(shared, f"{plan.threads} threads cannot share lines of {side} elements, {width} at a time")


def lies_across(nest: Nest, number: int, loop: int) -> bool:
    """Whether an input that nothing writes is contiguous along a loop other than the last."""
    access, inner = nest.inputs[number], len(nest.sizes) - 1
    if not isinstance(access, Access) or access.root in {x.root for x in nest.outputs}:
        return False
    return abs(access.strides[inner]) > 1 and abs(access.strides[loop]) == 1
