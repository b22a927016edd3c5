"""
Products whose columns are together in C, but not in B: B is copied first, its columns side by side.

An image resized by `einsum("hH,whc->wHc")`, with three channels, has such a product: rows of three columns would use a
fifth of a vector.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ...dialects.support.buffers import memref_type, row_major
from ..device.cpu import Machine
from ..loop_nests.cost import task_count, task_size
from ..loop_nests.indices import chunk, delinearized
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.nest import Access
from .blocking import is_worth_blocking, lanes_of
from .contraction import Contraction, Loop

LEAST_USES = 4
"""Rows of A that make a copy of B cheap beside the product."""


@dataclass(frozen=True)
class Columns:
    """The loops of a product that become its columns, and those that stay around it."""

    joined: tuple[Loop, ...]
    """From the outermost to the product's own columns."""
    outer: tuple[Loop, ...]

    @property
    def count(self) -> int:
        return math.prod(loop.size for loop in self.joined)


def columns_of(product: Contraction, machine: Machine) -> Columns | None:
    """The columns that B is to be copied for; None if the product's own fill vectors, or no others follow them in C."""
    if 2 * product.n.size > lanes_of(product, machine) or product.m.size < LEAST_USES or product.n.c != 1:
        return None
    columns = Columns((product.n,), product.outer)
    found = True
    while found:
        follows = [loop for loop in columns.outer if loop.c == columns.count and not loop.a and loop.b]
        found = bool(follows)
        if found:
            outer = tuple(loop for loop in columns.outer if loop is not follows[0])
            columns = Columns((follows[0], *columns.joined), outer)
    wide = replace(product, n=Loop(columns.count, 0, 1, 1), outer=columns.outer)
    return columns if len(columns.joined) > 1 and is_worth_blocking(wide) else None


def with_columns(builder: LoopBuilder, product: Contraction, columns: Columns) -> Contraction:
    """Copy B into a new buffer `[.., k, columns]`; return the product that reads it."""
    moving = [loop for loop in (*columns.outer, *product.outer_k, product.k) if loop.b]
    strides = row_major(tuple(loop.size for loop in (*moving, *columns.joined)))
    total = math.prod(loop.size for loop in (*moving, *columns.joined))
    scratch = builder.alloc(memref_type((total,), buffer_of(product.b.root).element_type))
    _copy(builder, product.b, moving, columns, scratch, strides)
    places = {id(loop): stride for loop, stride in zip(moving, strides, strict=False)}

    def moved(loop: Loop) -> Loop:
        return replace(loop, b=places.get(id(loop), 0))

    return replace(
        product,
        b=Access(scratch, 0, (), ()),
        k=moved(product.k),
        n=Loop(columns.count, 0, 1, 1),
        outer=tuple(map(moved, columns.outer)),
        outer_k=tuple(map(moved, product.outer_k)),
    )


def _copy(
    builder: LoopBuilder, b: Access, rows: Sequence[Loop], columns: Columns, scratch: SSAValue, strides: Sequence[int]
) -> None:
    count = math.prod(loop.size for loop in rows)
    size = task_size(count, task_count(count, 2 * count * columns.count, count))
    start = b.offset_at(builder)
    with builder.parallel(-(-count // size)) as task, builder.loop(*chunk(builder, task, size, count)) as row:
        at = delinearized(row, [loop.size for loop in rows])
        source = sum((index * loop.b for index, loop in zip(at, rows, strict=True)), start)
        sizes = tuple(loop.size for loop in columns.joined)
        read = builder.strided_view(b.root, source, sizes, tuple(loop.b for loop in columns.joined))
        written = builder.strided_view(scratch, row * columns.count, sizes, tuple(strides[len(rows) :]))
        with ExitStack() as nest:
            inside = [nest.enter_context(builder.loop(0, each)) for each in sizes[:-1]]
            with builder.loop(0, sizes[-1], attributes=PARALLEL) as last:
                builder.store(builder.load(read, [*inside, last]), written, [*inside, last])
