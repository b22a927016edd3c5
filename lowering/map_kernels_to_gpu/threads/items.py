"""Emits one thread's work on one vector of a nest's last loop: loads, the body per element, stores."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects.support.buffers import i64_array
from ....dialects.support.llvm_layout import byte_width
from ...loop_nests.emission import NestEmitter
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ...loop_nests.nest import Access, Nest
from ...loop_nests.unrolling import UNROLL, WHOLLY
from .vectors import VECTOR_BYTES, BodyParts, Kind, VectorPlan, shift_of_last

I64 = IntegerType(64)

WRITTEN_OUT = {UNROLL: IntegerAttr(WHOLLY, I64)}
"""The attribute of a loop over the elements of a vector: its values only stay in registers if it is unrolled."""

ALIGNMENT = "alignment"
"""The attribute of a vector.load or vector.store: the alignment of the address in bytes."""


def vector_load(builder: LoopBuilder, source: SSAValue, indices: Sequence[Index], width: int) -> SSAValue:
    """Load `width` elements starting at `source[indices]`, a multiple of `width` elements."""
    element = buffer_of(source).element_type
    op = vector.LoadOp.create(
        operands=[source, *(builder.index(i).value for i in indices)],
        result_types=[VectorType(element, [width])],
        attributes=_aligned(element, width),
    )
    return builder.insert(op).result


def vector_store(builder: LoopBuilder, value: SSAValue, target: SSAValue, indices: Sequence[Index], width: int) -> None:
    """Store the elements of a vector starting at `target[indices]`, a multiple of `width` elements."""
    operands = [value, target, *(builder.index(i).value for i in indices)]
    attributes = _aligned(buffer_of(target).element_type, width)
    builder.insert(vector.StoreOp.create(operands=operands, attributes=attributes))


def _aligned(element: Attribute, width: int) -> dict[str, Attribute]:
    """The alignment of whole vectors in a buffer, which begins at a multiple of VECTOR_BYTES and of no more."""
    return {ALIGNMENT: IntegerAttr(min(width * byte_width(element), VECTOR_BYTES), I64)}


def extract(builder: LoopBuilder, value: SSAValue, position: IndexValue) -> SSAValue:
    type_: Any = value.type
    op = vector.ExtractOp.create(
        operands=[value, position.value],
        result_types=[type_.element_type],
        properties={"static_position": i64_array((DYNAMIC_INDEX,))},
    )
    return builder.insert(op).result


def insert(builder: LoopBuilder, value: SSAValue, into: SSAValue, position: IndexValue) -> SSAValue:
    op = vector.InsertOp.create(
        operands=[value, into, position.value],
        result_types=[into.type],
        properties={"static_position": i64_array((DYNAMIC_INDEX,))},
    )
    return builder.insert(op).result


def splat(builder: LoopBuilder, value: SSAValue, width: int) -> SSAValue:
    op = vector.BroadcastOp.create(operands=[value], result_types=[VectorType(value.type, [width])])
    return builder.insert(op).vector


def reversed_vector(builder: LoopBuilder, value: SSAValue) -> SSAValue:
    type_: Any = value.type
    mask = i64_array(tuple(reversed(range(type_.get_shape()[0]))))
    op = vector.ShuffleOp.create(operands=[value, value], result_types=[value.type], properties={"mask": mask})
    return builder.insert(op).result


def zeros(builder: LoopBuilder, element: Attribute, width: int) -> SSAValue:
    """A vector that is filled before it is read."""
    type_: Any = VectorType(element, [width])
    values: list[Any] = [0 if isinstance(element, IntegerType) else 0.0]
    value = DenseIntOrFPElementsAttr.from_list(type_, values)
    op = arith.ConstantOp.create(result_types=[type_], properties={"value": value})
    return builder.insert(op).result


class ItemEmitter:
    """
    One vector of each operand, in one thread: `load`, then `compute`, then `store`.

    A thread with several items runs each step for all of them before the next step, so that their loads are in flight
    together.
    """

    def __init__(self, emitter: NestEmitter, plan: VectorPlan, parts: BodyParts):
        self.emitter = emitter
        self.builder = emitter.builder
        self.plan = plan
        self.nest = plan.nest
        self.parts = parts
        self.indices: list[Index] = []
        """The loops' indices at the first element; if vectors cross rows, the linear index of that element."""
        self.scalars: dict[int, SSAValue] = {}
        """Per operand, outputs after inputs: loaded values that do not vary within the vector."""
        self.vectors: dict[int, SSAValue] = {}
        self.uniform: dict[SSAValue, SSAValue] = {}
        """The values of the body that do not vary within the vector."""
        self.gathered: dict[SSAValue, SSAValue] = {}
        """For each load in the body: the vector of its results."""
        self.results: list[SSAValue] = []

    @property
    def body(self) -> Block | None:
        return self.nest.body

    # Loads.

    def load(self, indices: Sequence[Index]) -> None:
        """Load whole vectors, and the values that do not vary within them."""
        self.indices = list(indices)
        with self._at():
            for k, kind in enumerate((*self.plan.inputs, *self.plan.outputs)):
                if kind is not None and self._is_read(k):
                    self._load_operand(k, kind)
            self._run_uniform()
            for op in self.parts.vectors:
                outer = [self.builder.index(self.uniform.get(x, x)) for x in op.indices[:-1]]
                last = self.indices[-1] + shift_of_last(self.plan, op)
                self.gathered[op.res] = vector_load(self.builder, op.memref, [*outer, last], self.plan.width)

    def _is_read(self, k: int) -> bool:
        """Scalars, and inputs that the body does not read, need no access."""
        count = len(self.nest.inputs)
        if k < count:
            return isinstance(self.nest.inputs[k], Access)
        return self.body is not None and self.body.args[k].first_use is not None

    def _load_operand(self, k: int, kind: Kind) -> None:
        count = len(self.nest.inputs)
        if k in self.emitter.staged or k in self.vectors:
            return
        if kind is Kind.UNIFORM or self.plan.width == 1:
            self.scalars[k] = self.emitter.load_input(k) if k < count else self.emitter.load_output(k - count)
        elif kind is not Kind.SCALAR:
            view, indices = self._vector_at(k, kind)
            value = vector_load(self.builder, view, indices, self.plan.width)
            self.vectors[k] = reversed_vector(self.builder, value) if kind is Kind.REVERSED else value

    def _vector_at(self, k: int, kind: Kind) -> tuple[SSAValue, list[Index]]:
        """A view of an operand, and the indices in it where the vector begins in memory."""
        access = (*self.nest.inputs, *self.nest.outputs)[k]
        assert isinstance(access, Access)
        builder = self.builder
        if self.plan.crosses:
            root = self.emitter.roots.get(access.root, access.root)
            total = math.prod(self.nest.sizes)
            return builder.strided_view(root, access.offset_at(builder), (total,), (1,)), self.indices
        view, loops = self.emitter.view(k, access)
        length = self.plan.width if kind is Kind.REVERSED else 1
        return view, indices_in_view(self.nest, access, loops, self.indices, length)

    def _run_uniform(self) -> None:
        """Run the part of the body that is the same for all elements."""
        if self.body is None or not self.parts.uniform:
            return
        assert self.body.last_op is not None
        for k, value in self.scalars.items():
            self.uniform[self.body.args[k]] = value
        self._add_plain_inputs(self.uniform)
        self.emitter.clone([*self.parts.uniform, self.body.last_op], self.uniform)

    def _add_plain_inputs(self, mapping: dict[SSAValue, SSAValue]) -> None:
        assert self.body is not None
        for argument, x in zip(self.body.args, self.nest.inputs, strict=False):
            if not isinstance(x, Access):
                mapping[argument] = x

    @contextmanager
    def _at(self, k: IndexValue | None = None) -> Generator[None]:
        """The emitter at one element of the vector, or the first, with the loaded scalars."""
        with self.emitter.scope():
            if not self.plan.crosses:
                *outer, inner = self.indices
                if k is not None and self._asks_for_places:
                    inner += k
                self.emitter.indices = [*outer, inner]
            elif k is not None and self._asks_for_places:
                self.emitter.indices = list(delinearized(self.indices[0] + k, self.nest.sizes))
            self.emitter.loaded = {k: value for k, value in self.scalars.items() if k < len(self.nest.inputs)}
            yield

    @property
    def _asks_for_places(self) -> bool:
        """Whether the loop indices of single elements of the vector are needed."""
        kinds = (*self.plan.inputs, *self.plan.outputs)
        return Kind.SCALAR in kinds or any(loop is not None for loop in self.nest.dims.values())

    # The body.

    def compute(self) -> None:
        """Run the body per element; the results are whole vectors."""
        if self.plan.width == 1:
            with self._at():
                self.results = self._element(None)
            return
        whole = self._whole_results()
        if whole is not None:
            self.results = whole
            return
        starts = [
            zeros(self.builder, buffer_of(access.root).element_type, self.plan.width) for access in self.nest.outputs
        ]
        with self.builder.loop(0, self.plan.width, carry=starts, attributes=WRITTEN_OUT) as (k, self.results):
            with self._at(k):
                values = self._element(k)
            into = zip(values, self.results, strict=True)
            self.builder.yield_(*(insert(self.builder, value, vector, k) for value, vector in into))

    def _whole_results(self) -> list[SSAValue] | None:
        """The results if they are loaded vectors or the same for all elements; otherwise None."""
        results: list[SSAValue] = []
        for k, value in enumerate(self._yielded()):
            found = self.vectors.get(value) if isinstance(value, int) else self.gathered.get(value)
            if found is None:
                scalar = self._uniform_value(value)
                if scalar is None:
                    return None
                found = splat(self.builder, scalar, self.plan.width)
            results.append(found)
            assert k < len(self.nest.outputs)
        return results

    def _yielded(self) -> list[int | SSAValue]:
        """The value of each output: the number of an operand, or another value of the body."""
        if self.body is None:
            return list(range(len(self.nest.inputs)))
        assert self.body.last_op is not None
        numbers: dict[SSAValue, int] = {argument: k for k, argument in enumerate(self.body.args)}
        return [numbers.get(value, value) for value in self.body.last_op.operands]

    def _uniform_value(self, value: int | SSAValue) -> SSAValue | None:
        if isinstance(value, int):
            x = self.nest.inputs[value] if value < len(self.nest.inputs) else None
            return x if isinstance(x, SSAValue) else self.scalars.get(value)
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is self.body:
            return self.uniform.get(value)
        return value

    def _element(self, k: IndexValue | None) -> list[SSAValue]:
        """One element's results; `k` is its index in the vectors."""
        count = len(self.nest.inputs)
        if k is not None:
            self.emitter.loaded |= {
                n: extract(self.builder, value, k) for n, value in self.vectors.items() if n < count
            }
        if self.body is None:
            return [self.emitter.load_input(n) for n in range(count)]
        assert self.body.last_op is not None
        mapping = dict(self.uniform)
        self._add_plain_inputs(mapping)
        for n, argument in enumerate(self.body.args):
            if argument.first_use is None:
                continue
            if n < count:
                mapping[argument] = self.emitter.load_input(n)
            elif n in self.scalars:
                mapping[argument] = self.scalars[n]
            elif n in self.vectors and k is not None:
                mapping[argument] = extract(self.builder, self.vectors[n], k)
            else:
                mapping[argument] = self.emitter.load_output(n - count)
        for result, value in self.gathered.items():
            assert k is not None
            mapping[result] = extract(self.builder, value, k)
        return self.emitter.clone([*self.parts.varying, self.body.last_op], mapping)

    # Stores.

    def store(self) -> None:
        """Store the results."""
        count, width = len(self.nest.inputs), self.plan.width
        with self._at():
            for k, value in enumerate(self.results):
                if width == 1:
                    self.emitter.store_output(k, value)
                    continue
                kind = self.plan.outputs[k]
                view, indices = self._vector_at(count + k, kind)
                if kind is Kind.REVERSED:
                    value = reversed_vector(self.builder, value)
                vector_store(self.builder, value, view, indices, width)


def indices_in_view(
    nest: Nest,
    access: Access,
    loops: Sequence[int],
    indices: Sequence[Index],
    length: int = 1,
) -> list[Index]:
    """
    The indices of an operand's element in the view with a dimension per loop of `loops` (`NestEmitter.view`).

    Dimensions run forwards in memory; `length`: that of a vector, if the last loop runs backwards through it.
    """
    inner = len(nest.sizes) - 1
    found: list[Index] = []
    for loop in loops:
        if access.strides[loop] > 0:
            found.append(indices[loop])
        else:
            found.append(nest.sizes[loop] - (length if loop == inner else 1) - indices[loop])
    return found


def run_items(items: Sequence[ItemEmitter], at: Sequence[Sequence[Index]], same: Sequence[int] = ()) -> None:
    """All loads, all bodies, all stores. `same`: inputs for which all items read the same vector."""
    for number, (item, indices) in enumerate(zip(items, at, strict=True)):
        if number:
            item.vectors.update({k: items[0].vectors[k] for k in same if k in items[0].vectors})
        item.load(indices)
    for item in items:
        item.compute()
    for item in items:
        item.store()
