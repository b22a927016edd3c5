"""
Factors that are copied before they are packed, because neighbours in memory belong to different panels.

The filters of a channels-first model, `[o, i, kh, kw]`, have one matrix for each place of the window; the elements of
the matrices alternate. Packed as they are, each matrix would read all cache lines of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from ....dialects.support.buffers import memref_type, row_major
from ....dialects.support.scalar import width_of
from ...convert_linalg_to_scf.elementwise import emit_elementwise
from ...device.cpu import Machine
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ...loop_nests.nest import Access, Nest
from ..contraction import LONG, Contraction, Loop

LEAST_COPIED = 4096
"""Elements of B from which a copy is worth its loops."""


def alternates(product: Contraction, constants: Sequence[SSAValue]) -> bool:
    """
    Whether B has matrices whose elements alternate in memory, or which lie together in A; the compiler packs those that
    are constants.
    """
    k, n, contracted = product.k, product.n, (*product.outer_k, product.k)
    between = any(0 < abs(loop.b) < min(k.b, n.b) for loop in product.outer_k)
    together = k.size < LONG and any(x.a == y.a * y.size for x in contracted for y in contracted)
    large = n.size * product.depth >= LEAST_COPIED
    return (
        (between or together)
        and large
        and product.b.root not in constants
        and not any(loop.b for loop in product.outer)
    )


def with_matrices_apart(builder: LoopBuilder, product: Contraction, machine: Machine) -> Contraction:
    """
    Copy B into a new buffer `[.., k, n]`, in A's order; return the product that reads it.

    One that is larger than the caches nearby is copied in its own order: planes far apart would be written by turns.
    """
    far = product.n.size * product.depth * width_of(product.element) // 8 > machine.l2_bytes
    contracted = sorted((*product.outer_k, product.k), key=lambda loop: -abs(loop.b) if far else -loop.a)
    loops = [*contracted, product.n]
    b, strides = copied(builder, product.b, loops)
    joined: list[Loop] = []
    for loop, stride in zip(contracted, strides, strict=False):
        loop = replace(loop, b=stride)
        if joined and joined[-1].a == loop.a * loop.size:
            loop = replace(loop, size=loop.size * joined.pop().size)
        joined.append(loop)
    k = max(joined, key=lambda loop: loop.size)
    outer_k = tuple(loop for loop in joined if loop is not k)
    return replace(product, b=b, n=replace(product.n, b=1), k=k, outer_k=outer_k)


def copied(builder: LoopBuilder, b: Access, loops: Sequence[Loop]) -> tuple[Access, tuple[int, ...]]:
    """Copy the factor B into a new buffer, its loops one inside the other; returns its access and their strides."""
    sizes = tuple(loop.size for loop in loops)
    strides = row_major(sizes)
    scratch = builder.alloc(memref_type((math.prod(sizes),), buffer_of(b.root).element_type))
    source, target = replace(b, strides=tuple(loop.b for loop in loops)), Access(scratch, 0, (), strides)
    emit_elementwise(builder, Nest(builder.anchor, sizes, (False,) * len(sizes), (source,), (target,), None))
    return Access(scratch, 0, (), ()), strides
