"""
Loops over a task's or a tile's share of elements, of bodies that are long, as loops over whole vectors.

LLVM makes three loops of one whose iterations it does not know: one of whole vectors, one of half vectors and one of
elements, for what is left. That takes three times as long to compile as the first alone.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import arith, func
from xdsl.ir import SSAValue

from ...dialects.support.kernel import Kernel
from .cost import is_elementary, is_special, weight_of
from .kernel_builder import value_of
from .loop_builder import PARALLEL, Index, LoopBuilder
from .nest import Access, Nest
from .unrolling import LANES
from .variation import loads_of

LONG = 60
"""Operations from which a body is not interleaved with that of the next vector, as counted in dialects/cost.py."""

MOST_VECTORS = 8
"""Vectors of a loop whose rest takes a part of its time."""

LEAST_REST = 3
"""Elements of a rest that take longer, one by one, than a vector."""


def is_long(nest: Nest) -> bool:
    """Whether the body of a nest is long, and has no special function, for which expand-math chooses the vectors."""
    if nest.body is None or has_special(nest):
        return False
    return sum(weight_of(op).loop for op in nest.body.ops) >= LONG


def has_special(nest: Nest) -> bool:
    """Whether the body of a nest has a special function."""
    return nest.body is not None and any(map(is_special, nest.body.ops))


def leaves_rest(nest: Nest, loop: int) -> bool:
    """
    Whether a loop of some vectors leaves elements of elementary functions, each of which takes as long as a vector.
    """
    size = nest.sizes[loop]
    if not LANES < size <= MOST_VECTORS * LANES or size % LANES < LEAST_REST or nest.body is None:
        return False
    return any(is_elementary(op) for op in nest.body.ops)


@dataclass(frozen=True)
class Part:
    """A part of an innermost loop."""

    lower: Index
    upper: Index
    fresh: int | None = None
    """The first index that no part before has; None if there is none before."""

    def choose(
        self, builder: LoopBuilder, index: Index, new: Sequence[SSAValue], old: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The new values at an index that no part before has, else the old ones."""
        if self.fresh is None:
            return new
        condition = value_of(builder.index(index) >= self.fresh)
        return [builder.insert(arith.SelectOp(condition, *pair)).result for pair in zip(new, old, strict=True)]


def whole_parts(size: int) -> tuple[Part, Part]:
    """A loop that leaves a rest as one of whole vectors, and the vector that ends where the loop does."""
    return Part(0, size // LANES * LANES), Part(size - LANES, size, size // LANES * LANES)


def may_repeat(nest: Nest) -> bool:
    """
    Whether elements may be computed twice: neither the nest nor its kernel, with its arguments, writes over what it
    reads, the results' old values among it.
    """
    function = nest.op.parent_op()
    while function is not None and not isinstance(function, func.FuncOp):
        function = function.parent_op()
    if function is None:
        return False
    kernel = Kernel(function)
    written = {access.root for access in nest.outputs}
    read = [access.root for access in nest.inputs if isinstance(access, Access)]
    if nest.body is not None:
        arguments = nest.body.args[len(nest.inputs) :]
        read += [access.root for access, old in zip(nest.outputs, arguments, strict=True) if old.first_use is not None]
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
