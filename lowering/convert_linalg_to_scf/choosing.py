"""
Rows of reductions that choose between tuples by comparing them, as argmax does, and of sums and the like beside them.

Where one value decides and the others are its place, the row is reduced a block at a time: the block's maximum, and
whether it beats those before. Then the first element that has the maximum is looked for in the block that won:

    best, at = -inf, 0
    for first in range(0, n, BLOCK): top = max(x[first : first + BLOCK]); if top > best: best, at = top, first
    place = min(i for i in range(at, at + BLOCK) if x[i] == best)

Other choices are made in lanes: each lane of a few vectors chooses from every LANES-th element, then one is chosen from
the lanes' choices.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, SSAValue

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import NO_FASTMATH
from ..loop_nests.choices import Leader
from ..loop_nests.combination import Parts, Values
from ..loop_nests.emission import NestEmitter
from ..loop_nests.kernel_builder import IndexValue, known
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder

LANES = 64
"""Elements that a choice in lanes treats at a time, on any machine: vectors that do not wait for each other."""

FEW_LANES = 8
"""Partial results from which one is chosen one after the other."""

BLOCK = 4096
"""Elements of a block: it stays in the first-level cache until it is searched, and its float sums are accurate."""

_EXACT = (math.AbsFOp, math.CopySignOp, math.FloorOp, math.CeilOp, math.TruncOp, math.RoundEvenOp, math.SqrtOp)
"""Operations of `math` with one result, in whichever loop they are computed."""


class RowChooser:
    """Emits the reduction of a row, or of a part of one."""

    def __init__(self, builder: LoopBuilder, emitter: NestEmitter, parts: Parts, loop: int):
        """`emitter`: of the nest that yields the elements; `loop`: the only one that is not bound."""
        self.builder = builder
        self.emitter = emitter
        self.parts = parts
        self.loop = loop

    def reduce(self, lower: Index, upper: Index) -> list[SSAValue]:
        """The partial result of a range that is not empty; places are those of the blocks that won."""
        by_blocks = [part for part, each in enumerate(self.parts.combinations) if each.combiners or each.leader]
        found = dict(zip(by_blocks, self._by_blocks(by_blocks, lower, upper), strict=True))
        for part in range(len(self.parts.combinations)):
            if part not in found:
                found[part] = self._in_lanes(part, lower, upper)
        return self.parts.gathered([found[part] for part in sorted(found)])

    def neutral(self) -> list[SSAValue]:
        """The partial result that changes no other."""
        first = self.builder.index(0)
        return self.parts.gathered(
            [
                each.neutral(self.builder)[: len(each.types)]
                if self._leader(part) is None
                else self._state(part, self._neutral(part), first)
                for part, each in enumerate(self.parts.combinations)
            ]
        )

    def finish(self, totals: Values, upper: Index, inits: Values) -> list[SSAValue]:
        """The results of the row that ends at `upper` from its partial result and the initial values."""
        parts = range(len(self.parts.combinations))
        found = [
            self.parts.of(part, totals)
            if self._leader(part) is None
            else self._found(part, self.parts.of(part, totals), upper)
            for part in parts
        ]
        return self.parts.follow(self.builder, inits, self.parts.gathered(found))

    def _elements(self, place: Index) -> list[SSAValue]:
        self.emitter.bind(self.loop, place)
        return self.emitter.body()

    # By blocks.

    def _by_blocks(self, chosen: Sequence[int], lower: Index, upper: Index) -> list[list[SSAValue]]:
        """The partial results of some parts, each of which has combiners or a leader."""
        if not chosen:
            return []
        builder, lower = self.builder, self.builder.index(lower)
        start = [self._state(part, self._neutral(part), lower) for part in chosen]
        with builder.loop(lower, upper, step=BLOCK, carry=_joined(start)) as (first, totals):
            best = self._accumulated(chosen, first, builder.min(first + BLOCK, upper))
            states = [self._state(part, values, first) for part, values in zip(chosen, best, strict=True)]
            merged = [
                self.parts.combinations[part].follow(builder, total, state)
                for part, total, state in zip(chosen, _split(totals, start), states, strict=True)
            ]
            builder.yield_(*_joined(merged))
        return _split(totals, start)

    def _leader(self, part: int) -> Leader | None:
        return self.parts.combinations[part].leader

    def _neutral(self, part: int) -> list[SSAValue]:
        """Neutral values of what a block accumulates: of all outputs, or of the leader."""
        combination = self.parts.combinations[part]
        if combination.leader is None:
            return combination.neutral(self.builder)
        return [combination.leader.combiner.neutral(self.builder)]

    def _state(self, part: int, values: Values, place: IndexValue) -> list[SSAValue]:
        """The partial result of a block that accumulated `values`: the places are that of the block."""
        leader = self._leader(part)
        if leader is None:
            return list(values)
        types = self.parts.combinations[part].types
        return [
            leader.stored(self.builder, values[0], type_) if k == leader.output else place.cast_to(type_)
            for k, type_ in enumerate(types)
        ]

    def _accumulated(self, chosen: Sequence[int], lower: Index, upper: Index) -> list[list[SSAValue]]:
        """Reduce a block, starting from neutral values."""
        start = [self._neutral(part) for part in chosen]
        carry = _joined(start)
        with self.builder.loop(lower, upper, carry=carry, attributes=PARALLEL) as (index, totals), self.emitter.scope():
            elements = self._elements(index)
            following: list[SSAValue] = []
            for part, values in zip(chosen, _split(totals, start), strict=True):
                own, leader = self.parts.of(part, elements), self._leader(part)
                combiners = self.parts.combinations[part].combiners
                if leader is not None:
                    combiners, own = (leader.combiner,), [leader.accumulated(self.builder, own[leader.output])]
                following += [c.combine(self.builder, *x) for c, *x in zip(combiners, values, own, strict=True)]
            self.builder.yield_(*following)
        return _split(totals, start)

    def _found(self, part: int, total: Values, upper: Index) -> list[SSAValue]:
        """The first element of the block that won which has the block's value."""
        builder, combination, leader = self.builder, self.parts.combinations[part], self._leader(part)
        assert leader is not None
        places = [k for k in range(len(combination.types)) if k != leader.output]
        start = builder.to_index(total[places[0]], unsigned=False)
        end = builder.min(start + BLOCK, upper)
        if not _is_exact(self.emitter.nest.body):
            return self._in_lanes(part, start, end)
        zero, one = (builder.index(place) for place in (0, 1))
        best, none = self._state(part, [total[leader.output]], one), builder.scalar(IntegerAttr(BLOCK, i32))
        with builder.loop(start, end, carry=[none], attributes=PARALLEL) as (index, least), self.emitter.scope():
            value = self.parts.of(part, self._elements(index))[leader.output]
            better = combination.follow(builder, self._state(part, [value], zero), best)[places[0]]
            number = builder.index(index - start).cast_to(i32)
            number = builder.on(better).compare("eq", 0).select(number, none)
            builder.yield_(builder.on(least[0]).apply(arith.MinSIOp, number))
        # No element is the best one only if a processor computed it differently in the two loops.
        place = builder.min(start + builder.to_index(least[0], unsigned=True), end - 1)
        with self.emitter.scope():
            return self.parts.of(part, self._elements(place))

    # In lanes.

    def _in_lanes(self, part: int, lower: Index, upper: Index) -> list[SSAValue]:
        """Choose with the lanes from their elements, then with halves of the lanes from others, then from the last."""
        builder, combination = self.builder, self.parts.combinations[part]
        buffers = [builder.alloca(memref_type((LANES,), type_)) for type_ in combination.states]
        lower, upper = builder.index(lower), builder.index(upper)
        whole = lower + (upper - lower) // LANES * LANES

        def held(lane: Index) -> list[SSAValue]:
            return [builder.load(buffer, [lane]) for buffer in buffers]

        def hold(values: Values, lane: Index) -> None:
            for value, buffer in zip(values, buffers, strict=True):
                builder.store(value, buffer, [lane])

        def take(first: Index, count: Index) -> None:
            with builder.loop(0, count, attributes=PARALLEL) as lane, self.emitter.scope():
                place = builder.index(first + lane)
                element = self.parts.of(part, self._elements(place))
                position = [place.cast_to(i32)] if combination.positioned else []
                hold(combination.combine(builder, held(lane), [*element, *position], in_order=True), lane)

        with builder.loop(0, LANES, attributes=PARALLEL) as lane:
            hold(combination.neutral(builder), lane)
        with builder.loop(lower, whole, step=LANES) as first:
            take(first, LANES)
        rest = known(upper - whole)
        if rest != 0:
            take(whole, rest)
        half = LANES // 2
        while half >= FEW_LANES:
            with builder.loop(0, half, attributes=PARALLEL) as lane:
                hold(combination.combine(builder, held(lane), held(lane + half)), lane)
            half //= 2
        with builder.loop(0, FEW_LANES, carry=combination.neutral(builder)) as (lane, totals):
            builder.yield_(*combination.combine(builder, totals, held(lane)))
        return totals[: len(combination.types)]


def _is_exact(body: Block | None) -> bool:
    """Whether the operations of a body have one result each, in whichever loop they are computed."""
    return body is not None and all(
        (isinstance(op, _EXACT) or not op.name.startswith(("math.", "math_ext.")))
        and op.properties.get("fastmath", NO_FASTMATH) == NO_FASTMATH
        for op in body.walk()
    )


def _joined(parts: Sequence[Values]) -> list[SSAValue]:
    return [value for part in parts for value in part]


def _split(values: Values, like: Sequence[Values]) -> list[list[SSAValue]]:
    """Split the values of several parts, as many of each as it has in `like`."""
    rest = iter(values)
    return [[next(rest) for _ in part] for part in like]
