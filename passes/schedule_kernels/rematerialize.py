"""
Kernels that run again where their result is needed late, so that it takes no memory in between.

The memory that counts is that of the whole program, arguments and results included, where most of it is taken; the
price is the bytes that move again. Memory that the machine has is worth less than the time to move them: the peak must
fall by a greater part of the memory, `worth` times, than the bytes of the block rise. That is more than once because
buffers of other sizes leave gaps, so that the arena shrinks by less than the bytes alive at once. A program that does
not fit otherwise repeats whatever makes it smaller.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Operation

from ...dialects.support.buffer_ops import buffer_type, byte_size
from ...dialects.support.kernel import TRIP_COUNT
from ...lowering.device.cpu import CPU
from ...lowering.loop_nests.cost import weight_of
from ..bufferize.in_place import KernelFacts
from ..fuse_linalg.plan import extents, is_contraction, is_parallel
from .flow import Flow

MOST = 64
"""Most calls of a block that are repeated."""

SMALL_PART = 8
"""A value that this many times exceeds an operand may keep the operand alive."""


class CallCost(NamedTuple):
    """The bytes that calls move, and their time."""

    bytes: int
    ns: int

    def times(self, count: int) -> CallCost:
        return CallCost(self.bytes * count, self.ns * count)

    def plus(self, other: CallCost) -> CallCost:
        return CallCost(self.bytes + other.bytes, self.ns + other.ns)

    def part_of(self, whole: CallCost) -> float:
        """The part that these calls have in the bytes of others or in their time, whichever is greater."""
        return max(mine / max(1, all_) for mine, all_ in zip(self, whole, strict=True))


@dataclass(frozen=True)
class KernelCost:
    """The cost of one call of a kernel, and whether the kernel may run again: it only computes elements."""

    cost: CallCost
    repeatable: bool

    @staticmethod
    def of(function: func.FuncOp) -> KernelCost:
        operations = products = 0
        repeatable = True
        for op in function.body.block.ops:
            if isinstance(op, GenericOp):
                points = math.prod(extents(op))
                if is_contraction(op):
                    products += points
                else:
                    operations += points * sum(weight_of(inner).loop for inner in op.body.block.ops)
                repeatable = repeatable and is_parallel(op) and not is_contraction(op)
            elif op.regions or op.name.startswith("linalg_ext."):
                repeatable = False
        types = function.function_type
        moved = sum(byte_size(buffer_type(type_)) for type_ in (*types.inputs, *types.outputs) if _is_tensor(type_))
        computed = operations // CPU.operations_per_ns + products // CPU.products_per_ns
        return KernelCost(CallCost(moved, max(moved // CPU.bytes_per_ns, computed)), repeatable)


def cost_of_calls(op: Operation, costs: Mapping[str, KernelCost]) -> CallCost:
    """The cost of a call, or of those in an operation's regions; a loop of unknown length counts as one iteration."""
    if isinstance(op, func.CallOp):
        kernel = costs.get(op.callee.root_reference.data)
        return CallCost(0, 0) if kernel is None else kernel.cost
    found = CallCost(0, 0)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                found = found.plus(cost_of_calls(inner, costs))
    count = op.attributes.get(TRIP_COUNT)
    return found.times(count.value.data) if isinstance(count, IntegerAttr) else found


def _is_tensor(type_: Attribute) -> bool:
    return isinstance(type_, TensorType)


class Repeat(NamedTuple):
    """A value that is computed again before an operation of the block, for that and all later ones."""

    value: int
    before: int


class Decision(NamedTuple):
    """Repeats that are made together, or not."""

    repeats: list[Repeat]
    pays: bool
    saved: int
    """The bytes by which they lower the peak, or could at most."""
    cost: CallCost


