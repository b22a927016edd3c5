"""
Products with padding that a convolution leaves out.

Where all that a panel of A multiplies by one element of the window is padding, the products are zeros if the filters
are finite; `0 * inf` is NaN, and such products are multiplied here. So panels near the edges of an image run through
fewer elements of the window, once a look at all filters has found no infinity and no NaN. That pays for wide windows
with holes, and for small images.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import func
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import SSAValue

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import Scalar, scalar_attr
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from .blocking import Blocking
from .contraction import Contraction, Loop
from .parts import in_parts, parts_of
from .shared_function import call_known, writes
from .vectors import VectorBuilder

LEAST_SAVED = 1 / 32
"""Part of a convolution's products from which leaving them out pays for what decides it."""

SAVED_FOR_EACH = 8
"""Products left out for each element of the filters, which may come from memory once more."""


@dataclass(frozen=True)
class Edge:
    """A padded dimension along which one contracted loop runs through the window."""

    low: int
    """The zeros before the tensor's elements."""
    size: int
    """Those elements."""
    tap: int
    """The place of that loop among those around k."""
    taps: int
    step: int
    """Elements along the dimension that one of its turns moves."""
    rows: tuple[int, ...]
    """The same of each loop over rows around m."""
    m: int

    def inside(self, first: int, last: int) -> int:
        """The elements of the window that meet the tensor's somewhere, at places from `first` to `last`."""
        steps = range(0, self.taps * self.step, self.step)
        return sum(first + at < self.low + self.size and last + at >= self.low for at in steps)

    def range_of(self, builder: LoopBuilder, first: Index, last: Index) -> tuple[Index, Index]:
        """The first of these elements of the window, and the end."""
        lower = _steps(builder, self.low - last, self.step)
        upper = builder.min(_steps(builder, self.low + self.size - first, self.step), self.taps)
        return builder.min(lower, upper), upper


def _steps(builder: LoopBuilder, distance: Index, step: int) -> Index:
    """The fewest steps that go as far, none if the distance is negative."""
    return builder.index(distance + (step - 1)).max(0) // step


def edges_of(
    product: Contraction, blocking: Blocking, low: Sequence[int], shape: Sequence[int], padded: Sequence[int]
) -> tuple[Edge, ...]:
    """
    The edges at which a product leaves out padding, whose A is a tensor of some `shape` after zeros `low`, `padded`
    with zeros after it; none if that does not pay.
    """
    if not isinstance(product.element, (Float32Type, Float64Type)) or product.a.offset or product.a.dynamic:
        return ()
    if any(loop.b for loop in product.outer) or product.factors[1] != product.element:
        return ()
    found = [_edge(product, dim, low, shape, padded) for dim in range(len(padded)) if shape[dim] != padded[dim]]
    edges = tuple(edge for edge in found if edge is not None)
    saved = 1 - math.prod(_kept(edge, product, blocking) for edge in edges)
    looked_at = math.prod(buffer_of(product.b.root).get_shape())
    pays = saved >= LEAST_SAVED and saved * product.multiplications >= SAVED_FOR_EACH * looked_at
    return edges if pays else ()


def _edge(
    product: Contraction, dim: int, low: Sequence[int], shape: Sequence[int], padded: Sequence[int]
) -> Edge | None:
    """The edge of one dimension, if each loop moves along it, or along those before or after it, and stays there."""
    stride = math.prod(padded[dim + 1 :])
    whole = stride * padded[dim]

    def along(loop: Loop) -> int:
        return loop.a // stride if stride <= loop.a < whole else 0

    loops = (*product.outer, product.m, *product.outer_k, product.k)
    beyond = [loop.a % (whole if loop.a >= whole else stride) for loop in loops if loop.a >= stride]
    within = sum((loop.size - 1) * loop.a for loop in loops if loop.a < stride)
    moved = sum((loop.size - 1) * along(loop) for loop in loops)
    taps = [number for number, loop in enumerate(product.outer_k) if along(loop)]
    if any(beyond) or within >= stride or moved >= padded[dim] or len(taps) != 1 or along(product.k):
        return None
    (tap,) = taps
    loop = product.outer_k[tap]
    rows = tuple(map(along, product.outer))
    return Edge(low[dim], shape[dim], tap, loop.size, along(loop), rows, along(product.m))


