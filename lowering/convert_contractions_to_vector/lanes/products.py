"""
Products whose vectors hold neighbours of a factor that is not shared by them: depthwise convolutions, and those whose
groups have few features.

`C[m, n] += A[m, k, n] * B[k, n]`, where n is contiguous in A and C. No element of A meets several columns, so that a
block of C takes vectors of A where a matrix product takes one element for all lanes. In channels-last layouts n is the
channels and m a row of places; in channels-first ones n is a row of places, m are rows, and B has one element for all
lanes. In a group of I inputs and O features the lanes of a group read the same element of A, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ....dialects.support.scalar import width_of
from ...device.cpu import Machine
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ...loop_nests.nest import Access, Nest
from ..blocking import MIN_MULTIPLICATIONS
from ..contraction import Element, Loop, Sums
from ..epilogue import separated
from ..factors.rearranged import copied

LEAST_LANES = 4
"""Fewest neighbours that are worth a vector."""

LEAST_USES = 8
"""Products of each element of B that make a copy of B cheap, where its elements are not together."""

MOST_UNROLLED = 160
"""Most multiply-adds of the innermost loop's body."""

MOST_ROWS, MOST_VECTORS = 14, 4
"""Most rows and vectors of a block."""

MOST_REPEATS = 8
"""Most times that a block repeats its rows."""

LONG = 512
"""Products of a sum that is worth repeated rows: the factors pass by once for all of them."""

LONG_ROW = 1024
"""Bytes of a row of A that is better read from its beginning to its end."""

LATENCY = 4
"""Independent multiply-adds that hide each other's latency, beside those of the next block."""

STEP = 4
"""The cost of one turn of the innermost loop, in multiply-adds."""

BLOCK = 16
"""The cost of a block beside its sums, in the same unit."""


@dataclass(frozen=True)
class Group:
    """Lanes that read the same elements of A."""

    lanes: int = 1
    members: int = 1
    """The elements of A that they read, one after the other."""
    step: int = 0
    """Stride, in elements, from one of them to the next in B."""
    kept: int = 0
    """The same in C, if each of them has sums of its own."""

    @property
    def summed(self) -> int:
        """Elements of A that a lane adds in one step."""
        return 1 if self.kept else self.members


@dataclass(frozen=True)
class LaneProduct:
    """A product in canonical form."""

    a: Access
    b: Access
    c: Access
    m: Loop
    n: Loop
    """The lanes. Its stride in B is 0, 1, or -1 where the lanes are apart, see `parts`."""
    outer: tuple[Loop, ...]
    ks: tuple[Loop, ...]
    """The contracted loops, from the outermost; without that over the members of a group."""
    group: Group
    parts: tuple[Loop, ...]
    """The loops that the lanes are made of."""
    element: Element
    epilogue: Nest | None = None
    """An elementwise operation after the product, over the loops of `outer`, m and n."""

    @property
    def depth(self) -> int:
        """The products summed into each element of C."""
        return math.prod(loop.size for loop in self.ks) * self.group.summed

    @property
    def adds_lanes(self) -> bool:
        """Whether the lanes are contracted too, and added in the end: see row_sums.py."""
        return self.n.c == 0

    @property
    def multiplications(self) -> int:
        kept = self.group.members // self.group.summed
        return math.prod(loop.size for loop in (self.m, self.n, *self.outer)) * self.depth * kept


@dataclass(frozen=True)
class Block:
    """The shape of a block of C: its sums are in registers."""

    rows: int
    vectors: int
    lanes: int
    unrolled: bool
    """Whether the innermost contracted loop is written out."""
    repeats: int = 1
    """Times that the rows are repeated, over a further loop that moves A and C but not B."""

    @property
    def width(self) -> int:
        return self.vectors * self.lanes


def lane_product_of(factors: Factors, machine: Machine) -> LaneProduct | None:
    """The product of these factors, with the epilogue; None if it is not of this form."""
    nest, element, own = factors
    a, b = nest.accesses[:2]
    product = _canonical(nest, a, b, element, own) or _canonical(nest, b, a, element, own)
    if product is None or lanes_of_block(product, machine) is None or _only_streams(product):
        return None
    elements = math.prod(loop.size for loop in _loops_of_b(product))
    scattered = product.n.b == -1 and product.multiplications < LEAST_USES * elements
    return None if scattered or product.multiplications < MIN_MULTIPLICATIONS else product


Factors: TypeAlias = Sums
"""Sums whose nest is ordered; see `factors_in`."""


