"""
The other work of a row kernel's step, done tile by tile beside its own: a processor runs both at once.

The loop over a step's row ends before the next one begins, and what one leaves idle, memory or the divider, the other
would have used. Between short tiles a processor, which looks some hundred operations ahead, overlaps them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ..loop_nests.cost import body_cost
from ..loop_nests.loop_builder import Index, LoopBuilder
from ..loop_nests.nest import Access, Nest
from .stages import stages_of

TILE = 128
"""Elements of a tile."""

SHORTEST = 256
"""Elements of a row; a processor reaches the end of a shorter one while it divides."""


class Meanwhile(Protocol):
    """Something to do between the tiles of a step."""

    def before_tile(self, builder: LoopBuilder, start: Index, end: Index) -> None:
        """Emit what comes before the tile of elements [start, end)."""
        ...


def is_by_tiles(nest: Nest) -> bool:
    """Whether a step can run by tiles: it has one loop, which neither reduces nor runs in stages."""
    return len(nest.free) == 1 and not any(nest.reduction) and stages_of(nest, nest.free[-1]) is None


def step_meanwhile(nests: Sequence[Nest], temporaries: Mapping[SSAValue, bool]) -> int | None:
    """
    The step of a row between whose tiles the last step, a division such as softmax's by its sum, can be done for the
    row before; None if there is none.

    `nests`: the steps over one row. `temporaries`: the buffers that pass values between steps, and whether they hold
    many rows. The division reads only buffers of one row, and writes one of many. Its inputs are still there then:
    the steps up to that one do not write it, but for that one itself, element by element after it is read.
    """
    *before, last = nests
    inputs = [access for access in last.inputs if isinstance(access, Access)]
    written = {access.root for access in last.outputs}
    if not (before and _divides(last) and is_by_tiles(last) and last.sizes[-1] >= SHORTEST and not last.dims):
        return None
    if any(temporaries.get(x.root, True) for x in inputs) or not all(temporaries.get(root) for root in written):
        return None
    if any(access.root in written for nest in before for access in nest.accesses):
        return None

    def keeps(step: int) -> bool:
        """Whether the steps up to this one keep what the division reads."""
        return not any(
            out.root is x.root and (k < step or out != x)
            for k, nest in enumerate(before[: step + 1])
            for out in nest.outputs
            for x in inputs
        )

    found = [k for k, nest in enumerate(before) if is_by_tiles(nest) and nest.sizes == last.sizes and keeps(k)]
    return max(found, key=lambda k: body_cost(before[k]), default=None)


def _divides(nest: Nest) -> bool:
    return nest.body is not None and any(isinstance(op, arith.DivfOp) for op in nest.body.ops)
