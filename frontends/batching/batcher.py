"""
From a program on one element to one on a batch: values get a new first dimension, operations their rule.

A value that no batched value reaches stays as it is. An operation without a rule, and one whose rule cannot be used,
runs once for each element, in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.rules import Rules
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from ..builder.builder import Builder

Rule: TypeAlias = "Callable[[Batcher, Any, list[Tensor], list[bool]], Sequence[Tensor] | None]"
"""
From an operation, its new operands and which of them are batched to its results, of which those with one more dimension
are batched; None if the operation has to run for each element.
"""

batching = Rules[Rule]("vmap", __package__)


def outer_values(op: Operation) -> list[SSAValue]:
    """The values that an operation uses: its operands, and those from outside in its regions."""
    used = list(op.operands)
    inside = {block for region in op.regions for block in _blocks(region)}
    for region in op.regions:
        used += [value for inner in region.walk() for value in inner.operands if _block_of(value) not in inside]
    return used


def _blocks(region: Region) -> Iterable[Block]:
    for block in region.blocks:
        yield block
        for op in block.ops:
            for inner in op.regions:
                yield from _blocks(inner)


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent_block()


class Batcher:
    """Batches the operations of blocks, and adds the new ones where the builder is at work."""

    def __init__(self, builder: Builder, size: int):
        self.builder = builder
        self.size = size
        self._values: dict[SSAValue, Tensor] = {}
        """The new values of those in the blocks."""
        self._batched: set[SSAValue] = set()
        """Those, of the old ones, that have become a batch."""

    # Values.

    def value(self, old: SSAValue) -> Tensor:
        found = self._values.get(old)
        return Tensor(self.builder.inserter, old) if found is None else found

    def set(self, old: SSAValue, new: Tensor) -> None:
        self._values[old] = new
        self._batched.discard(old)
        if len(new.shape) > len(shape_of(old)):
            self._batched.add(old)

    def is_batched(self, old: SSAValue) -> bool:
        return old in self._batched

    def led(self, value: Tensor, batched: bool) -> Tensor:
        """The value as a batch."""
        rank = len(value.shape)
        return value if batched else value.broadcast((self.size, *value.shape), list(range(1, rank + 1)))

    def type_of(self, old: SSAValue) -> Attribute:
        """The type of a batch of a value."""
        return make_tensor((self.size, *shape_of(old)), element_of(old))

    # Operations.

    def emit(
        self,
        op: Operation,
        operands: Sequence[Tensor],
        types: Sequence[Attribute] | None = None,
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] | None = None,
    ) -> list[Tensor]:
        """The operation on other operands; by default its results are batches, and its regions copies."""
        made = type(op).create(
            operands=[operand.value for operand in operands],
            result_types=[self.type_of(result) for result in op.results] if types is None else types,
            properties={**op.properties, **(properties or {})},
            attributes=op.attributes,
            regions=[self._copied(region) for region in op.regions] if regions is None else regions,
            location=op.location,
        )
        self.builder.inserter.insert(made)
        return self.builder.inserter.tensors(made.results)

    def _mapping(self) -> dict[SSAValue, SSAValue]:
        return {old: new.value for old, new in self._values.items()}

    def _copied(self, region: Region) -> Region:
        made = Region()
        region.clone_into(made, value_mapper=self._mapping())
        return made

    def block(self, block: Block, arguments: Sequence[Tensor]) -> list[SSAValue]:
        """Batch the operations of a block; returns its old results."""
        for old, new in zip(block.args, arguments, strict=True):
            self.set(old, new)
        *ops, end = block.ops
        for op in ops:
            self._operation(op)
        return list(end.operands)

    def _operation(self, op: Operation) -> None:
        if not any(map(self.is_batched, outer_values(op))):
            made = op.clone(value_mapper=self._mapping())
            self.builder.inserter.insert(made)
            results: Sequence[Tensor] | None = self.builder.inserter.tensors(made.results)
        else:
            rule = self._rule(op)
            operands = [self.value(operand) for operand in op.operands]
            results = rule(self, op, operands, list(map(self.is_batched, op.operands))) if rule else None
            if results is None:
                results = self._looped(op)
        for old, new in zip(op.results, results, strict=True):
            self.set(old, new)

    def _rule(self, op: Operation) -> Rule | None:
        found = batching.get(type(op))
        if found is None and isinstance(op, HloOp) and op.elementwise and not op.regions:
            return elementwise
        return found

    def captures_batches(self, op: Operation) -> bool:
        """Whether a region of the operation uses a batch from outside."""
        return any(map(self.is_batched, outer_values(op)[len(op.operands) :]))

    def _looped(self, op: Operation) -> list[Tensor]:
        """The operation once for each element."""
        batches = [old for old in dict.fromkeys(outer_values(op)) if self.is_batched(old)]

        def step(carries: list[Tensor], elements: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
            mapping = self._mapping() | {old: new.value for old, new in zip(batches, elements, strict=True)}
            made = op.clone(value_mapper=mapping)
            self.builder.inserter.insert(made)
            return [], self.builder.inserter.tensors(made.results)

        return self.builder.scan(step, [], [self.value(old) for old in batches])[1]

    # Regions.

    def spread(self, block: Block, flags: Sequence[bool]) -> list[bool]:
        """Which results of a block may be batches, if these of its arguments are."""
        reached = set(self._batched)
        for argument, flag in zip(block.args, flags, strict=True):
            (reached.add if flag else reached.discard)(argument)
        *ops, end = block.ops
        for op in ops:
            if any(value in reached for value in outer_values(op)):
                reached.update(op.results)
        return [value in reached for value in end.operands]

    def region(
        self, arguments: Sequence[SSAValue], flags: Sequence[bool], fill: Callable[[list[Tensor]], Sequence[Tensor]]
    ) -> Region:
        """A region with arguments like those, of which some are batches, and the results that `fill` returns."""
        types = [self.type_of(one) if flag else one.type for one, flag in zip(arguments, flags, strict=True)]
        block = Block(arg_types=types)
        with self.builder.inside(block):
            results = fill(self.builder.inserter.tensors(block.args))
            self.builder.inserter.insert(ReturnOp.create(operands=[result.value for result in results]))
        return Region(block)

    def results(self, block: Block, arguments: Sequence[Tensor], flags: Sequence[bool]) -> list[Tensor]:
        """The results of a block, as batches where the flags say so."""
        found = self.block(block, arguments)
        return [
            self.led(self.value(old), self.is_batched(old)) if flag else self.value(old)
            for old, flag in zip(found, flags, strict=True)
        ]


def elementwise(batcher: Batcher, op: Operation, operands: list[Tensor], batched: list[bool]) -> list[Tensor]:
    """Also of operations on leading dimensions: all operands are batches, and nothing else changes."""
    return batcher.emit(op, [batcher.led(*each) for each in zip(operands, batched, strict=True)])
