"""
Loops of few known iterations that are no whole vectors, for machines whose vectors have no cheap masks.

LLVM makes vectors of a loop with fewer than LEAST iterations only if no element is left: it computes the last vector
under a mask. AVX-512 has registers for masks. AVX2 computes them from indices, and its stores under a mask take as long
as ten others; what is loaded after them waits until they are done.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntAttr, StridedLayoutAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.support.attributes import integer_attr
from ...dialects.support.editing import clone_op, insert_before, set_operand
from ...dialects.support.kernel import PARALLEL
from ...dialects.support.scalar import width_of
from .kernel_builder import known_number
from .loop_builder import buffer_of
from .variation import reads

LEAST = 16
"""The fewest iterations of a loop of which LLVM makes a loop of vectors and one of the elements that are left."""

MOST_PIECES = 3
"""The most vectors and elements, after the whole vectors, that take no longer than a vector under a mask."""

MOST_PIECES_WITH_CALLS = 2
"""The same with elementary functions, which take as long for one element as for a vector."""


CHAIN = 4
"""How many times as long single elements take as vectors, at least."""


def parts_of(count: int, lanes: int, most: int = MOST_PIECES) -> tuple[int, ...]:
    """
    The iterations of the loops into which one is divided: whole vectors, a vector of half the length, and what is left.

    One part if that does not pay: there are more than `most` pieces after the whole vectors.
    """
    if not LEAST > count > lanes > 1 or count % lanes == 0:
        return (count,)
    rest = count % lanes
    half = lanes // 2 if rest >= lanes // 2 > 1 else 0
    left = rest - half
    if (half > 0) + left > most:
        return (count,)
    return tuple(part for part in (count - rest, half, left) if part)


def lanes_of_loop(op: scf.ForOp, vector_bits: int) -> int:
    """The lanes of the vectors that LLVM makes of a parallel loop's iterations; 0 if it makes none, or need not."""
    if PARALLEL not in op.attributes or op.iter_args or known_number(op.step) != 1:
        return 0
    index = op.body.block.args[0]
    varying: set[SSAValue] = {index}
    widths = [1]
    for inside in op.body.block.ops:
        if inside.regions or (isinstance(inside, func.CallOp) and not inside.results):
            return 0
        if isinstance(inside, memref.LoadOp | memref.StoreOp):
            if not _is_in_order(inside, varying):
                return 0
            widths.append(width_of(buffer_of(inside.memref).element_type))
        elif any(operand in varying for operand in inside.operands):
            varying.update(inside.results)
    return vector_bits // max(widths)


def most_pieces(op: scf.ForOp) -> int:
    """The most vectors and elements, after the whole vectors, that pay in a loop."""
    calls = any(isinstance(inside, func.CallOp) for inside in op.body.block.ops)
    return MOST_PIECES_WITH_CALLS if calls else MOST_PIECES


def divide(op: scf.ForOp, parts: tuple[int, ...]) -> list[scf.ForOp]:
    """Divide a loop with a known first index; returns the loops of its parts, of which `op` is the first."""
    begin = known_number(op.lb)
    assert begin is not None, "the loop begins at a known index"
    loops = [op, *(clone_op(op, {}) for _ in parts[1:])]
    following = op.next_op
    assert following is not None, "a loop does not end its block"
    for loop, part in zip(loops, parts, strict=True):
        if loop is not op:
            insert_before(loop, following)
        bounds = [arith.ConstantOp(integer_attr(number, op.lb.type)) for number in (begin, begin + part)]
        for number, bound in enumerate(bounds):
            bound.location = op.location
            insert_before(bound, loop)
            set_operand(loop, number, bound.result)
        begin += part
    return loops


def slowness(op: scf.ForOp, count: int) -> int:
    """
    How many times as long a loop takes that reduces `count` elements as an unrolled one, which computes them in
    vectors: LLVM computes a few elements one after the other, and so those after whole vectors. These take long if they
    are extremes, which it finds by branches.
    """
    if PARALLEL not in op.attributes:
        return 1
    if count < LEAST:
        return CHAIN
    extremes = arith.MaximumfOp | arith.MinimumfOp
    return CHAIN // 2 if any(isinstance(inside, extremes) for inside in op.body.block.ops) else 1


def invariants(op: scf.ForOp) -> list[Operation]:
    """The operations of an innermost loop that LLVM moves out of it, such as those that compute a row's place."""
    varying: set[SSAValue] = set(op.body.block.args)
    found: list[Operation] = []
    for inside in op.body.block.ops:
        # Loads and calls may give another value each time.
        if isinstance(inside, memref.LoadOp | memref.StoreOp | func.CallOp) or reads(inside, varying):
            varying.update(inside.results)
        else:
            found.append(inside)
    return found


def _is_in_order(access: memref.LoadOp | memref.StoreOp, varying: set[SSAValue]) -> bool:
    """Whether iterations access the same element, which only loads do, or one after the other."""
    layout = buffer_of(access.memref).layout
    if isinstance(layout, StridedLayoutAttr) and layout.strides.data[-1:] != (IntAttr(1),):
        return False
    places = [place for place in access.indices if place in varying]
    if not places:
        return isinstance(access, memref.LoadOp)
    return places == [access.indices[-1]] and _follows(places[0], varying)


def _follows(place: SSAValue, varying: set[SSAValue]) -> bool:
    """Whether a varying index grows by one from iteration to iteration: the loop's own, plus invariant ones."""
    owner = place.owner
    if isinstance(owner, arith.AddiOp):
        inside = [operand for operand in owner.operands if operand in varying]
        return len(inside) == 1 and _follows(inside[0], varying)
    return isinstance(place, BlockArgument)
