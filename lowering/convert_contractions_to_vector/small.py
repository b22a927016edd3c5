"""
Small products, which are not worth packing: a call of a function that multiplies matrices of any sizes in place.

Programs share it, so that a small product is no code for LLVM. Blocks of rows by one vector of columns have their sums
in registers; the last vector of columns may repeat columns of the one before, with the same sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...dialects.support.scalar import scalar_attr
from ..device.cpu import Machine
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from .blocking import MIN_MULTIPLICATIONS, lanes_of
from .contraction import Contraction
from .shared_function import call_known
from .vectors import VectorBuilder

LEAST_LANES = 4
"""Columns of the narrowest vectors."""

ROWS = (8, 4, 1)
"""The rows of blocks: as many as hide the latency of multiply-adds, and what is left."""

LEAST_ROWS = 5
"""Rows with which the function is as fast as code for their number."""

MOST_MATRICES = 8
"""Products of a batch: in more of them the call takes a part of the time."""


def _lanes(product: Contraction, machine: Machine) -> int:
    """The lanes of the widest vectors that the columns fill."""
    lanes = lanes_of(product, machine)
    while lanes > product.n.size:
        lanes //= 2
    return lanes


def is_small(product: Contraction, machine: Machine) -> bool:
    """Whether a product is one that the function multiplies."""
    matrices = 1
    for loop in product.outer:
        matrices *= loop.size
    return (
        product.multiplications < MIN_MULTIPLICATIONS
        and product.epilogue is None
        and not product.outer_k
        and matrices <= MOST_MATRICES
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
        arguments = (
            product.a.root,
            a,
            m.a,
            k.a,
            product.b.root,
            b,
            k.b,
            product.c.root,
            c,
            m.c,
            m.size,
            n.size,
            k.size,
        )
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


def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    a, a_at, a_row, a_k, b, b_at, b_k, c, c_at, c_row, *sizes = parameters
    at = [builder.index(each) for each in (a_at, b_at, c_at)]
    left = _Matrix(builder, a, at[0], builder.index(a_row), builder.index(a_k))
    right = _Matrix(builder, b, at[1], builder.index(b_k))
    m, n, k = (builder.index(each) for each in sizes)
    body = _Body(builder, facts.lanes, left, right, _Matrix(builder, c, at[2], builder.index(c_row)), k)
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
        with builder.loop(0, self.k, carry=[zero] * height) as (x, sums):
            found = vectors.load(self.b.view(first + x * self.b.row, self.lanes), [0], self.lanes)
            following: list[SSAValue] = []
            for begin, total in zip(firsts, sums, strict=True):
                element = builder.load(self.a.view(begin + x * self.a.column, 1), [0])
                following.append(vectors.multiply_add(vectors.splat(element, self.lanes), found, total))
            builder.yield_(*following)
        for i, total in enumerate(sums):
            vectors.store(total, self.c.view(self.c.place(row + i, column), self.lanes), [0])
