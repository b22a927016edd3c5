"""
Indices and updates that a scatter computes in its loops: elementwise operations made them for it alone.

They are computed where the scatter reads them: a row's index before the row, and its elements in the loop along it. In
a loop over index vectors, whose iterations depend on each other, longer computations are done for a block of iterations
before, in vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import NoneAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import Operation, SSAValue

from ...dialects.linalg_ext.indexing import ScatterOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.buffers import memref_type
from ...dialects.support.views import is_view, root_buffer, uses_through_views
from ...hlo_dialect.walking import operations_inside, operations_of
from ..loop_nests.cost import region_cost
from ..loop_nests.emission import NestEmitter
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.makers import buffers_read, makes_elements, nest_of, stays_computable

BLOCK = 256
"""Iterations of a loop over index vectors for which computations are done together, into the L1 cache."""

LONG = 4
"""Operations of a computation from which vectors are faster, with a store and a load of each result."""


@dataclass(frozen=True)
class Source:
    """An operand of a scatter, by what makes it."""

    maker: GenericOp | FillOp
    number: int
    """The number of the maker's result that it is."""
    shape: tuple[int, ...]
    """The operand's shape, which differs from that of the result in dimensions of size 1."""

    @property
    def cost(self) -> int:
        """Operations of an element."""
        return 0 if isinstance(self.maker, FillOp) else region_cost(self.maker.body.block) - 1

    def place(self, where: Sequence[Index | None]) -> tuple[Index | None, ...]:
        """The indices of the maker's loops for an element of the operand; None for those that are not known."""
        kept = iter([index for index, size in zip(where, self.shape, strict=True) if size != 1])
        sizes = shape_of(self.maker.outputs[self.number])
        return tuple(0 if size == 1 else next(kept) for size in sizes)


def sources_of(op: ScatterOp, shared: Collection[SSAValue]) -> dict[int, Source]:
    """The operands of a scatter that are made for it alone. `shared`: buffers that may be those of results."""
    found = {number: _source_of(op, value) for number, value in enumerate(op.inputs)}
    written = {root_buffer(output) for output in op.outputs}
    sources: dict[int, Source] = {}
    for number, source in found.items():
        if source is not None and written.isdisjoint(read := buffers_read(source.maker)) and not read & set(shared):
            sources[number] = source
    return sources


def _source_of(op: ScatterOp, value: SSAValue) -> Source | None:
    root = root_buffer(value)
    if not isinstance(root.owner, memref.AllocOp) or not _is_reshaped(value):
        return None
    users = {use.operation for use in uses_through_views(root)}
    makers = [user for user in users if isinstance(user, (GenericOp, FillOp)) and root in user.outputs]
    if len(makers) != 1 or users != {op, makers[0]} or [*makers[0].operands].count(root) != 1:
        return None
    (maker,) = makers
    if not makes_elements(maker) or not stays_computable(maker, op):
        return None
    return Source(maker, list(maker.outputs).index(root), shape_of(value))


def _is_reshaped(value: SSAValue) -> bool:
    """Whether a memref is a whole buffer of identity layout, perhaps with other dimensions of size 1."""
    shapes: set[tuple[int, ...]] = set()
    while True:
        if not isinstance(buffer_of(value).layout, NoneAttr):
            return False
        shapes.add(tuple(size for size in shape_of(value) if size != 1))
        op = value.owner
        if not is_view(op):
            return len(shapes) == 1
        value = op.operands[0]


class _Elements:
    """The elements of a maker's results at one place, which becomes known step by step."""

    def __init__(self, builder: LoopBuilder, maker: GenericOp | FillOp):
        self.emitter = NestEmitter(builder, nest_of(maker))
        self.maker = maker
        self.mapping: dict[SSAValue, SSAValue] = {}
        self.done: set[Operation] = set()

    def at(self, place: Sequence[Index | None]) -> list[SSAValue]:
        """Compute what follows from the known indices; returns the elements if all are known."""
        emitter, block = self.emitter, self.emitter.nest.body
        emitter.indices[:] = place
        if block is None:
            return emitter.body()
        arguments = list(block.args)[: len(emitter.nest.inputs)]
        for k, argument in enumerate(arguments):
            if argument not in self.mapping and argument.first_use is not None and self._is_known(k):
                self.mapping[argument] = emitter.load_input(k)
        ops = operations_of(block)
        known = {*self.mapping, *(result for op in self.done for result in op.results)}
        ready: list[Operation] = []
        for op in ops[:-1]:
            if op not in self.done and self._is_ready(op, known):
                ready.append(op)
                known.update(op.results)
        self.done.update(ready)
        return emitter.clone([*ready, ops[-1]], self.mapping)

    def _is_known(self, k: int) -> bool:
        access = self.emitter.nest.inputs[k]
        return isinstance(access, SSAValue) or self.emitter.is_ready(access)

    def _is_ready(self, op: Operation, known: Collection[SSAValue]) -> bool:
        """Whether an operation of the body, and all inside of it, needs nothing that is not known yet."""
        inside = [op, *(each for region in op.regions for each in operations_inside(region))]
        own: set[SSAValue] = {value for each in inside for value in each.results}
        own.update(argument for region in op.regions for block in region.blocks for argument in block.args)
        if any(isinstance(each, IndexOp) and self._waits_for(each) for each in inside):
            return False
        body = self.emitter.nest.body
        return all(
            value in known or value in own or not _is_of(value, body) for each in inside for value in each.operands
        )

    def _waits_for(self, op: IndexOp) -> bool:
        loop = self.emitter.nest.dims[int(op.dim.value.data)]
        return loop is not None and self.emitter.indices[loop] is None


