"""Kernels that run again where their result is needed late, so that it takes no memory in between."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.ir.core import Use

from ...dialects.support.buffer_ops import buffer_type, byte_size
from ...dialects.support.kernel import REPEATED
from ...dialects.tensor_ops import is_reshape
from ...lowering.device.cpu import CPU
from ...lowering.loop_nests.cost import weight_of
from ..bufferize.in_place import KernelFacts
from ..fuse_linalg.plan import extents, is_contraction, is_parallel
from .flow import Flow

MOST = 64
"""Most calls of a block that are repeated."""

WORTH = 2
"""The least ratio of the part of the peak that a repeated call saves to the part of the block's time that it takes."""

SMALL_PART = 8
"""A value that this many times exceeds an operand may keep the operand alive."""


@dataclass(frozen=True)
class KernelCost:
    """The time of one call of a kernel, and whether the kernel may run again: it only computes elements."""

    ns: int
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
        return KernelCost(max(moved // CPU.bytes_per_ns, computed), repeatable)


def _is_tensor(type_: Attribute) -> bool:
    return isinstance(type_, TensorType)


@dataclass
class Repeat:
    """A value that is computed again before an operation of the block, for that and all later ones."""

    value: int
    before: int


@dataclass
class Rematerialization:
    """Finds the calls to repeat, in a block whose order is settled."""

    flow: Flow
    kernels: Mapping[str, KernelFacts]
    costs: Mapping[str, KernelCost]
    maker: dict[int, int] = field(default_factory=dict[int, int])
    """The operation that writes each value."""
    size: dict[int, int] = field(default_factory=dict[int, int])
    needed_until: dict[int, int] = field(default_factory=dict[int, int])
    """The last operation that reads each value, repeated calls too."""
    fixed: set[int] = field(default_factory=set[int])
    """The values whose lives are settled: they are computed again, or for what is."""

    def run(self) -> list[Repeat]:
        """The repeats that lower the peak of the bytes alive at once, and pay."""
        flow = self.flow
        for number, makes in enumerate(flow.makes):
            for made in makes:
                self.maker[made.value], self.size[made.value] = number, made.size
        for value, readers in enumerate(flow.read_by):
            self.needed_until[value] = len(flow.ops) if value in flow.kept else max(readers, default=-1)
        alive = np.array(flow.profile(range(len(flow.ops)))[0], dtype=np.int64)
        whole = sum(self._time(op) for op in flow.ops)
        first = int(alive.max(initial=0))
        candidates = [value for value in self.maker if self._is_candidate(value, first)]
        found: list[Repeat] = []
        peaks = [first]
        while len(found) < MOST and first:
            place = int(alive.argmax())
            best = max(self._options(candidates, place, alive, whole), default=None, key=lambda option: option[:2])
            if best is None:
                break
            _, _, value, before = best
            self._repeat(value, before, place, alive)
            found.append(Repeat(value, before))
            peaks.append(int(alive.max()))
        return found[: peaks.index(min(peaks))]

    def _is_candidate(self, value: int, peak: int) -> bool:
        op = self.flow.ops[self.maker[value]]
        if not isinstance(op, func.CallOp) or self.size[value] * 256 < peak or value in self.flow.kept:
            return False
        name = op.callee.root_reference.data
        facts = self.kernels.get(name)
        return facts is not None and not facts.has_effects and not facts.kernel.tied and self.costs[name].repeatable

    def _time(self, op: Operation) -> int:
        cost = self.costs.get(op.callee.root_reference.data) if isinstance(op, func.CallOp) else None
        return 0 if cost is None else cost.ns

    def _options(
        self, candidates: list[int], place: int, alive: np.ndarray[Any, Any], whole: int
    ) -> Iterator[tuple[int, int, int, int]]:
        """(bytes saved, minus the time, value, operation before which it is computed again), where that pays."""
        for value in candidates:
            readers = self.flow.read_by[value]
            late = [reader for reader in readers if reader > place]
            if value in self.fixed or self.maker[value] >= place or not late or place in readers:
                continue
            before, op = min(late), self.flow.ops[self.maker[value]]
            extended = self._extended(value, before)
            if extended is None:
                continue
            saved = self.size[value] - sum(self.size.get(operand, 0) for operand in extended)
            beside = sum(made.size for made in self.flow.makes[self.maker[value]] if made.value != value)
            time = self._time(op)
            if alive[before] + beside < alive[place] and saved * whole >= WORTH * time * int(alive[place]):
                yield saved, -time, value, before

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


def apply(block: Block, flow: Flow, repeats: list[Repeat]) -> None:
    """Insert the calls that `repeats` ask for, and let the operations from there on use their results."""
    place = {op: number for number, op in enumerate(flow.ops)}
    for repeat in repeats:
        user = flow.ops[repeat.before]
        (original,) = (v for v, n in flow.value_of.items() if n == repeat.value and not _is_view(v))
        assert isinstance(original, OpResult)
        again = original.op.clone()
        again.attributes[REPEATED] = UnitAttr()
        block.insert_op_before(again, user)
        renewed: dict[SSAValue, SSAValue] = {original: again.results[original.index]}
        renewed[original].name_hint = original.name_hint
        for use in _uses(original, block):
            beside = block.find_ancestor_op_in_block(use.operation)
            if beside is None or place.get(beside, -1) < repeat.before or _is_view(beside):
                continue
            use.operation.operands[use.index] = _renewed(use.operation.operands[use.index], renewed, block, user)


def _uses(value: SSAValue, block: Block) -> list[Use]:
    """The uses of a value and of its views in the block."""
    found = list(value.uses)
    for use in value.uses:
        if _is_view(use.operation) and use.operation.parent is block:
            found += _uses(use.operation.results[0], block)
    return found


def _is_view(thing: Operation | SSAValue) -> bool:
    owner = thing.owner if isinstance(thing, SSAValue) else thing
    return is_reshape(owner)


def _renewed(value: SSAValue, renewed: dict[SSAValue, SSAValue], block: Block, before: Operation) -> SSAValue:
    """The value, a view of one that was computed again, as a view of the new one."""
    if value not in renewed:
        view = cast(Operation, value.owner).clone()
        view.operands = [_renewed(view.operands[0], renewed, block, before)]
        block.insert_op_before(view, before)
        renewed[value] = view.results[0]
    return renewed[value]
