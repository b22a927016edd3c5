"""Which contractions are worth a call of a library."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref

from ...dialects.gpu.library import Matmul
from ...dialects.gpu.plans import Library, Plan
from ..device.chips import Chip
from ..map_kernels_to_gpu.library.mapping import calls_of
from ..map_kernels_to_gpu.threads.phases import Phase
from .narrowing import narrowing_of

LEAST_PRODUCTS = 1 << 24
"""
Multiplications from which on a call is worth it, those of 256 x 256 x 256: a library's kernels for the chip are then
faster than ours by more than a call costs, and a launch of what follows.
"""

LEAST_SIZE = 16
"""Of m, n and k each: products with few rows or columns are bound by memory, and ours fuse what is around them."""

LEAST_DEPTH_OF_FOLLOWED = 512
"""
Of k, where what follows is no epilogue of the library's: writing and reading a result once more takes a few bytes of
memory traffic for each of its elements, as long as a library gains over our kernels in some hundred products.
"""


def plan_library(phase: Phase, chip: Chip, always: bool) -> tuple[Plan, ...]:
    """The plan of a contraction, with a bias, an activation or a conversion after it; none without a worthy call."""
    calls = calls_of(phase, chip)
    narrowing = narrowing_of(calls.out, phase.structured[0]) if calls and len(phase.structured) == 1 else None
    if narrowing is not None:
        calls = calls_of(phase, chip, narrowing.element)
    if calls is None or not (always or _is_worth_a_call(calls.problems, isinstance(calls.out.owner, memref.AllocOp))):
        return ()
    if narrowing is not None:
        narrowing.apply()
    return (Library(),)


def _is_worth_a_call(problems: Sequence[Matmul], followed: bool) -> bool:
    """`followed`: by a launch, which reads what a call wrote; our own kernels do that as they write."""
    one = problems[0]
    sizes = (one.out.rows, one.out.columns, one.lhs.columns)
    if followed and one.lhs.columns < LEAST_DEPTH_OF_FOLLOWED:
        return False
    return min(sizes) >= LEAST_SIZE and one.products >= LEAST_PRODUCTS