def factors_in(found: Sums) -> Factors | None:
    """
    The ordered nest of a generic that adds products of factors of its own type, none read backwards; that type; and the
    epilogue over the same loops.
    """
    nest, element, own = found
    nest = _ordered(nest)
    if any(buffer_of(x.root).element_type != element for x in nest.accesses[:2]):
        return None
    operands = (*nest.accesses[:2], nest.outputs[0])
    return None if any(stride < 0 for x in operands for stride in x.strides) else (nest, element, own)


def _only_streams(product: LaneProduct) -> bool:
    """
    Whether each element of A is read once, in long rows, as where a vector is multiplied by a matrix: blocks would read
    strips of the rows, lines of many pages.
    """
    once = product.multiplications <= math.prod(buffer_of(product.a.root).get_shape())
    return once and product.n.size * width_of(product.element) > LONG_ROW * 8


def _ordered(nest: Nest) -> Nest:
    """The nest with C's loops in its order, the contracted ones after them, each as large as possible."""
    nest = nest.without_unit_loops()
    a, b = nest.accesses[:2]
    kept = sorted(nest.parallel_loops, key=lambda l: -nest.outputs[0].strides[l])
    contracted = sorted(nest.reduction_loops, key=lambda l: -max(a.strides[l], b.strides[l]))
    return nest.permuted([*kept, *contracted]).collapsed()


def _canonical(nest: Nest, a: Access, b: Access, element: Element, own: Nest | None) -> LaneProduct | None:
    c = nest.outputs[0]
    loops = [Loop(n, a.strides[l], b.strides[l], c.strides[l]) for l, n in enumerate(nest.sizes)]
    places = {id(loop): place for place, loop in enumerate(loops)}
    kept, ks = [loops[l] for l in nest.parallel_loops], [loops[l] for l in nest.reduction_loops]
    if any(not (loop.a and loop.b) or loop.c for loop in ks) or any(not loop.c for loop in kept):
        return None
    lane = next((loop for loop in kept if loop.c == 1), None)
    if lane is None:
        return None
    kept.remove(lane)
    parts, group = (lane,), Group()
    if not lane.a:
        groups = next((loop for loop in kept if loop.c == lane.size and loop.a and loop.b), None)
        if groups is None or lane.size & (lane.size - 1) or groups.a > lane.size:
            return None
        members = (loop for loop in (*ks, *kept) if loop.a == 1 and loop.size == groups.a)
        member = next(members, None) or Loop(1, 0, 0, 0)
        if member.size != groups.a or (member.c and (member.b or own is not None)):
            return None
        parts, group = (groups, lane), Group(lane.size, member.size, member.b, member.c)
        kept = [loop for loop in kept if loop is not member and loop is not groups]
        ks = [loop for loop in ks if loop is not member]
    n = _lanes(parts)
    if n.a not in (1, 2) or any(not loop.a for loop in kept) or not ks:
        return None
    rows = [loop for loop in kept if not loop.b]
    m = min((loop for loop in rows if loop.size >= LEAST_LANES), key=lambda loop: loop.c, default=None)
    m = m or max(rows, key=lambda loop: loop.size, default=None)
    outer = tuple(loop for loop in kept if loop is not m)
    after: Nest | None = None
    if own is not None:
        if m is None:
            return None
        after = separated(nest, 2, own, [places[id(loop)] for loop in (*outer, m, *parts)])
        after = after if len(parts) == 1 else _joined_lanes(after)
        if after is None:
            return None
    ks.sort(key=lambda loop: -loop.a)
    return LaneProduct(a, b, c, m or Loop(1, 0, 0, 0), n, outer, tuple(ks), group, parts, element, after)


def _lanes(parts: Sequence[Loop]) -> Loop:
    """The loop over all lanes."""
    if len(parts) == 1:
        (lane,) = parts
        return replace(lane, b=lane.b if lane.b in (0, 1) else -1)
    groups, lane = parts
    return Loop(groups.size * lane.size, 1, 1 if (lane.b, groups.b) == (1, lane.size) else -1, 1)


def _joined_lanes(nest: Nest) -> Nest | None:
    """The nest whose last two loops are one; None if they are not together in all operands."""
    inner = len(nest.sizes) - 1
    asked, size = set(nest.dims.values()), nest.sizes[inner]
    apart = any(x.strides[inner - 1] != x.strides[inner] * size for x in nest.accesses)
    if apart or inner in asked or inner - 1 in asked:
        return None
    sizes = (*nest.sizes[:inner], size * nest.sizes[inner - 1])
    merged = replace(nest, sizes=sizes).permuted([*range(inner - 1), inner])
    return replace(merged, bound=inner - 2)


