"""
Nests in which an input is contiguous along another loop than the output: square tiles of it go through shared memory.

A block loads a tile of each such input line by line as it lies in memory, waits, and then runs the body along the
output's lines, where it reads the tile across. Lines of the tile are one 4-byte bank longer than its side, so that
neighbouring threads meet different banks in both directions. Inputs that lie as the output does are read directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ..convert_linalg_to_scf.emission import NestEmitter
from ..convert_linalg_to_scf.loop_builder import Index, buffer_of
from ..convert_linalg_to_scf.nest import Access, Nest
from ..gpu_chips import Chip
from ..loop_unrolling import UNROLL, WHOLLY
from .elementwise import in_output_order
from .gpu_builder import GpuBuilder
from .items import I64, ItemEmitter, delinearized, indices_in_view, run_items, vector_load, vector_store
from .launch import KernelMapper, Launch, Phase
from .vectors import Kind, VectorPlan, element_bytes, kind_of, split_body

THREADS = 256

SIDES = (64, 32)
"""Of tiles, in elements: lines of 128 bytes or more of most types, 16 elements for each thread."""

MOST_SHARED = 24 * 1024
"""Bytes of tiles: with more, fewer than all of a multiprocessor's threads run on most chips."""

SHORTEST = 16
"""Iterations of both loops that make tiles worth it; shorter lines are read whole by few accesses anyway."""

BANK = 4
"""Bytes of a bank of shared memory: what a thread moves at once."""

GROUP = 8
"""
Tiles along the input's lines that neighbouring blocks take, before the next ones along the output's: what runs at one
time then covers long lines of both in memory.
"""

MOST_WRITTEN_OUT = 256
"""Operations of a body over all elements of a thread, up to which its loop is unrolled."""


