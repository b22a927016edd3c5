"""
Products of few rows and columns that are summed over many elements: the sum is cut into chunks.

Each chunk is a product of its own, as if of a batch, whose result goes to a scratch buffer; the results are added in
order. The number of chunks depends on the shape only, and so do the bits of the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Block

from ...dialects.support.buffers import memref_type, row_major
from ...dialects.support.scalar import scalar_attr
from ..convert_linalg_to_scf.reduction import emit_reduction
from ..device.cpu import Machine
from ..loop_nests.loop_builder import LoopBuilder
from ..loop_nests.nest import Access, Nest
from .blocking import ENOUGH_TASKS, MANY_REGISTERS, TILE_BYTES, Blocking, block
from .contraction import Contraction, Loop, along_k, chunks_of
from .factors.computed import ComputedFactor
from .lanes.products import LaneProduct

FEW_RESULTS = 1 << 15
"""Elements of C up to which a sum is cut: more keep all cores busy, and reuse what is packed."""

FEW_OF_LOOPS = 1 << 14
"""The same where the sum is over several loops, as in gradients of filters: their tiles are small."""

MOST_RESULTS = 4
"""Most elements of C for each element along k: with more, C is larger than what the factors have in a chunk."""

CHUNK = 256
"""Least elements of a chunk: its result is written and read once more."""

CHUNKS = 32
"""Most chunks."""

ENOUGH = 4
"""Chunks of the loops around k from which that along k stays whole: tiles divide the work as well."""


LEAST_STEPS = 128
"""Least steps of a pass whose rows of A a task packs: C is read and written once in each."""


@dataclass(frozen=True)
class Cut:
    """How a sum is cut: the contracted loop that is divided, and into how many chunks."""

    loop: Loop
    count: int


def cut_of(product: Contraction) -> Cut | None:
    """The cut of the longest sum that needs one; its number of chunks divides the loop. None if the sum stays whole."""
    results = product.m.size * product.n.size * math.prod(loop.size for loop in product.outer)
    if results > (FEW_OF_LOOPS if product.outer_k else FEW_RESULTS) or results > product.depth * MOST_RESULTS:
        return None
    best = _most([Cut(loop, _chunks(product, loop)) for loop in product.outer_k])
    # The loop along k stays long if those around it give chunks enough.
    if best is None or best.count < ENOUGH:
        best = _most([*([] if best is None else [best]), Cut(product.k, _chunks(product, product.k))])
    if best is None or best.count == 1:
        return None
    place = _places(product)[id(best.loop)]
    return None if any(factor is not None and factor.asks(place) for factor in _computed(product)) else best


def packs_the_larger(product: Contraction, machine: Machine) -> bool:
    """
    Whether the larger factor of a cut product would be packed as a whole before, so that it is written to memory and
    read again: as B, its panels are packed by the tasks that read them.
    """
    by_columns = product.m.a == product.n.b == 1 and not product.outer_k
    is_plain = product.epilogue is None and not product.sums and not product.computes
    return machine.registers >= MANY_REGISTERS and by_columns and is_plain and product.m.size > product.n.size


def block_packed(product: Contraction, machine: Machine) -> Blocking:
    """
    The blocking of a product whose factors are both packed.

    Where there are chunks of a sum enough, each is a task, which multiplies all rows and columns: it reads each element
    of A and B once, and what it packs stays in the L2 cache. Packed beforehand, A would be written to memory.
    """
    found = block(product, machine, packed=True, whole=False)
    is_cut = math.prod(chunks_of(product)) >= ENOUGH_TASKS and not product.outer_k
    bytes_of_step = found.m_panels * found.mr * found.group * machine.vector_bits // 8 // found.lanes
    steps = min(TILE_BYTES // bytes_of_step, found.kc)
    if machine.registers < MANY_REGISTERS or not is_cut or steps < min(LEAST_STEPS, found.kc):
        return found
    groups = -(-product.k.size // found.group)
    return replace(found, kc=-(-groups // -(-groups // steps)), tile_m=found.m_panels, tile_n=found.n_panels)


def _computed(product: Contraction) -> tuple[ComputedFactor | None, ComputedFactor | None]:
    return product.computed_a, product.computed_b


def _places(product: Contraction) -> dict[int, int]:
    """For each contracted loop, by its identity, which one it is of those of what computes a factor."""
    first = len(product.outer)
    inner = {id(loop): first + k for k, loop in enumerate(product.outer_k)}
    return inner | {id(product.k): first + len(inner) + 1}


def _chunks(product: Contraction, loop: Loop) -> int:
    """The most chunks that divide a contracted loop and are long enough."""
    return max(n for n in range(1, CHUNKS + 1) if loop.size % n == 0 and (n == 1 or product.depth // n >= CHUNK))


def _most(cuts: Sequence[Cut]) -> Cut | None:
    """The cut into most chunks, of the outermost loop that has as many."""
    return max(cuts, key=lambda cut: (cut.count, cut.loop.a), default=None)


def in_chunks(builder: LoopBuilder, product: Contraction, cut: Cut) -> Contraction:
    """The product whose first loop around is over chunks, into a new scratch buffer `[chunks, .., m, n]`."""
    size = cut.loop.size // cut.count
    sizes = (cut.count, *(loop.size for loop in product.outer), product.m.size, product.n.size)
    strides = row_major(sizes)
    scratch = builder.alloc(memref_type((math.prod(sizes),), product.element))
    chunk = Loop(cut.count, size * cut.loop.a, size * cut.loop.b, strides[0])
    outer = [replace(loop, c=stride) for loop, stride in zip(product.outer, strides[1:], strict=False)]

    places = _places(product)
    contracted: list[Loop] = []
    for loop in (product.k, *product.outer_k):
        shortened = replace(loop, size=size) if loop is cut.loop else loop
        places[id(shortened)] = places[id(loop)]
        contracted += [shortened] if shortened.size > 1 else []
    k = along_k(contracted)
    outer_k = tuple(each for each in contracted if each is not k)
    order = [*range(len(outer)), *(places[id(each)] for each in outer_k), places[id(product.k)] - 1, places[id(k)]]
    computed_a, computed_b = (
        factor and factor.in_chunks(places[id(cut.loop)], cut.count, order) for factor in _computed(product)
    )
    return replace(
        product,
        c=Access(scratch, 0, (), ()),
        k=k,
        m=replace(product.m, c=strides[-2]),
        n=replace(product.n, c=1),
        outer=(chunk, *outer),
        outer_k=outer_k,
        computed_a=computed_a,
        computed_b=computed_b,
    )


def add_chunks(
    builder: LoopBuilder, product: Contraction | LaneProduct, parts: Contraction | LaneProduct, overwrite: bool
) -> None:
    """Add the chunks' results in order, and to C unless `overwrite`."""
    chunk, *_ = parts.outer
    loops = (*product.outer, product.m, product.n)
    sources = (*parts.outer[1:], parts.m, parts.n)
    element = product.element
    body = Block(arg_types=[element, element])
    plus = arith.AddiOp if isinstance(element, IntegerType) else arith.AddfOp
    total = plus(body.args[1], body.args[0])
    body.add_ops([total, YieldOp(total.result)])
    nest = Nest(
        op=builder.anchor,
        sizes=(*(loop.size for loop in loops), chunk.size),
        reduction=(*(False for _ in loops), True),
        inputs=(replace(parts.c, strides=(*(loop.c for loop in sources), chunk.c)),),
        outputs=(replace(product.c, strides=(*(loop.c for loop in loops), 0)),),
        body=body,
    )
    zero = builder.scalar(scalar_attr(0, element)) if overwrite else None
    emit_reduction(builder, nest, (zero,), of_parts=True)
