"""
Small products, which are not worth packing: a call of a function that multiplies matrices of any sizes in place.

Programs share it, so that a small product is no code for LLVM. Blocks of rows by one vector of columns have their sums
in registers; the last vector of columns may repeat columns of the one before, with the same sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...dialects.support.scalar import scalar_attr
from ..device.cpu import Machine
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from .blocking import LEAST_MATRIX, MIN_MULTIPLICATIONS, lanes_of
from .contraction import Contraction, Loop
from .shared_function import call_known, writes
from .vectors import VectorBuilder

LEAST_LANES = 4
"""Columns of the narrowest vectors."""

ROWS = (8, 4, 1)
"""The rows of blocks: as many as hide the latency of multiply-adds, and what is left."""

LEAST_ROWS = 5
"""Rows with which the function is as fast as code for their number."""

MOST_MATRICES = 8
"""Products of a batch of any size: in more of them the call takes a part of the time."""

MOST_OF_NARROW = 1 << 18
"""
Multiplications up to which products are small whose columns are half a vector or more, but no whole one. Small
convolutions are: packing would take longer than reading B once for each block of rows.
"""


def _lanes(product: Contraction, machine: Machine) -> int:
    """The lanes of the widest vectors that the columns fill."""
    lanes = lanes_of(product, machine)
    while lanes > product.n.size:
        lanes //= 2
    return lanes


def is_small(product: Contraction, machine: Machine) -> bool:
    """Whether a product is one that the function multiplies."""
    matrices = math.prod(loop.size for loop in product.outer)
    lanes = lanes_of(product, machine)
    narrow = lanes <= 2 * product.n.size < 2 * lanes and product.multiplications <= MOST_OF_NARROW
    return (
        (narrow or product.multiplications < MIN_MULTIPLICATIONS)
        and product.epilogue is None
        and len(product.outer_k) <= 1
        and (matrices <= MOST_MATRICES or product.multiplications // matrices >= LEAST_MATRIX)
        and product.factors == (product.element, product.element)
        and product.n.b == product.n.c == 1
        and product.m.size >= LEAST_ROWS
        and _lanes(product, machine) >= LEAST_LANES
    )


def emit_small(builder: LoopBuilder, kernel: func.FuncOp, product: Contraction, machine: Machine) -> None:
    """Emit calls that write the product of each pair of matrices."""
    a, b, c = (access.offset_at(builder) for access in (product.a, product.b, product.c))
    with ExitStack() as nest:
        for loop in product.outer:
            index = nest.enter_context(builder.loop(0, loop.size))
            a, b, c = a + index * loop.a, b + index * loop.b, c + index * loop.c
        m, n, k = product.m, product.n, product.k
        around = product.outer_k[0] if product.outer_k else Loop(1, 0, 0, 0)
        factors = (product.a.root, a, m.a, k.a, product.b.root, b, k.b)
        sizes = (m.size, n.size, k.size, around.size, around.a, around.b)
        arguments = (*factors, product.c.root, c, m.c, *sizes)
        call_known(builder, kernel, "small", arguments, _Facts(_lanes(product, machine)), _emit)


@dataclass(frozen=True)
class _Facts:
    """The facts on which the function depends."""

    lanes: int


@dataclass(frozen=True)
class _Matrix:
    """A matrix in memory: rows and columns, or elements along k, are so many elements apart."""

    builder: LoopBuilder
    buffer: SSAValue
    at: Index
    row: Index
    column: Index = 1

    def place(self, row: Index, column: Index) -> Index:
        return self.at + row * self.row + column * self.column

    def view(self, place: Index, size: int) -> SSAValue:
        return self.builder.strided_view(self.buffer, place, (size,), (1,))


@writes(7)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    a, a_at, a_row, a_k, b, b_at, b_k, c, c_at, c_row, *sizes = parameters
    at = [builder.index(each) for each in (a_at, b_at, c_at)]
    left = _Matrix(builder, a, at[0], builder.index(a_row), builder.index(a_k))
    right = _Matrix(builder, b, at[1], builder.index(b_k))
    m, n, *depth = (builder.index(each) for each in sizes)
    body = _Body(builder, facts.lanes, left, right, _Matrix(builder, c, at[2], builder.index(c_row)), *depth)
    with builder.loop(0, builder.index(n + (facts.lanes - 1)) // facts.lanes) as number:
        body.multiply(builder.min(number * facts.lanes, n - facts.lanes), m)


@dataclass(frozen=True)
class _Body:
    """The body of the function: C = A B, by vectors of columns."""

    builder: LoopBuilder
    lanes: int
    a: _Matrix
    b: _Matrix
    c: _Matrix
    k: IndexValue
    around: IndexValue
    """How many products are added, whose factors are so many elements apart."""
    a_step: IndexValue
    b_step: IndexValue

    def multiply(self, column: Index, rows: IndexValue) -> None:
        """Write the vectors of C from a column on."""
        builder = self.builder
        done = builder.index(0)
        for height in ROWS:
            blocks = builder.index(rows - done) // height
            with builder.loop(0, blocks) as block:
                self._block(done + block * height, column, height)
            done = builder.index(done + blocks * height)

    def _block(self, row: Index, column: Index, height: int) -> None:
        builder, vectors = self.builder, VectorBuilder(self.builder)
        zero = vectors.splat(builder.scalar(scalar_attr(0, buffer_of(self.c.buffer).element_type)), self.lanes)
        firsts = [self.a.place(row + i, 0) for i in range(height)]
        first = self.b.place(0, column)
        with builder.loop(0, self.around, carry=[zero] * height) as (number, totals):
            a_at, b_at = number * self.a_step, first + number * self.b_step
            with builder.loop(0, self.k, carry=totals) as (x, sums):
                found = vectors.load(self.b.view(b_at + x * self.b.row, self.lanes), [0], self.lanes)
                place, following = a_at + x * self.a.column, list[SSAValue]()
                for begin, total in zip(firsts, sums, strict=True):
                    element = builder.load(self.a.view(begin + place, 1), [0])
                    following.append(vectors.multiply_add(vectors.splat(element, self.lanes), found, total))
                builder.yield_(*following)
            builder.yield_(*sums)
        for i, total in enumerate(totals):
            vectors.store(total, self.c.view(self.c.place(row + i, column), self.lanes), [0])
