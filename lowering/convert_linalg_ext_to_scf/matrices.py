"""Batches of small matrices: groups with a matrix in each lane of vectors, or one matrix at a time."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import i32, i64
from xdsl.dialects.math import AbsFOp
from xdsl.ir import SSAValue

from ...dialects.arith_ops import CmpfOp, SelectOp, boolean_lanes
from ...dialects.linalg_ext.base import DestinationOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import NO_FASTMATH, width_of
from ..loop_nests.cost import task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from .fourier_memory import Lines, transposed
from .fourier_passes import Vec, Vectors
from .fourier_plan import lanes_of
from .vector_functions import VectorFunctions

MOST_WIDE = 64
"""The most rows or columns of matrices in lanes."""


def divided(x: Vec, y: Vec) -> Vec:
    op = arith.DivfOp.create(
        operands=[x.value, y.value], result_types=[x.value.type], properties={"fastmath": NO_FASTMATH}
    )
    return Vec(x.vectors, x.vectors.builder.insert(op).result)


_ORDERED = {"gt": 2, "eq": 1}
"""Predicates of comparisons that NaN does not fulfil."""


def compared(predicate: str, x: Vec, y: Vec) -> SSAValue:
    """Whether x is greater than y, or equal to it, in each lane."""
    vectors = x.vectors
    op = CmpfOp.create(
        operands=[x.value, y.value],
        result_types=[boolean_lanes(vectors.type)],
        properties={"predicate": integer_attr(_ORDERED[predicate], i64), "fastmath": NO_FASTMATH},
    )
    return vectors.builder.insert(op).result


def selected(condition: SSAValue, x: Vec, y: Vec) -> Vec:
    """x in the lanes where the condition holds, else y."""
    op = SelectOp.create(operands=[condition, x.value, y.value], result_types=[x.value.type])
    return Vec(x.vectors, x.vectors.builder.insert(op).result)


def size_of(x: Vec) -> Vec:
    """The absolute value in each lane."""
    op = AbsFOp.create(operands=[x.value], result_types=[x.value.type], properties={"fastmath": NO_FASTMATH})
    return Vec(x.vectors, x.vectors.builder.insert(op).result)


class MatrixFunctions(VectorFunctions):
    """The loops of an operation on the matrices of its first input."""

    def __init__(self, op: DestinationOp, builder: LoopBuilder):
        element = buffer_of(op.inputs[0]).element_type
        super().__init__(builder, cast(func.FuncOp, op.parent_op()), element, lanes_of(width_of(element)))
        self.op = op
        self.shape = shape_of(op.inputs[0])
        self.count = math.prod(self.shape[:-2])

    @property
    def wide(self) -> bool:
        """Whether there are enough matrices for one in each lane, and they are small enough for the caches."""
        return self.count * 2 >= self.lanes and max(self.shape[-2:]) <= MOST_WIDE

    def flat(self, array: SSAValue) -> SSAValue:
        return self.builder.strided_view(array, 0, (math.prod(shape_of(array)),), (1,))

    @contextmanager
    def groups(
        self, work: int, elements: int, count: int | None = None
    ) -> Generator[tuple[IndexValue, SSAValue, IndexValue]]:
        """
        A loop over groups, or over matrices, divided into tasks: the number, and where its scratch memory is.

        `work`: of one group; `elements`: of its scratch memory; `count`: the number of groups, where it is another.
        """
        builder = self.builder
        if count is None:
            count = -(-self.count // self.lanes) if self.wide else self.count
        tasks = task_count(count * work, count * work, count)
        size = task_size(count, tasks)
        tasks = -(-count // size)
        scratch = builder.alloc(memref_type((tasks * elements,), self.element))
        with builder.parallel(tasks) as task, builder.loop(*chunk(builder, task, size, count)) as group:
            yield group, scratch, builder.index(builder.slot() * elements)

    def matrices_of(self, group: IndexValue) -> tuple[Index, Index]:
        """The range of a group's matrices."""
        if not self.wide:
            return group, group + 1
        first = self.builder.index(group * self.lanes)
        return first, self.builder.min(self.builder.index(first + self.lanes), self.count)

    def read(self, array: SSAValue, size: int, group: IndexValue, scratch: SSAValue, at: Index) -> None:
        """Copy a group's matrices, of `size` elements each, into lanes."""
        self._move(False, array, size, group, scratch, at)

    def write(self, array: SSAValue, size: int, group: IndexValue, scratch: SSAValue, at: Index) -> None:
        """Copy a group's matrices back from lanes."""
        self._move(True, array, size, group, scratch, at)

    def report(self, factor: SSAValue, info: SSAValue, group: IndexValue, bad: str) -> None:
        """
        Store, for each matrix of a group, the number of the first element on the diagonal of its factor that is bad:
        `zero`, or `not_positive`.
        """
        rows, columns = self.shape[-2:]

        def emit(vectors: Vectors, *given: Any) -> None:
            Diagonals(vectors, *given).report(bad)

        shape = (rows * columns, min(rows, columns), columns + 1)
        self.call(f"first_{bad}", (factor, info, *self.matrices_of(group), *shape), emit)

    def _move(self, writes: bool, array: SSAValue, size: int, group: IndexValue, scratch: SSAValue, at: Index) -> None:
        first = self.builder.index(group * self.lanes)
        count = self.builder.min(self.lanes, self.count - first)

        def emit(vectors: Vectors, array: Any, begin: Any, apart: Any, held: Any, buffer: Any, start: Any) -> None:
            Square(vectors, Lines(array, begin, 1, apart, held), buffer, start, apart).move(writes)

        name = "write_matrices" if writes else "read_matrices"
        self.call(name, (array, first * size, size, count, scratch, at), emit)