def _kept(edge: Edge, product: Contraction, blocking: Blocking) -> float:
    """The part of the window's elements, over all panels, that meet the tensor."""
    moving = [range(0, loop.size * step, step) for loop, step in zip(product.outer, edge.rows, strict=True) if step]
    last_row = product.m.size - blocking.mr
    panels = [0] if not edge.m else [min(at, last_row) for at in range(0, product.m.size, blocking.mr)]
    inside = [
        edge.inside(sum(rows) + panel * edge.m, sum(rows) + (panel + blocking.mr - 1) * edge.m)
        for *rows, panel in itertools.product(*moving, panels)
    ]
    return sum(inside) / (len(inside) * edge.taps)


def window_at(
    builder: LoopBuilder, edges: Sequence[Edge], finite: Scalar, rows: Sequence[Index], first: Index, count: int
) -> dict[int, tuple[Index, Index]]:
    """
    The range of each edge's contracted loop that the panel of `count` rows from `first` on needs, at the indices `rows`
    of the loops around: all of it unless the filters are `finite`.
    """
    found: dict[int, tuple[Index, Index]] = {}
    for edge in edges:
        at = first * edge.m
        for index, moved in zip(rows, edge.rows, strict=True):
            at += index * moved
        lower, upper = edge.range_of(builder, at, at + (count - 1) * edge.m)
        found[edge.tap] = builder.select(finite, lower, 0), builder.select(finite, upper, edge.taps)
    return found


def is_first(builder: LoopBuilder, taps: Sequence[Index]) -> Scalar:
    """Whether the element of the window at the indices `taps` is the first."""
    return builder.index(sum(taps[1:], taps[0])).compare("eq", 0)


def is_inside(builder: LoopBuilder, taps: Sequence[Index], ranges: dict[int, tuple[Index, Index]]) -> Scalar:
    """Whether that element is in the ranges of the loops that have some."""
    inside = [builder.index(taps[tap] - lower).below(upper - lower) for tap, (lower, upper) in ranges.items()]
    return reduce(Scalar.__and__, inside)


class FiniteFilters:
    """Whether all elements of a buffer are finite, found before the product."""

    def __init__(self, builder: LoopBuilder, kernel: func.FuncOp, buffer: SSAValue, lanes: int):
        self.builder = builder
        element = buffer_of(buffer).element_type
        count = math.prod(buffer_of(buffer).get_shape())
        sums = builder.alloc(memref_type((parts_of(count),), element))
        with in_parts(builder, count) as (part, at, size):
            call_known(builder, kernel, "finite", (buffer, at, size, sums, part), lanes, emit_sum_of_zeros)
        vectors = VectorBuilder(builder)
        with builder.loop(1, parts_of(count), carry=[builder.load(sums, [0])]) as (part, total):
            builder.yield_(vectors.add(total[0], builder.load(sums, [part])))
        self._sum = builder.alloc(memref_type((1,), element))
        builder.store(total[0], self._sum, [0])

    def are(self) -> Scalar:
        return self.builder.on(self.builder.load(self._sum, [0])).compare("eq", 0.0)


@writes(3)
def emit_sum_of_zeros(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    """
    The body of a function of a buffer, its first element, the number of elements, and an element of another buffer: it
    stores the sum of all elements times zero there. `lanes`: elements of a vector.
    """
    source, begin, elements, target, at = parameters
    begin, count = builder.index(begin), builder.index(elements)
    vectors = VectorBuilder(builder)
    whole = count // lanes * lanes
    zero = builder.scalar(scalar_attr(0, buffer_of(source).element_type))
    zeros = vectors.splat(zero, lanes)

    def added(total: SSAValue, first: Index, length: int) -> SSAValue:
        view = builder.strided_view(source, begin + first, (length,), (1,))
        return vectors.multiply_add(vectors.load(view, [0], length), vectors.part(zeros, 0, length), total)

    with builder.loop(0, whole, step=lanes, carry=[zeros]) as (first, found):
        builder.yield_(added(found[0], first, lanes))
    with builder.loop(whole, count, carry=[vectors.folded(found[0], vectors.add)]) as (first, found):
        builder.yield_(added(found[0], first, 1))
    vectors.store(found[0], builder.strided_view(target, builder.index(at), (1,), (1,)), [0])
