"""The division of a chain's rows into vectors and parts, and the values that stay in registers."""

from __future__ import annotations

import math

from ....dialects.gpu.plans import Columns, Rows
from ....dialects.support.llvm_layout import byte_width
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access
from ..threads.ranges import ceil_div
from ..threads.vectors import element_bytes
from .chain import Chain, Link, elements_of
from .emission import Key, uses_by_pass

LEAST_SHARE = 4
"""Operands smaller than this share of the largest operand do not influence the vector width."""


def parts_of(chain: Chain, plan: Rows | Columns) -> int:
    """The number of blocks that share a row, or a tile of columns."""
    places = math.prod(chain.space)
    return ceil_div(places if isinstance(plan, Columns) else places // plan.width, plan.part) if plan.part else 1


def main_accesses(chain: Chain, loop: int) -> list[Access]:
    """The operands that are contiguous along a loop and not small: they determine the vector width."""
    accesses = chain.wide_accesses()
    most = max((elements_of(chain, x) for x in accesses), default=0)
    return [x for x in accesses if x.strides[loop] == 1 and elements_of(chain, x) * LEAST_SHARE >= most]


def widest_element(chain: Chain) -> int:
    """The size of the widest element, in bytes."""
    return max((element_bytes(x) for x in chain.wide_accesses()), default=4)


def _words(chain: Chain, key: Key) -> int:
    root = chain.steps[key.step].nest.outputs[key.output].root if isinstance(key, Link) else key[0]
    return max(1, byte_width(buffer_of(root).element_type) // 4)


def kept_words(chain: Chain) -> tuple[tuple[Key, ...], int]:
    """The values that several passes need, and the maximum number of registers that they take per element of a row."""
    uses = {key: passes for key, passes in uses_by_pass(chain).items() if len(passes) > 1}
    most = max(
        (
            sum(_words(chain, key) for key, passes in uses.items() if passes[0] <= at < passes[-1])
            for at in range(chain.levels + 1)
        ),
        default=0,
    )
    return tuple(uses), most
