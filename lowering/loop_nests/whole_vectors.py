"""
Loops over a task's or a tile's share of elements, of bodies that are long, as loops over whole vectors.

LLVM makes three loops of one whose iterations it does not know: one of whole vectors, one of half vectors and one of
elements, for what is left. That takes three times as long to compile as the first alone.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects import func

from ...dialects.support.kernel import Kernel
from .cost import weight_of
from .loop_builder import PARALLEL, Index, LoopBuilder
from .nest import Access, Nest
from .unrolling import LANES
from .variation import loads_of

LONG = 60
"""Operations from which a body is not interleaved with that of the next vector, as counted in dialects/cost.py."""


def is_long(nest: Nest) -> bool:
    return nest.body is not None and sum(weight_of(op).loop for op in nest.body.ops) >= LONG


def may_repeat(nest: Nest) -> bool:
    """
    Whether elements may be computed twice: neither the nest nor its kernel, with its arguments, writes over what it
    reads.
    """
    function = nest.op.parent_op()
    while function is not None and not isinstance(function, func.FuncOp):
        function = function.parent_op()
    if function is None:
        return False
    kernel = Kernel(function)
    written = {access.root for access in nest.outputs}
    read = [access.root for access in nest.inputs if isinstance(access, Access)]
    apart = written.isdisjoint([*read, *(load.memref for load in loads_of(nest))])
    return apart and not kernel.shared and not kernel.tied


@contextmanager
def loop_over_elements(
    builder: LoopBuilder, lower: Index, upper: Index, total: int, shortest: int = 0
) -> Generator[Index]:
    """
    The loop of a long body from `lower` to `upper`: a share of `total` elements, which begins at a whole vector.

    It is a loop over vectors around one of as many iterations as a vector has elements. If not all of them fill
    vectors, the last vector of a share ends where the share does, and computes some elements twice. `shortest`: the
    elements of the shortest share, 0 if none may be computed twice.
    """
    is_known = isinstance(lower, int) and isinstance(upper, int)
    overlaps = bool(total % LANES)
    if shortest < LANES if overlaps else is_known:
        with builder.loop(lower, upper, attributes=PARALLEL) as index:
            yield index
        return
    with builder.loop(lower, upper, step=LANES) as place:
        first = builder.min(place, upper - LANES) if overlaps else place
        with builder.loop(0, LANES, attributes=PARALLEL) as lane:
            yield first + lane