@dataclass
class Rematerialization:
    """Finds the calls to repeat, in a block whose order is settled."""

    flow: Flow
    kernels: Mapping[str, KernelFacts]
    costs: Mapping[str, KernelCost]
    memory: int
    """The bytes that the program takes, arguments and results included."""
    worth: int
    """How many times the part of the memory that repeats save must exceed their part of the block's cost."""
    maker: dict[int, int] = field(default_factory=dict[int, int])
    """The operation that writes each value."""
    size: dict[int, int] = field(default_factory=dict[int, int])
    needed_until: dict[int, int] = field(default_factory=dict[int, int])
    """The last operation that reads each value, repeated calls too."""
    fixed: set[int] = field(default_factory=set[int])
    """The values whose lives are settled: they are computed again, or for what is."""
    dear: dict[int, Decision] = field(default_factory=dict[int, Decision])
    """Against repeats that cost more than they could save, by their values."""
    whole: CallCost = field(default=CallCost(0, 0))
    """All calls of the block."""

    def run(self) -> list[Decision]:
        """The decisions about repeats that lower the peak of the bytes alive at once; the first may be for some."""
        flow = self.flow
        for number, makes in enumerate(flow.makes):
            for made in makes:
                self.maker[made.value], self.size[made.value] = number, made.size
        for value, readers in enumerate(flow.read_by):
            self.needed_until[value] = len(flow.ops) if value in flow.kept else max(readers, default=-1)
        alive = np.array(flow.profile(range(len(flow.ops)))[0], dtype=np.int64)
        for op in flow.ops:
            self.whole = self.whole.plus(cost_of_calls(op, self.costs))
        first = int(alive.max(initial=0))
        candidates = [value for value in self.maker if self._is_candidate(value, first)]
        found: list[Repeat] = []
        peaks, costs = [first], [CallCost(0, 0)]
        while len(found) < MOST and first:
            place = int(alive.argmax())
            best = max(self._options(candidates, place, alive), default=None)
            if best is None:
                break
            _, _, value, before = best
            self._repeat(value, before, place, alive)
            found.append(Repeat(value, before))
            peaks.append(int(alive.max()))
            costs.append(costs[-1].plus(self._cost(value)))
        gains = [self._gain(first - peak, cost) for peak, cost in zip(peaks, costs, strict=True)]
        kept = gains.index(max(gains))
        together = [Decision(found[:kept], True, first - peaks[kept], costs[kept])] if kept else []
        if found[kept:]:
            cost = CallCost(*(all_ - some for all_, some in zip(costs[-1], costs[kept], strict=True)))
            together.append(Decision(found[kept:], False, peaks[kept] - min(peaks[kept:]), cost))
        taken = {repeat.value for repeat in found}
        return together + [each for value, each in self.dear.items() if value not in taken]

    def _gain(self, saved: int, cost: CallCost) -> float:
        """The gain of saving bytes at some cost, as a part of the program's memory."""
        return saved / self.memory - self.worth * cost.part_of(self.whole)

    def _is_candidate(self, value: int, peak: int) -> bool:
        op = self.flow.ops[self.maker[value]]
        if not isinstance(op, func.CallOp) or self.size[value] * 256 < peak or value in self.flow.kept:
            return False
        name = op.callee.root_reference.data
        facts = self.kernels.get(name)
        return facts is not None and not facts.has_effects and not facts.kernel.tied and self.costs[name].repeatable

    def _cost(self, value: int) -> CallCost:
        return cost_of_calls(self.flow.ops[self.maker[value]], self.costs)

    def _options(
        self, candidates: list[int], place: int, alive: np.ndarray[Any, Any]
    ) -> Iterator[tuple[int, int, int, int]]:
        """(bytes saved, minus the time, value, operation before which it is computed again), where that may pay."""
        for value in candidates:
            readers = self.flow.read_by[value]
            late = [reader for reader in readers if reader > place]
            if value in self.fixed or self.maker[value] >= place or not late or place in readers:
                continue
            before = min(late)
            extended = self._extended(value, before)
            if extended is None:
                continue
            saved = self.size[value] - sum(self.size.get(operand, 0) for operand in extended)
            beside = sum(made.size for made in self.flow.makes[self.maker[value]] if made.value != value)
            cost = self._cost(value)
            if alive[before] + beside >= alive[place] or saved <= 0:
                continue
            if self._gain(saved, cost) >= 0:
                yield saved, -cost.ns, value, before
            else:
                self.dear.setdefault(value, Decision([Repeat(value, before)], False, saved, cost))

    def _operands(self, value: int) -> list[int]:
        op = self.flow.ops[self.maker[value]]
        return [self.flow.value_of[operand] for operand in op.operands if operand in self.flow.value_of]

    def _extended(self, value: int, before: int) -> list[int] | None:
        """The operands that would live longer if a value was computed again; None if one cannot."""
        found: list[int] = []
        for operand in self._operands(value):
            if self.needed_until[operand] >= before:
                continue
            small = self.size.get(operand, 0) * SMALL_PART <= self.size[value]
            if operand in self.fixed or operand not in self.maker or not small or self._is_overwritten(operand):
                return None
            found.append(operand)
        return found

    def _is_overwritten(self, value: int) -> bool:
        readers = self.flow.read_by[value]
        return any(value in made.over[:1] for reader in readers for made in self.flow.makes[reader])

    def _repeat(self, value: int, before: int, place: int, alive: np.ndarray[Any, Any]) -> None:
        until = max((reader for reader in self.flow.read_by[value] if reader < place), default=self.maker[value])
        extended = self._extended(value, before) or []
        alive[until + 1 : before] -= self.size[value]
        for operand in extended:
            alive[max(self.needed_until[operand], 0) + 1 : before + 1] += self.size[operand]
            self.needed_until[operand] = before
        self.fixed |= {value, *self._operands(value)}
