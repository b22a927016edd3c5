"""The contractions that are worth a library call."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref

from ...dialects.gpu.library import Matmul
from ...dialects.gpu.plans import Library, Plan
from ..device.gpu import GpuChip
from ..map_kernels_to_gpu.library.mapping import calls_of
from ..map_kernels_to_gpu.threads.phases import Phase
from .narrowing import narrowing_of

LEAST_PRODUCTS = 1 << 24
"""
Minimum multiplications for a call, those of 256 x 256 x 256: a library's kernels for the chip are then faster than ours
by more than the cost of a call and of a launch for the operations after it.
"""

LEAST_SIZE = 16
"""Minimum of m, n and k: thin products are memory-bound, and our kernels fuse the operations around them."""

LEAST_DEPTH_OF_FOLLOWED = 512
"""
Minimum of k if the operations after the product are not an epilogue of the library: writing and reading a result once
more costs a few bytes of memory traffic per element, which outweighs the library's gain at small depths.
"""


def plan_library(phase: Phase, chip: GpuChip, always: bool) -> tuple[Plan, ...]:
    """The plan of a contraction and its bias, activation or conversion; none if a call does not pay off."""
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
    """`followed`: by a launch that reads the call's result; our own kernels fuse that into the epilogue."""
    one = problems[0]
    sizes = (one.out.rows, one.out.columns, one.lhs.columns)
    if followed and one.lhs.columns < LEAST_DEPTH_OF_FOLLOWED:
        return False
    return min(sizes) >= LEAST_SIZE and one.products >= LEAST_PRODUCTS