def _loops_of_b(product: LaneProduct) -> list[Loop]:
    """The loops that move B, but not over the members of a group, in the order of a copy."""
    return [loop for loop in (*product.outer, *product.ks, *product.parts) if loop.b]


def with_copied_b(builder: LoopBuilder, product: LaneProduct) -> LaneProduct:
    """The product whose lanes are together in B, which is copied for that."""
    group = product.group
    members = [Loop(group.members, 1, group.step, 0)] if group.summed > 1 else []
    loops = [*(loop for loop in (*product.outer, *product.ks) if loop.b), *members, *product.parts]
    b, strides = copied(builder, product.b, loops)
    places = {id(loop): stride for loop, stride in zip(loops, strides, strict=True)}

    def moved(loops: Sequence[Loop]) -> tuple[Loop, ...]:
        return tuple(replace(loop, b=places.get(id(loop), 0)) for loop in loops)

    return replace(
        product,
        b=b,
        n=replace(product.n, b=1),
        outer=moved(product.outer),
        ks=moved(product.ks),
        group=replace(group, step=product.n.size if members else 0),
    )


def lanes_of_block(product: LaneProduct, machine: Machine) -> int | None:
    """The lanes of one vector; None if the product has too few, or one group fills a vector."""
    most = machine.vector_bits // width_of(product.element)
    lanes = min(most, 1 << product.n.size.bit_length() - 1)
    group = product.group
    several = group.lanes <= (lanes if group.kept else lanes // 2)
    return lanes if lanes >= LEAST_LANES and several else None


def members_of(product: LaneProduct) -> tuple[Loop, ...]:
    """The loop over the members of a group that have sums of their own, if it has any."""
    group = product.group
    return (Loop(group.members, 1, 0, group.kept),) if group.kept else ()


def further_rows(product: LaneProduct) -> Loop:
    """The loop of `outer` over which a block may repeat its rows: a window's, where few rows read long sums."""
    if product.adds_lanes or (product.epilogue is None and product.depth >= LONG):
        for loop in product.outer:
            if not loop.b and loop.size <= MOST_REPEATS and (not product.adds_lanes or loop.a <= product.ks[-1].a):
                return loop
    return Loop(1, 0, 0, 0)


def block_of(product: LaneProduct, lanes: int, registers: int) -> Block:
    """The block that computes the product in the fewest steps."""
    group, inner = product.group, product.ks[-1]

    further = further_rows(product)

    def cost(block: Block) -> tuple[float, int]:
        taps = inner.size if block.unrolled else 1
        sums = block.rows * block.repeats * block.vectors * (group.members // group.summed)
        places = len(
            {
                row * product.m.a + again * further.a + tap * inner.a
                for again in range(block.repeats)
                for row in range(block.rows)
                for tap in range(taps)
            }
        )
        factors = taps * group.summed * (1 if product.n.b == 0 else block.vectors)
        multiplied = sums * taps * group.summed
        moved = places * block.vectors * group.members if group.lanes > 1 or product.n.a > 1 else 0
        loaded = places * block.vectors + factors
        step = max(multiplied + moved, loaded, LATENCY * taps * group.summed)
        turns = product.depth // (taps * group.summed)
        blocks = -(-product.m.size // block.rows) * -(-product.n.size // block.width) * further.size // block.repeats
        used = min(taps, block.rows) * block.vectors if product.adds_lanes else factors
        spilled = max(0, sums + used + 2 - registers)
        too_long = multiplied > MOST_UNROLLED and multiplied > sums * group.summed
        each = BLOCK + 2 * sums + turns * (step + 2 * spilled + (0 if taps == inner.size else STEP))
        return (math.inf if too_long else blocks * each), sums

    whole = -(-product.n.size // lanes)
    vectors = (whole,) if product.adds_lanes else range(1, min(MOST_VECTORS, product.n.size // lanes) + 1)
    return min(
        (
            Block(rows, count, lanes, unrolled, repeats)
            for repeats in {1, further.size}
            for rows in range(1, min(MOST_ROWS, product.m.size) + 1)
            for count in vectors
            for unrolled in (False, True)
            if rows * repeats * count * (group.members // group.summed) + count + 2 <= registers
        ),
        key=cost,
    )
