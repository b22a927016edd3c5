"""Rows that are contiguous in memory, copied or filled in vectors, which leaves nothing to LLVM's vectorizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import SSAValue

from ..loop_nests.loop_builder import SCALAR, Index, IndexValue, LoopBuilder
from .vectors import VectorBuilder

Place: TypeAlias = tuple[SSAValue, Index]
"""A buffer, and the number of an element."""


def copy_row(builder: LoopBuilder, source: Place, target: Place, count: IndexValue, lanes: int) -> None:
    """Copy `count` elements from one place to another."""
    vectors = VectorBuilder(builder)
    views = [builder.strided_view(buffer, at, (lanes,), (1,)) for buffer, at in (source, target)]
    _each(
        builder,
        count,
        lanes,
        lambda i: vectors.store(vectors.load(views[0], [i], lanes), views[1], [i]),
        lambda i: builder.store(builder.load(views[0], [i]), views[1], [i]),
    )


def fill_row(builder: LoopBuilder, value: SSAValue, target: Place, count: IndexValue, lanes: int) -> None:
    """Set `count` elements to a value."""
    vectors = VectorBuilder(builder)
    view, all_lanes = builder.strided_view(*target, (lanes,), (1,)), vectors.splat(value, lanes)
    _each(
        builder,
        count,
        lanes,
        lambda i: vectors.store(all_lanes, view, [i]),
        lambda i: builder.store(value, view, [i]),
    )


def _each(
    builder: LoopBuilder,
    count: IndexValue,
    lanes: int,
    put_vector: Callable[[Index], None],
    put: Callable[[Index], None],
) -> None:
    """Write `count` elements; the last vector overlaps the one before it."""
    with builder.when(count >= lanes):
        last = count - lanes
        with builder.loop(0, last, step=lanes) as i:
            put_vector(i)
        put_vector(last)
    with builder.otherwise(), builder.loop(0, count, attributes=SCALAR) as i:
        put(i)
