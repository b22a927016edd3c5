"""
Products of few rows of integers by the rows of a matrix: both lie along k, and vectors of both are multiplied in pairs.

`C[m, n] += A[m, k] * B[n, k]`. The matrix is read in place, once, each vector of it for all rows. These are copied:
their elements become as wide as those of pairs, and they end with the last vector of a row of B, with zeros where that
repeats elements of the vector before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ....dialects.support.buffers import memref_type, row_major
from ....dialects.support.scalar import scalar_attr, width_of
from ...device.cpu import Machine
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ..blocking import LEAST_MATRIX, MIN_MULTIPLICATIONS, MIN_ROWS, PAIRS, lanes_of
from ..contraction import Contraction
from ..kernel import MULTIPLICATIONS_PER_OPERATION
from ..panel import packed_type
from ..parts import tasks
from ..shared_function import call_known, writes
from ..vectors import VectorBuilder

MOST_ROWS, MOST_TOGETHER = 24, 8
"""Most rows of A, and most of them that are multiplied together: the sums of each are in a vector."""

LEAST_STEPS = 4
"""Vectors of a row from which adding up the lanes in the end takes little."""

COLUMNS = 64
"""Rows of B, and columns of C, of a task."""


def in_pairs_along(product: Contraction, machine: Machine, is_constant: bool) -> Contraction | None:
    """
    The product, or `C^T = B^T A^T`, if it is of this form; None if it is not. `is_constant`: whether a factor is packed
    when compiling, if it is.
    """
    if product.n.size < product.m.size:
        product = product.transposed()
    # Dot products of bytes multiply more rows faster.
    most = MIN_ROWS if is_constant or machine.byte_dots else MOST_ROWS
    of_integers = isinstance(product.element, IntegerType) and max(map(width_of, product.factors)) <= 16
    fits = (
        of_integers
        and machine.pair_dots
        and product.epilogue is None
        and not product.computes
        and not product.outer_k
        and product.k.a == product.k.b == 1
        and product.k.size >= LEAST_STEPS * PAIRS * lanes_of(product, machine)
        and product.m.size <= most
        and product.m.size * product.n.size * product.k.size >= LEAST_MATRIX
        and product.multiplications >= MIN_MULTIPLICATIONS
    )
    return product if fits else None


def emit_pairs_along(builder: LoopBuilder, kernel: func.FuncOp, product: Contraction, machine: Machine) -> None:
    """Emit the product, whose sums start from zero."""
    m, n, k, lanes = product.m, product.n, product.k, lanes_of(product, machine)
    width = PAIRS * lanes
    moved = [loop for loop in product.outer if loop.a]
    sizes = (*(loop.size for loop in moved), m.size, -(-k.size // width) * width)
    places = {id(loop): stride for loop, stride in zip(moved, row_major(sizes), strict=False)}
    copy = builder.alloc(memref_type((math.prod(sizes),), packed_type(product.element, PAIRS)))
    with ExitStack() as nest:
        at, into = product.a.offset_at(builder), builder.index(0)
        for loop in moved:
            index = nest.enter_context(builder.loop(0, loop.size))
            at, into = at + index * loop.a, into + index * places[id(loop)]
        arguments = (product.a.root, at, m.a, copy, into, m.size, k.size)
        call_known(builder, kernel, "wide_rows", arguments, width, _emit_copy)
    parts = -(-n.size // COLUMNS)
    around = [loop.size for loop in product.outer]
    work = product.multiplications // MULTIPLICATIONS_PER_OPERATION
    with tasks(builder, math.prod(around) * parts, work) as number:
        first = number % parts * COLUMNS
        a_at, b_at, c_at = builder.index(0), product.b.offset_at(builder), product.c.offset_at(builder)
        for loop, index in zip(product.outer, delinearized(number // parts, around) if around else [], strict=True):
            a_at, b_at = a_at + index * places.get(id(loop), 0), b_at + index * loop.b
            c_at += index * loop.c
        count = COLUMNS if n.size % COLUMNS == 0 else builder.min(n.size - first, COLUMNS)
        groups = -(-m.size // MOST_TOGETHER)
        rows = -(-m.size // groups)
        with builder.loop(0, groups) as group:
            # The last group may repeat rows of the one before, with the same sums.
            row = builder.min(group * rows, m.size - rows)
            factors = (copy, a_at + row * sizes[-1], product.b.root, b_at + first * n.b, n.b)
            arguments = (*factors, product.c.root, c_at + first * n.c + row * m.c, m.c, n.c, k.size, count)
            call_known(builder, kernel, "along", arguments, _Facts(rows, lanes), _emit)


@writes(3)
def _emit_copy(builder: LoopBuilder, parameters: Sequence[SSAValue], width: int) -> None:
    source, at, row, target, into, rows, depth = parameters
    begin, beginning, k = map(builder.index, (at, into, depth))
    vectors = VectorBuilder(builder)
    whole, wide = k // width * width, buffer_of(target).element_type
    zeros = vectors.splat(builder.scalar(scalar_attr(0, wide)), width)
    end = (k + (width - 1)) // width * width

    def view(buffer: SSAValue, at: Index, length: int) -> SSAValue:
        return builder.strided_view(buffer, at, (length,), (1,))

    with builder.loop(0, builder.index(rows)) as i:
        read, written = begin + i * builder.index(row), beginning + i * end
        with builder.loop(0, whole, step=width) as x:
            found = vectors.load(view(source, read + x, width), [0], width)
            vectors.store(vectors.widened(found, wide), view(target, written + x, width), [0])
        with builder.loop(whole, end, step=width) as x:
            vectors.store(zeros, view(target, written + x, width), [0])
        with builder.loop(whole, k) as x:
            element = vectors.widened(builder.load(view(source, read + x, 1), [0]), wide)
            builder.store(element, view(target, written + x + (end - k), 1), [0])


@dataclass(frozen=True)
class _Facts:
    """The facts on which the function depends."""

    rows: int
    """Rows of A."""
    lanes: int


@writes(5)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    a, a_at, b, b_at, b_row, c, c_at, c_row, c_column, k, count = parameters
    begin_a, begin_b, begin_c, depth = map(builder.index, (a_at, b_at, c_at, k))
    vectors, width = VectorBuilder(builder), PAIRS * facts.lanes
    row_of_a, factor = (depth + (width - 1)) // width * width, buffer_of(a).element_type
    zero = vectors.splat(builder.scalar(scalar_attr(0, buffer_of(c).element_type)), facts.lanes)

    def load(buffer: SSAValue, at: Index) -> SSAValue:
        found = vectors.load(builder.strided_view(buffer, at, (width,), (1,)), [0], width)
        return vectors.widened(found, factor)

    # One row of B at a time: several would be as many streams from memory.
    with builder.loop(0, builder.index(count)) as column:
        row_of_b = begin_b + column * builder.index(b_row)
        with builder.loop(0, depth, step=width, carry=[zero] * facts.rows) as (x, sums):
            found = load(b, row_of_b + builder.min(x, depth - width))
            rows = [load(a, begin_a + i * row_of_a + x) for i in range(facts.rows)]
            builder.yield_(*(vectors.dot(x, found, y, unsigned=False) for x, y in zip(rows, sums, strict=True)))
        for i, total in enumerate(sums):
            at = begin_c + i * builder.index(c_row) + column * builder.index(c_column)
            builder.store(vectors.total(total), builder.strided_view(c, at, (1,), (1,)), [0])
