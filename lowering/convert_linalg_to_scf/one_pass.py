"""
Reductions of a few elements in columns: all of them are read in one pass, which keeps the results in registers.

    for c: acc = init; for r < 5: acc = f(acc, x[r, c]), unrolled; out[c] = acc

Otherwise each pass reads and writes accumulators in memory, which a loop before has filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from xdsl.ir import SSAValue

from ...dialects.cost import CHEAP
from ..loop_nests.cost import PASS_ROWS, weight_of
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.nest import Nest

MOST = 2 * PASS_ROWS
"""Elements of a column up to which they are combined in one pass, if that is cheap; otherwise PASS_ROWS."""

MOST_OPERATIONS = 24
"""Operations of a body that may be repeated as often: those that choose a number and its place have about 15."""


def fits_one_pass(nest: Nest, reduced: Sequence[int], bounds: Bounds) -> bool:
    """Whether the elements of a column are few and cheap enough for one pass."""
    ops = [] if nest.body is None else list(nest.body.ops)
    if not reduced or any(loop in bounds for loop in reduced):
        return False
    if len(ops) > MOST_OPERATIONS or any(op.regions for op in ops):
        return False
    is_cheap = all(weight_of(op).loop <= CHEAP.loop for op in ops)
    return nest.size_of(reduced) <= (MOST if is_cheap else PASS_ROWS)


def emit_one_pass(
    emitter: NestEmitter, reduced: Sequence[int], column: int, tile: Bounds, inits: Sequence[SSAValue | None]
) -> None:
    """Combine all elements into each column of a tile, in order."""
    places = product(*(range(emitter.nest.sizes[loop]) for loop in reduced))
    with emitter.loops([column], tile):
        values = [emitter.load_output(k) if init is None else init for k, init in enumerate(inits)]
        for place in places:
            with emitter.scope():
                for loop, index in zip(reduced, place, strict=True):
                    emitter.bind(loop, index)
                values = emitter.body(values)
        for k, value in enumerate(values):
            emitter.store_output(k, value)