def _is_of(value: SSAValue, block: object) -> bool:
    """Whether a value is computed in a block, or an argument of it."""
    owner = value.owner
    return (owner.parent if isinstance(owner, Operation) else owner) is block


@dataclass
class InputReader:
    """Reads elements of a scatter's inputs, in its loops, from memory, or from what makes them."""

    op: ScatterOp
    builder: LoopBuilder
    sources: Mapping[int, Source] = field(default_factory=dict[int, Source])
    _elements: dict[tuple[object, ...], list[SSAValue]] = field(
        default_factory=dict[tuple[object, ...], list[SSAValue]]
    )
    _begun: dict[Operation, _Elements] = field(default_factory=dict[Operation, _Elements])
    _block: dict[tuple[int, int], SSAValue] = field(default_factory=dict[tuple[int, int], SSAValue])
    """Per operand and component of index vectors: its elements in the present block."""
    _number: Index = 0
    """The number of the present iteration in the block."""

    def fresh(self) -> InputReader:
        """The reader for other loops: nothing is computed in them yet."""
        return InputReader(self.op, self.builder, self.sources)

    def read(self, number: int, where: Sequence[Index], component: int = 0) -> SSAValue:
        """An element of an operand; `component`: of an index vector."""
        source = self.sources.get(number)
        if source is None:
            return self.builder.load(self.op.inputs[number], where)
        if (number, component) in self._block:
            return self.builder.load(self._block[number, component], [self._number])
        place = source.place(where)
        key = (source.maker, *place)
        if key not in self._elements:
            elements = self._begun.pop(source.maker, None) or _Elements(self.builder, source.maker)
            self._elements[key] = elements.at(place)
        return self._elements[key][source.number]

    def begin(self, where: Sequence[Index | None]) -> None:
        """Compute what updates need that follows from known indices; the others are None."""
        for number, source in self.sources.items():
            if number > 0 and source.maker not in self._begun and isinstance(source.maker, GenericOp):
                place = source.place(where)
                if None in place:
                    self._begun[source.maker] = _Elements(self.builder, source.maker)
                    self._begun[source.maker].at(place)

    @property
    def takes_blocks(self) -> bool:
        """Whether computations are long enough to be done for many iterations at once."""
        return any(source.cost >= LONG for source in self.sources.values())

    def compute_block(
        self, reads: Mapping[tuple[int, int], Sequence[Index | None]], first: Index, count: Index
    ) -> None:
        """
        Compute elements for a block of iterations, `count` from `first` on. `reads`: the place of each operand and
        component, where the index of these iterations is None.
        """
        groups: dict[tuple[object, ...], list[tuple[int, int]]] = {}
        for (number, component), where in reads.items():
            source = self.sources.get(number)
            if source is not None and source.cost >= LONG:
                groups.setdefault((source.maker, *source.place(where)), []).append((number, component))
        for operands in groups.values():
            buffers: list[SSAValue] = []
            for number, _ in operands:
                type_ = memref_type((BLOCK,), buffer_of(self.op.inputs[number]).element_type)
                buffers.append(self.builder.alloca(type_))
            with self.builder.loop(0, count, attributes=PARALLEL) as i:
                reader = self.fresh()
                for (number, component), buffer in zip(operands, buffers, strict=True):
                    where = [first + i if index is None else index for index in reads[number, component]]
                    self.builder.store(reader.read(number, where, component), buffer, [i])
            self._block |= dict(zip(operands, buffers, strict=True))

    def in_block(self, number: IndexValue) -> None:
        """From now on, elements of the block are those of this iteration."""
        self._number = number
