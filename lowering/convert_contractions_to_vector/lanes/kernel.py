"""
The function that computes one block of a product of lanes: its sums are in registers, row by row.

    for k: for each row r: sums[r] += A[r, k, n..] * B[k, n..]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ....dialects.support.scalar import scalar_attr
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ..shared_function import call_known, writes
from ..vectors import VectorBuilder
from .products import Block, Group, LaneProduct, further_rows

LONG = 4096
"""Products that are added one after the other: a sum of more is one of such sums."""


@dataclass(frozen=True)
class _Facts:
    """The facts on which the function depends. Strides are in elements."""

    block: Block
    group: Group
    row: int
    """Stride of A from one row to the next."""
    again: tuple[int, int]
    """Strides of A and C from one repetition of the rows to the next."""
    lane: int
    """Stride of A from one group of lanes to the next, in members."""
    row_of_c: int
    splat: bool
    """Whether all lanes have the same element of B."""
    ks: tuple[tuple[int, int, int], ...]
    """The contracted loops: trip counts, and strides in A and B."""
    added: int = 0
    """Elements of a row whose lanes are added; 0 if each is a column of C."""

    @property
    def width(self) -> int:
        """Elements of a row of a block."""
        return self.added or self.block.width

    def first(self, vector: int) -> int:
        """The first lane of a vector of a row; the last vector overlaps the one before it unless all are whole."""
        return min(vector * self.block.lanes, self.width - self.block.lanes)

    @property
    def rows(self) -> list[tuple[int, int, int]]:
        """The rows of a block: their repetitions, numbers and members of a group."""
        members = range(self.group.members // self.group.summed)
        return [
            (a, row, member) for a in range(self.block.repeats) for row in range(self.block.rows) for member in members
        ]


def call_lane_kernel(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    product: LaneProduct,
    block: Block,
    a: SSAValue,
    at: tuple[Index, Index, Index],
) -> None:
    """Compute the block of C whose operands A, in the buffer `a`, B and C begin at these elements."""
    further = further_rows(product)
    facts = _Facts(
        block=block,
        group=product.group,
        row=product.m.a,
        again=(further.a, further.c),
        lane=product.n.a,
        row_of_c=product.m.c,
        splat=product.n.b == 0,
        ks=tuple((loop.size, loop.a, loop.b) for loop in product.ks),
        added=product.n.size if product.adds_lanes else 0,
    )
    arguments = (a, at[0], product.b.root, at[1], product.c.root, at[2])
    call_known(builder, kernel, "lanes", arguments, facts, _emit)


@writes(4)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    a, a_at, b, b_at, c, c_at = parameters
    block = facts.block
    body = _Body(builder, a, b, facts)
    sums = body.sums(0, builder.index(a_at), builder.index(b_at), body.zeros())
    vectors = VectorBuilder(builder)
    places = [
        again * facts.again[1] + row * facts.row_of_c + member * facts.group.kept for again, row, member in facts.rows
    ]
    view = builder.strided_view(c, builder.index(c_at), (max(places) + (1 if facts.added else block.width),), (1,))
    for number, place in enumerate(places):
        of_row = sums[number * block.vectors : (number + 1) * block.vectors]
        if facts.added:
            vectors.store(body.added(of_row), view, [place])
            continue
        for v, total in enumerate(of_row):
            vectors.store(total, view, [place + v * block.lanes])


class _Body:
    def __init__(self, builder: LoopBuilder, a: SSAValue, b: SSAValue, facts: _Facts):
        self.builder = builder
        self.vectors = VectorBuilder(builder)
        self.a = a
        self.b = b
        self.facts = facts
        self.loops = facts.ks[:-1] if facts.block.unrolled else facts.ks
        """The contracted loops that are not written out."""
        self.taps = facts.ks[-1] if facts.block.unrolled else (1, 0, 0)

    def zeros(self) -> list[SSAValue]:
        block = self.facts.block
        zero = self.vectors.splat(self.builder.scalar(scalar_attr(0, buffer_of(self.a).element_type)), block.lanes)
        return [zero] * (len(self.facts.rows) * block.vectors)

    def sums(self, depth: int, a_at: Index, b_at: Index, start: list[SSAValue]) -> list[SSAValue]:
        """The sums over the contracted loops from `depth` on, added to `start`."""
        if depth == len(self.loops):
            return self._accumulated(a_at, b_at, start)
        builder = self.builder
        size, a_step, b_step = self.loops[depth]
        apart = depth + 1 < len(self.loops) and self._length(depth) > LONG >= self._length(depth + 1)
        with builder.loop(0, size, carry=start) as (k, sums):
            found = self.sums(depth + 1, a_at + k * a_step, b_at + k * b_step, self.zeros() if apart else sums)
            builder.yield_(*(map(self.vectors.add, sums, found) if apart else found))
        return sums

    def added(self, sums: Sequence[SSAValue]) -> SSAValue:
        """The sum of the lanes of a row, as a vector of one. Those that two vectors have count once."""
        *whole, last = sums
        lanes, vectors = self.facts.block.lanes, self.vectors
        again = (len(sums) - 1) * lanes - self.facts.first(len(sums) - 1)
        if again:
            zero = vectors.splat(self.builder.scalar(scalar_attr(0, buffer_of(self.a).element_type)), lanes)
            last = vectors.shuffled(zero, last, [*range(again), *range(lanes + again, 2 * lanes)])
        return vectors.folded(reduce(vectors.add, [*whole, last]), vectors.add)

    def _length(self, depth: int) -> int:
        """The products of a sum over the contracted loops from `depth` on."""
        length = self.facts.group.summed
        for size, _, _ in self.facts.ks[depth:]:
            length *= size
        return length

    def _accumulated(self, a_at: Index, b_at: Index, start: list[SSAValue]) -> list[SSAValue]:
        """Add the products of the steps that are written out; rows that read the same vectors of A share them."""
        facts, block = self.facts, self.facts.block
        taps, a_step, b_step = self.taps
        row_of_b = 1 if facts.splat else facts.width
        span = (taps - 1) * b_step + (facts.group.summed - 1) * facts.group.step + row_of_b
        view = self.builder.strided_view(self.b, b_at, (span,), (1,))
        factors = [self._factors(view, tap * b_step) for tap in range(taps)]
        readers: dict[int, list[tuple[int, int, int]]] = {}
        for tap in range(taps):
            for number, (again, row, member) in enumerate(facts.rows):
                place = again * facts.again[0] + row * facts.row + tap * a_step
                for each in (member,) if facts.group.kept else range(facts.group.members):
                    readers.setdefault(place, []).append((number, tap, each))
        sums = list(start)
        last = max(readers) + self._first_of_a(block.vectors - 1) + self._span
        view = self.builder.strided_view(self.a, a_at, (last,), (1,))
        for place in sorted(readers):
            for v in range(block.vectors):
                x = self._loaded(view, place + self._first_of_a(v))
                for member in range(facts.group.members):
                    lanes = self._lanes_of(x, member)
                    for row, tap, _ in (reader for reader in readers[place] if reader[2] == member):
                        number, factor = row * block.vectors + v, factors[tap][0 if facts.group.kept else member][v]
                        sums[number] = self.vectors.multiply_add(lanes, factor, sums[number])
        return sums

    def _factors(self, view: SSAValue, first: int) -> list[list[SSAValue]]:
        """The vectors of B of one step, from the element `first` of a view on, for each member of a group."""
        block, group, builder = self.facts.block, self.facts.group, self.builder
        found: list[list[SSAValue]] = []
        for member in range(group.summed):
            at = first + member * group.step
            if self.facts.splat:
                found.append([self.vectors.splat(builder.load(view, [at]), block.lanes)] * block.vectors)
            else:
                firsts = [at + self.facts.first(v) for v in range(block.vectors)]
                found.append([self.vectors.load(view, [each], block.lanes) for each in firsts])
        return found

    def _first_of_a(self, v: int) -> int:
        """The first element of A that vector `v` of a row reads."""
        group, first = self.facts.group, self.facts.first(v)
        return first // group.lanes * group.members if self.facts.lane == 1 else first * self.facts.lane

    @property
    def _span(self) -> int:
        """The elements of A from the first to the last that a vector of a row reads."""
        lanes, group = self.facts.block.lanes, self.facts.group
        return lanes // group.lanes * group.members if self.facts.lane == 1 else 2 * lanes - 1

    def _loaded(self, view: SSAValue, first: int) -> SSAValue:
        """The elements of A that a vector of a row reads, from the element `first` of a view on."""
        lanes = self.facts.block.lanes
        if self.facts.lane == 1:
            return self.vectors.load(view, [first], self._span)
        # The second vector begins at an odd element, so that none beyond the last lane's is read.
        x, y = (self.vectors.load(view, [first + start], lanes) for start in (0, lanes - 1))
        return self.vectors.shuffled(x, y, [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)])

    def _lanes_of(self, x: SSAValue, member: int) -> SSAValue:
        """The element that each lane reads."""
        group, lanes = self.facts.group, self.facts.block.lanes
        if group.lanes == 1:
            return x
        return self.vectors.shuffled(x, x, [lane // group.lanes * group.members + member for lane in range(lanes)])
