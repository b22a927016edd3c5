"""
Products that are summed along rows of both factors: gradients of the filters of few features a group, channels first.

`C[m] += A[m, k, n] * B[k, n]`, where n is contiguous in A and B, and the rows of A overlap: a window's. A row alone
would be a short sum, whose lanes are added once for each k. Here n is the lanes of sums `[m, n]` that go on over all
k, and their lanes are added in the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ....dialects.support.scalar import width_of
from ...device.cpu import Machine
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access, Nest
from ..blocking import MIN_MULTIPLICATIONS
from ..contraction import Element, Loop
from .products import MOST_VECTORS, Factors, Group, LaneProduct, lanes_of_block

LEAST_DEPTH = 8
"""Least products that each lane adds: the lanes are added one by one in the end."""

MOST_COLUMNS = 16
"""Rows of B, in a group, that each row of A is multiplied by: more are columns of a matrix product."""

LEAST_WHOLE = 2
"""Whole vectors of columns from which a B of few elements is packed for a matrix product, in fewer instructions."""

LEAST_READS = 2
"""Least times that each element of A is read, on average."""

FEW_VECTORS, MANY = 2, 1.15
"""Vectors of a row that leave registers for the sums of a window, and the cost of having more."""

MOST_STEPS = 8
"""Most steps of the innermost contracted loop: a longer one is two loops."""


def row_sums_of(factors: Factors, machine: Machine) -> LaneProduct | None:
    """The product of factors that are summed along rows, with the lanes as n; None if it is not of this form."""
    nest, element, _ = factors
    a, b = nest.accesses[:2]
    product = _canonical(nest, a, b, element, machine) or _canonical(nest, b, a, element, machine)
    if product is None or lanes_of_block(product, machine) is None or product.depth < LEAST_DEPTH:
        return None
    reads = product.multiplications // math.prod(buffer_of(product.a.root).get_shape())
    return None if reads < LEAST_READS or product.multiplications < MIN_MULTIPLICATIONS else product


def _canonical(nest: Nest, a: Access, b: Access, element: Element, machine: Machine) -> LaneProduct | None:
    c = nest.outputs[0]
    loops = [Loop(n, a.strides[l], b.strides[l], c.strides[l]) for l, n in enumerate(nest.sizes)]
    kept, ks = [loops[l] for l in nest.parallel_loops], [loops[l] for l in nest.reduction_loops]
    if any(not (loop.a and loop.b) or loop.c for loop in ks) or any(not loop.c for loop in kept):
        return None
    lane = next((loop for loop in ks if loop.b == 1 and loop.a in (1, 2)), None)
    rows = [loop for loop in kept if not loop.b]
    if lane is None or not rows:
        return None
    most = machine.vector_bits // width_of(element)
    columns = math.prod(loop.size for loop in kept if not loop.a)
    if columns > MOST_COLUMNS or (columns >= LEAST_WHOLE * most and columns % most == 0 and _is_few(loops)):
        return None
    cut = _cut(lane, most)
    if cut is None:
        return None
    part, parts = cut
    ks = sorted((loop for loop in ks if loop is not lane), key=lambda loop: -loop.a)
    if not ks:
        return None
    # Neighbouring steps read the same rows of A, if they are in the same block.
    steps = ks.pop()
    m = max((loop for loop in rows if loop.a <= steps.a), key=lambda loop: loop.size, default=rows[0])
    outer = tuple(loop for loop in kept if loop is not m)
    size = max(n for n in range(1, MOST_STEPS + 1) if steps.size % n == 0)
    around = Loop(steps.size // size, steps.a * size, steps.b * size, 0)
    inner = [loop for loop in (around, parts) if loop.size > 1]
    return LaneProduct(a, b, c, m, part, outer, (*ks, *inner, replace(steps, size=size)), Group(), (part,), element)


def _is_few(loops: Sequence[Loop]) -> bool:
    """Whether B has no more elements than C, as a convolution's filters, and unlike a gradient of these."""
    return math.prod(loop.size for loop in loops if loop.b) <= math.prod(loop.size for loop in loops if loop.c)


def _cut(lane: Loop, most: int) -> tuple[Loop, Loop] | None:
    """The loop over the lanes of a part of a row, with the fewest that are computed again, and that over its parts."""

    def cost(size: int) -> tuple[float, int]:
        vectors = -(-size // most)
        return (vectors * most / size * (1 if vectors <= FEW_VECTORS else MANY)), -size

    whole = min(most, 1 << lane.size.bit_length() - 1)
    sizes = [n for n in range(whole, MOST_VECTORS * most + 1) if lane.size % n == 0]
    if not sizes:
        return None
    size = min(sizes, key=cost)
    parts = Loop(lane.size // size, lane.a * size, lane.b * size, 0)
    return replace(lane, size=size), parts