@dataclass(frozen=True)
class TilePlan:
    """A transposition: `inner` is the loop along which the output is contiguous, `other` the inputs."""

    nest: Nest
    other: int
    staged: tuple[int, ...]
    """The inputs that go through shared memory."""
    side: int
    rows: VectorPlan
    """The accesses of the second part, along the output's lines."""

    @property
    def inner(self) -> int:
        return len(self.nest.sizes) - 1

    @property
    def outer(self) -> list[int]:
        """The loops that no tile extends along."""
        return [l for l in range(self.inner) if l != self.other]

    def tiles(self, loop: int) -> int:
        return -(-self.nest.sizes[loop] // self.side)

    @property
    def blocks(self) -> int:
        return self.nest.size_of(self.outer) * self.tiles(self.other) * self.tiles(self.inner)

    def is_ragged(self, loop: int) -> bool:
        """Whether the last tile is cut off."""
        return self.nest.sizes[loop] % self.side != 0


def _bank_width(access: Access) -> int:
    """Elements that fill a bank."""
    return max(1, BANK // element_bytes(access))


def _tile_bytes(access: Access, side: int) -> int:
    return side * (side + _bank_width(access)) * element_bytes(access)


def _transposed(nest: Nest) -> tuple[int, list[int]]:
    """The loop along which most inputs are contiguous that the last loop strides through, and these inputs."""
    inner = len(nest.sizes) - 1
    written = {access.root for access in nest.outputs}
    found: dict[int, list[int]] = {}
    for k, x in enumerate(nest.inputs):
        if isinstance(x, Access) and abs(x.strides[inner]) > 1 and x.root not in written:
            for loop in range(inner):
                if abs(x.strides[loop]) == 1 and nest.sizes[loop] >= SHORTEST:
                    found.setdefault(loop, []).append(k)
    other = max(found, key=lambda loop: len(found[loop]), default=0)
    return other, found.get(other, [])


def _fitting(nest: Nest, staged: Sequence[int], side: int) -> tuple[int, ...]:
    """As many of the inputs as have room in shared memory."""
    chosen: list[int] = []
    used = 0
    for k in staged:
        used += _tile_bytes(cast(Access, nest.inputs[k]), side)
        if used <= MOST_SHARED:
            chosen.append(k)
    return tuple(chosen)


def plan_tiles(nest: Nest, chip: Chip) -> TilePlan | None:
    """The tiles of a nest in the output's order; None where its operands agree on how they lie."""
    inner = len(nest.sizes) - 1
    if inner == 0 or nest.sizes[inner] < SHORTEST or any(x.strides[inner] != 1 for x in nest.outputs):
        return None
    other, staged = _transposed(nest)
    if not staged:
        return None
    large = _plan_side(nest, other, staged, SIDES[0])
    narrow = all(element_bytes(cast(Access, nest.inputs[k])) <= BANK for k in staged)
    if narrow and len(large.staged) == len(staged) and large.blocks >= chip.multiprocessors:
        return large
    return _plan_side(nest, other, staged, SIDES[-1])


def _plan_side(nest: Nest, other: int, staged: Sequence[int], side: int) -> TilePlan:
    fitting = _fitting(nest, staged, side)
    return TilePlan(nest, other, fitting, side, _plan_rows(nest, fitting))


def _plan_rows(nest: Nest, staged: Sequence[int]) -> VectorPlan:
    """How the second part accesses what does not go through tiles: a bank's width at once where it can."""
    inner = len(nest.sizes) - 1
    width = min(_bank_width(x) for x in nest.accesses if x.strides[inner])
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
    """Emits the work of a thread on its block's tile."""

    def __init__(self, builder: GpuBuilder, plan: TilePlan):
        self.builder = builder
        self.plan = plan
        self.nest = plan.nest
        self.emitter = NestEmitter(builder, plan.nest)
        self.outer: list[Index] = []
        """Indices of the loops that no tile extends along."""
        self.starts: dict[int, Index] = {}
        """By loop: where the tile begins."""

    def emit(self) -> None:
        builder, plan = self.builder, self.plan
        tiles = plan.tiles(plan.other)
        group = next(g for g in (GROUP, GROUP // 2, GROUP // 4, 1) if tiles % g == 0)
        box = (*(self.nest.sizes[l] for l in plan.outer), tiles // group, plan.tiles(plan.inner), group)
        *self.outer, groups, column, row = delinearized(builder, builder.block_id(), box)
        row = builder.add(builder.mul(groups, group), row)
        self.starts = {plan.other: builder.mul(row, plan.side), plan.inner: builder.mul(column, plan.side)}
        self.emitter.make_views()
        buffers = {k: self._load_tile(k) for k in plan.staged}
        builder.barrier()
        at = [(plan.inner, self.starts[plan.inner]), (plan.other, self.starts[plan.other])]
        self.emitter.staged = {k: (buffer, at) for k, buffer in buffers.items()}
        self._run_body()

    def _indices(self, row: Index, column: Index) -> list[Index]:
        """The indices of all loops. `row`, `column`: of `other` and `inner`."""
        indices = list(self.outer)
        indices.insert(self.plan.other, row)
        return [*indices, column]

    def _spread(self, width: int, body: Callable[[Index, Index], None], cost: int) -> None:
        """
        All lines of a tile, by all threads, `body(line, place in it)` for `width` elements each.

        `cost`: operations of one element's work.
        """
        builder, side = self.builder, self.plan.side
        lanes = side // width
        lines = THREADS // lanes
        place = builder.mul(builder.rem(builder.thread_id(), lanes), width)
        first = builder.div(builder.thread_id(), lanes)
        count = side // lines
        times = count
        while times > 1 and times * width * cost > MOST_WRITTEN_OUT:
            times //= 2

        def lines_from(line: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            body(builder.add(first, line), place)
            return ()

        attributes = {UNROLL: IntegerAttr(WHOLLY if times == count else times, I64)} if times > 1 else None
        builder.loop(0, side, lines_from, step=lines, attributes=attributes)

    # The first part: along the input's lines.

    def _load_tile(self, k: int) -> SSAValue:
        """A tile of an input, as [line along `inner`][place along `other`]; beyond the edge, elements at the edge."""
        builder, plan = self.builder, self.plan
        order = [l for l in range(len(self.nest.sizes)) if l != plan.other] + [plan.other]
        nest = self.nest.permuted(order)
        access = cast(Access, nest.inputs[k])
        width = _bank_width(access)
        if nest.sizes[-1] % width or kind_of(nest, access, width) is not Kind.VECTOR:
            width = 1
        buffer = builder.shared((plan.side, plan.side + _bank_width(access)), buffer_of(access.root).element_type)
        view, loops = NestEmitter(builder, nest).view(k, access)

        def line(column: Index, row: Index) -> None:
            indices = self._indices(self._inside(plan.other, row, width), self._inside(plan.inner, column, 1))
            at = indices_in_view(builder, nest, access, loops, [indices[l] for l in order])
            if width == 1:
                builder.store(builder.load(view, at), buffer, [column, row])
            else:
                vector_store(builder, vector_load(builder, view, at, width), buffer, [column, row], width)

        self._spread(width, line, 1)
        return buffer

    def _inside(self, loop: int, place: Index, width: int) -> Index:
        index = self.builder.add(self.starts[loop], place)
        if not self.plan.is_ragged(loop):
            return index
        return self.builder.min(index, self.nest.sizes[loop] - width)

    # The second part: along the output's lines.

    def _run_body(self) -> None:
        builder, plan = self.builder, self.plan
        parts = split_body(plan.rows)
        cost = 1 if self.nest.body is None else len(list(self.nest.body.ops))

        def line(row: Index, column: Index) -> None:
            at = self._indices(builder.add(self.starts[plan.other], row), builder.add(self.starts[plan.inner], column))
            ragged = [loop for loop in (plan.other, plan.inner) if plan.is_ragged(loop)]
            item = ItemEmitter(self.emitter, plan.rows, parts)
            if not ragged:
                run_items([item], [at])
                return
            inside = [builder.compare("ult", at[loop], self.nest.sizes[loop]) for loop in ragged]
            condition = inside[0] if len(inside) == 1 else builder.insert(arith.AndIOp(inside[0], inside[1])).result
            if not self._reads_only_inputs():
                builder.when(condition, lambda: run_items([item], [at]))
                return
            # Beyond the edge the body runs on elements at the edge, so that no load waits for a condition.
            item.load(
                self._indices(self._inside(plan.other, row, 1), self._inside(plan.inner, column, plan.rows.width))
            )
            item.compute()
            item.indices = at
            builder.when(condition, item.store)

        self._spread(plan.rows.width, line, cost)

    def _reads_only_inputs(self) -> bool:
        """Whether nothing that the nest reads is written by it."""
        body, count = self.nest.body, len(self.nest.inputs)
        accumulates = body is not None and any(x.first_use is not None for x in body.args[count:])
        written = {access.root for access in self.nest.outputs}
        return not accumulates and not any(isinstance(x, Access) and x.root in written for x in self.nest.inputs)


def map_transpose(mapper: KernelMapper, phase: Phase) -> bool:
    """Map a phase of one all-parallel nest with an input that lies across; whether it is one."""
    if not phase.is_structured or len(phase.structured) != 1:
        return False
    nest = phase.nests()[0]
    if any(nest.reduction) or 0 in nest.sizes or plan_tiles(in_output_order(nest), mapper.chip) is None:
        return False
    launch = Launch(mapper, phase)
    plan = plan_tiles(in_output_order(launch.phase.nests()[0]), mapper.chip)
    assert plan is not None
    TileEmitter(launch.builder, plan).emit()
    launch.finish((plan.blocks, 1, 1), (THREADS, 1, 1))
    return True
