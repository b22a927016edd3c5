"""
The values of a block of host operations: what each operation writes and reads, and the bytes alive under an order.

It foresees what bufferize does: which values are written over others, and which into memory that is there anyway, as
results of the function and the state of loops are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects import arith, func, scf
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.buffer_ops import buffer_type, byte_size, is_tensor
from ...dialects.tensor_ops import is_reshape
from ...hlo_dialect.walking import values_read
from ..bufferize.in_place import KernelFacts, has_effects
from ..plan_buffers.offsets import aligned

Homes = Mapping[SSAValue, SSAValue | None]
"""Values with memory of their own: that of an argument, which the block may overwrite, or None for other memory."""


class Made(NamedTuple):
    """A value that an operation writes."""

    value: int
    size: int
    """Bytes; 0 if it has memory of its own that is free."""
    over: tuple[int, ...]
    """The values that it may be written over."""
    argument: int | None
    """The argument in whose memory it belongs."""


class Span(NamedTuple):
    """A buffer, from the operation that writes it first to the last one that reads it, as places in an order."""

    value: int
    size: int
    first: int
    last: int


@dataclass
class Flow:
    """Operations of one block by their numbers, which are their places in the program; the terminator has none."""

    ops: list[Operation] = field(default_factory=list[Operation])
    sources: list[list[int]] = field(default_factory=list[list[int]])
    """The operations that come before each."""
    readers: list[list[int]] = field(default_factory=list[list[int]])
    """The operations that come after each."""
    makes: list[list[Made]] = field(default_factory=list[list[Made]])
    reads: list[list[int]] = field(default_factory=list[list[int]])
    """The values that each operation reads, each once."""
    inside: list[int] = field(default_factory=list[int])
    """The most bytes that are alive at once in the regions of each operation."""
    read_by: list[list[int]] = field(default_factory=list[list[int]])
    """For each value, the operations that read it."""
    kept: set[int] = field(default_factory=set[int])
    """The values that are alive at the end: the terminator takes them."""
    value_of: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The number of each tensor that is written in the block, or that it may overwrite; views have their source's."""

    @staticmethod
    def of(
        block: Block,
        kernels: Mapping[str, KernelFacts],
        homes: Homes,
        overwritable: Sequence[SSAValue],
        inside: Mapping[Operation, int],
    ) -> Flow:
        """
        The flow of a block. `overwritable`: the arguments that it may overwrite; `inside`: the bytes alive at once in
        the regions of its operations.
        """
        flow = Flow()
        last = block.last_op
        assert last is not None
        for argument in overwritable:
            flow._number(argument)
        index: dict[Operation, int] = {}
        effects: int | None = None
        for number, op in enumerate(op for op in block.ops if op is not last):
            index[op] = number
            before = flow._add(op, kernels, homes, index)
            flow.inside.append(inside.get(op, 0))
            if has_effects(op, kernels):
                before |= {} if effects is None else {effects: None}
                effects = number
            flow.sources.append(list(before))
            flow.readers.append([])
        flow.kept = {flow.value_of[value] for value in values_read(last) if value in flow.value_of}
        flow._read_before_overwriting()
        for number, sources in enumerate(flow.sources):
            for source in sources:
                flow.readers[source].append(number)
        return flow

    def _number(self, value: SSAValue) -> int:
        number = self.value_of[value] = len(self.read_by)
        self.read_by.append([])
        return number

    def _add(
        self,
        op: Operation,
        kernels: Mapping[str, KernelFacts],
        homes: Homes,
        index: Mapping[Operation, int],
    ) -> dict[int, None]:
        """Add an operation; returns those whose results it takes."""
        number = len(self.ops)
        self.ops.append(op)
        values = values_read(op)
        before = {index[owner]: None for value in values if (owner := value.owner) in index and owner is not op}  # pyright: ignore
        self.makes.append([])
        self.reads.append([])
        if is_reshape(op):
            if op.src in self.value_of:
                self.value_of[op.result] = self.value_of[op.src]
            return before
        self.reads[number] = list(dict.fromkeys(self.value_of[value] for value in values if value in self.value_of))
        for value in self.reads[number]:
            self.read_by[value].append(number)
        if isinstance(op, arith.ConstantOp):
            return before
        for place, result in enumerate(op.results):
            if is_tensor(result):
                over = tuple(self.value_of[v] for v in _overwritten(op, place, kernels) if v in self.value_of)
                size = byte_size(buffer_type(result.type))
                argument = homes.get(result)
                home = None if argument is None else self.value_of.get(argument)
                size = 0 if result in homes and home is None else aligned(size)
                self.makes[number].append(Made(self._number(result), size, over, home))
        return before

    def _read_before_overwriting(self) -> None:
        """Readers of a value that come before what overwrites it stay before that in any order, to copy nothing."""
        for number, makes in enumerate(self.makes):
            before: dict[int, None] = {}
            for made in makes:
                values = made.over[:1] if made.argument is None else (made.argument, *made.over[:1])
                for value in values:
                    before.update((reader, None) for reader in self.read_by[value] if reader < number)
            self.sources[number] = list({**dict.fromkeys(self.sources[number]), **before})

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes that are alive at once."""
        return max(self.profile(order)[0], default=0)

    def profile(self, order: Sequence[int]) -> tuple[list[int], list[Span]]:
        """The bytes alive while each operation of an order runs, and the buffers."""
        left = [len(readers) + (value in self.kept) for value, readers in enumerate(self.read_by)]
        buffer_of: dict[int, int] = {}
        pending: list[int] = []
        spans: list[Span] = []
        found: list[int] = []
        alive = 0

        def free(buffer: int, place: int) -> int:
            spans[buffer] = spans[buffer]._replace(last=place)
            return spans[buffer].size

        for place, number in enumerate(order):
            reads = self.reads[number]
            taken: set[int] = set()
            fresh: list[int] = []
            for value, size, over, argument in self.makes[number]:
                if argument is not None and (left[argument] == 0 or (left[argument] == 1 and argument in over)):
                    size = 0  # the argument's memory is free for it
                bases = (each for each in over if size and left[each] == 1 and each in buffer_of)
                buffer = next((buffer_of[base] for base in bases if buffer_of[base] not in taken), None)
                if buffer is None:
                    buffer = len(spans)
                    spans.append(Span(value, size, place, len(order)))
                    pending.append(0)
                    alive += size
                taken.add(buffer)
                fresh.append(buffer)
                buffer_of[value] = buffer
                pending[buffer] += left[value]
            found.append(alive + self.inside[number])
            for value in reads:
                left[value] -= 1
                buffer = buffer_of.get(value)
                if buffer is not None:
                    pending[buffer] -= 1
                    if not pending[buffer] and buffer not in fresh:
                        alive -= free(buffer, place)
            for buffer in fresh:
                if not pending[buffer]:
                    alive -= free(buffer, place)
        return found, spans


def _overwritten(op: Operation, result: int, kernels: Mapping[str, KernelFacts]) -> Sequence[SSAValue]:
    """The operands in whose memory a result of an operation may be."""
    if isinstance(op, scf.WhileOp):
        return op.operands[result : result + 1]
    facts = kernels.get(op.callee.root_reference.data) if isinstance(op, func.CallOp) else None
    return [] if facts is None else [op.operands[number] for number in facts.updated(result)]
