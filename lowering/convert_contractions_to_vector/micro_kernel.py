"""
The micro-kernel: a function that adds the product of a panel of A and a panel of B to a block of C.

Its accumulators are in registers, one vector per row, which takes one or two registers. Matrix sizes are parameters, so
that products of many shapes share a micro-kernel: it is most of the code of a product, and is compiled once per process
(see `targets/llvm_text/module.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from xdsl.dialects import arith, func, vector
from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import SSAValue

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import Scalar, scalar_attr
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from .blocking import Blocking
from .shared_function import call_shared

_WRAPS = {"overflowFlags": arith.IntegerOverflowAttr("none")}


@dataclass(frozen=True)
class PanelOfA:
    """The memory layout of a panel of A."""

    row: int
    """Stride, in elements, from one row to the next."""
    step: int
    """Stride, in elements, from one step along k to the next."""
    loops: tuple[tuple[int, int, int], ...] = ()
    """Contracted loops around the one along k: trip counts, and strides, in elements, in A and in the panel of B."""
    overlaps: bool = False
    """Whether the last panel ends with the last row of A, rather than with zeros."""


@dataclass(frozen=True)
class Target:
    """The properties of the blocks of C on which the code depends."""

    column: int
    """Stride, in elements, from one column to the next."""
    rows_vary: bool
    """Whether some block has fewer than `mr` rows in C."""
    columns_vary: bool
    never_whole: bool
    """Whether no block has all its rows and columns in C."""
    overwrite: bool
    """Whether the sums are stored, rather than added."""
    b_packed: bool
    """Whether B is packed into panels, whose stride along k is known."""


@dataclass(frozen=True)
class Arguments:
    """
    The arguments of a call of the micro-kernel: buffers, and the element offsets of the panels and the block in them.
    """

    a: SSAValue
    a_at: Index
    b: SSAValue
    b_at: Index
    b_step: Index
    """Stride, in elements, from one step along k to the next; passed if not static."""
    c: SSAValue
    c_at: Index
    c_row: Index
    """Row stride of C, in elements."""
    count: Index
    """Steps along k."""
    rows: Index
    """Rows of the block that are in C."""
    columns: Index

    def values(self) -> tuple[Index | SSAValue, ...]:
        return tuple(getattr(self, each.name) for each in fields(self))


class MicroKernel:
    """The body of one micro-kernel, in terms of its function's parameters."""

    def __init__(self, builder: LoopBuilder, blocking: Blocking, a: PanelOfA, target: Target, given: Arguments):
        self.builder = builder
        self.blocking = blocking
        self.a = a
        self.target = target
        self.given = given
        self.element = buffer_of(given.b).element_type
        self.vector_type: VectorType[Any] = VectorType(self.element, [blocking.nr])

    def emit(self) -> None:
        self.write(self.sums(0, self.given.a_at, self.given.b_at, self.zeros()))

    # Multiplying.

    def zeros(self) -> list[SSAValue]:
        """The zero accumulators of a block."""
        zero = self._splat(self.builder.scalar(scalar_attr(0, self.element)))
        return [zero] * self.blocking.mr

    def sums(self, depth: int, a_at: Index, b_at: Index, start: list[SSAValue]) -> list[SSAValue]:
        """The `mr` x `nr` sums of products, row by row, added to `start`."""
        if depth == len(self.a.loops):
            return self.accumulate(a_at, b_at, start)
        builder = self.builder
        size, a_step, b_step = self.a.loops[depth]
        with builder.loop(0, size, carry=start) as (x, sums):
            a = a_at + x * a_step
            builder.yield_(*self.sums(depth + 1, a, b_at + x * b_step, sums))
        return sums

    def accumulate(self, a_at: Index, b_start: Index, start: list[SSAValue]) -> list[SSAValue]:
        """Add the products of `count` steps along k."""
        builder, blocking = self.builder, self.blocking
        mr, nr = blocking.mr, blocking.nr
        with builder.loop(0, self.given.count, carry=start) as (k, sums):
            a_view = builder.strided_view(self.given.a, a_at + k * self.a.step, (mr,), (self.a.row,))
            b_view = builder.strided_view(self.given.b, b_start + k * self.given.b_step, (nr,), (1,))
            b_row = self._load_vector(b_view, [0])
            following: list[SSAValue] = []
            for i in range(mr):
                a_element = self._splat(builder.load(a_view, [i]))
                following.append(self._multiply_add(a_element, b_row, sums[i]))
            builder.yield_(*following)
        return sums

    def _multiply_add(self, x: SSAValue, y: SSAValue, total: SSAValue) -> SSAValue:
        types, insert = [self.vector_type], self.builder.insert
        if not isinstance(self.element, IntegerType):
            return insert(vector.FMAOp.create(operands=[x, y, total], result_types=types)).res
        product = insert(arith.MuliOp.create(operands=[x, y], result_types=types, properties=_WRAPS)).result
        return self._add(product, total)

    def _splat(self, value: SSAValue) -> SSAValue:
        op = vector.BroadcastOp.create(operands=[value], result_types=[self.vector_type])
        return self.builder.insert(op).vector

    def _load_vector(self, source: SSAValue, indices: Sequence[Index]) -> SSAValue:
        operands = [source, *(self.builder.index(i).value for i in indices)]
        op = vector.LoadOp.create(operands=operands, result_types=[self.vector_type])
        return self.builder.insert(op).result

    def _store_vector(self, value: SSAValue, target: SSAValue, indices: Sequence[Index]) -> None:
        operands = [value, target, *(self.builder.index(i).value for i in indices)]
        self.builder.insert(vector.StoreOp.create(operands=operands))

    # Writing back.

    def write(self, sums: list[SSAValue]) -> None:
        """Store the sums, or add them to C; blocks that extend beyond the edge go through a buffer."""
        target, blocking, builder = self.target, self.blocking, self.builder
        if target.column != 1 or target.never_whole:
            self._write_part(sums)
            return
        if not target.rows_vary and not target.columns_vary:
            self._write_whole(sums)
            return
        whole: list[Scalar] = []
        if target.rows_vary:
            whole.append(builder.index(self.given.rows).compare("eq", blocking.mr))
        if target.columns_vary:
            whole.append(builder.index(self.given.columns).compare("eq", blocking.nr))
        with builder.when(whole[0] if len(whole) == 1 else whole[0] & whole[1]):
            self._write_whole(sums)
        with builder.otherwise():
            self._write_part(sums)

    def _row(self, at: Index) -> SSAValue:
        """The row of the block of C at that offset."""
        return self.builder.strided_view(self.given.c, at, (self.blocking.nr,), (self.target.column,))

    def _add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        if isinstance(self.element, IntegerType):
            op = arith.AddiOp.create(operands=[lhs, rhs], result_types=[rhs.type], properties=_WRAPS)
        else:
            properties = {"fastmath": arith.FastMathFlagsAttr("none")}
            op = arith.AddfOp.create(operands=[lhs, rhs], result_types=[rhs.type], properties=properties)
        return self.builder.insert(op).result

    def _write_whole(self, sums: list[SSAValue]) -> None:
        at = self.given.c_at
        for value in sums:
            row = self._row(at)
            at += self.given.c_row
            if not self.target.overwrite:
                value = self._add(self._load_vector(row, [0]), value)
            self._store_vector(value, row, [0])

    def _write_part(self, sums: list[SSAValue]) -> None:
        builder, blocking, given = self.builder, self.blocking, self.given
        buffer = builder.alloca(memref_type((blocking.mr, blocking.nr), self.element))
        for number, value in enumerate(sums):
            self._store_vector(value, buffer, [number, 0])
        first_row = blocking.mr - given.rows if self.a.overlaps else 0
        with builder.loop(0, given.rows) as i:
            row = self._row(given.c_at + i * given.c_row)
            with builder.loop(0, given.columns, attributes=PARALLEL) as j:
                value = builder.load(buffer, [i + first_row, j])
                if not self.target.overwrite:
                    value = self._add(builder.load(row, [j]), value)
                builder.store(value, row, [j])


def call_micro_kernel(
    builder: LoopBuilder, kernel: func.FuncOp, blocking: Blocking, a: PanelOfA, target: Target, given: Arguments
) -> None:
    """Define a micro-kernel next to `kernel` and call it at the builder's insertion point."""

    def emit(inside: LoopBuilder, parameters: Sequence[SSAValue]) -> None:
        a_value, a_at, b_value, b_at, b_step, c_value, *numbers = parameters
        begin_a, begin_b, step_b = map(inside.index, (a_at, b_at, b_step))
        received = Arguments(a_value, begin_a, b_value, begin_b, step_b, c_value, *map(inside.index, numbers))
        if target.b_packed:
            received = replace(received, b_step=blocking.nr)
        if not target.rows_vary:
            received = replace(received, rows=blocking.mr)
        if not target.columns_vary:
            received = replace(received, columns=blocking.nr)
        MicroKernel(inside, blocking, a, target, received).emit()

    call_shared(builder, kernel, "block", given.values(), emit)