@dataclass(frozen=True)
class Diagonals:
    """The body of a function that looks for bad elements on the diagonals of some matrices of an array."""

    vectors: Vectors
    array: SSAValue
    info: SSAValue
    first: IndexValue
    end: IndexValue
    apart: IndexValue
    """Elements of a matrix."""
    length: IndexValue
    step: IndexValue

    def report(self, bad: str) -> None:
        vectors, builder = self.vectors, self.vectors.builder
        with builder.loop(self.first, self.end) as matrix:
            start = builder.index(matrix * self.apart)
            with builder.loop(0, self.length, carry=[builder.scalar(integer_attr(0, i32))]) as (k, state):
                place = builder.index(self.length - 1 - k)
                element = builder.on(vectors.element_at(self.array, start + place * self.step))
                number = builder.index(place + 1).cast_to(i32)
                if bad == "zero":
                    builder.yield_(element.compare("eq", 0.0).select(number, state[0]))
                else:  # NaN is not positive either
                    builder.yield_(element.compare("gt", 0.0).select(state[0], number))
            builder.store(state[0], builder.strided_view(self.info, matrix, (1,), (1,)), [0])


class Square:
    """The body of a function that moves the elements of matrices between arrays and lanes."""

    def __init__(self, vectors: Vectors, lines: Lines, buffer: SSAValue, at: IndexValue, count: IndexValue):
        self.vectors = vectors
        self.lines = lines
        self.buffer = buffer
        self.at = at
        self.count = count
        """Elements of a matrix."""

    def move(self, writes: bool) -> None:
        vectors, builder, lanes = self.vectors, self.vectors.builder, self.vectors.lanes
        starts = [self.lines.place(builder, lane) for lane in range(lanes)]
        blocks = builder.index(self.count // lanes)
        with builder.loop(0, blocks) as block:
            element = block * lanes
            if writes:
                rows = transposed([vectors.load(self.buffer, self.of_lanes(element + k)) for k in range(lanes)])
                for start, row in zip(starts, rows, strict=True):
                    vectors.store(row, self.lines.array, start + element)
            else:
                columns = transposed([vectors.load(self.lines.array, start + element) for start in starts])
                for k, column in enumerate(columns):
                    vectors.store(column, self.buffer, self.of_lanes(element + k))
        with builder.loop(0, lanes) as lane:
            start = self.lines.place(builder, lane)
            with builder.loop(blocks * lanes, self.count) as element:
                inside, outside = self.of_lanes(element) + lane, start + element
                pair = [(self.buffer, inside), (self.lines.array, outside)]
                (source, place), (target, other) = pair if writes else pair[::-1]
                value = vectors.element_at(source, place)
                builder.store(value, builder.strided_view(target, other, (1,), (1,)), [0])

    def of_lanes(self, element: Index) -> Index:
        return self.at + self.vectors.builder.index(element) * self.vectors.lanes
